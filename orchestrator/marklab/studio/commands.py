# SPDX-License-Identifier: MIT OR Apache-2.0
"""Commands of the lab that a page asks for and that end soon: child processes with limits of memory and time."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from marklab.errors import BadInput, RunFailed
from marklab.studio.runs import limited

_LONGEST_S = 60


async def told(words: Sequence[str]) -> Any:
    """What a command prints with `--json`. Raises BadInput with what it says instead."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "marklab", *words, "--json"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        preexec_fn=limited,
    )
    try:
        async with asyncio.timeout(_LONGEST_S):
            said, errors = await process.communicate()
    except TimeoutError:
        raise RunFailed(f"it took more than {_LONGEST_S} s", "the command in a terminal") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        return json.loads(said)
    except ValueError:
        raise BadInput(errors.decode(errors="replace").strip() or "the command ended by itself") from None
