# SPDX-License-Identifier: MIT OR Apache-2.0
"""A process that is ready to become a command: `python -m marklab.cli.writing.spare`.

It has loaded what a run needs, which takes longer than a short run, and waits for a line of JSON with the words of the
command. If none comes, it ends.
"""

from __future__ import annotations

import json
import sys

# Loaded for the run to come: the command, and what it loads late.
import marklab.cli.run
import marklab.execution.flows
import marklab.report.page
import marklab.results.traces  # noqa: F401
from marklab.cli.main import main as command
from marklab.engine import binding as engine


def main() -> None:
    """Become the command that comes."""
    engine.version()
    line = sys.stdin.readline()
    if line:
        command(json.loads(line))


if __name__ == "__main__":
    main()
