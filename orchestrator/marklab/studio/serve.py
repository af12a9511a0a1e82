# SPDX-License-Identifier: MIT OR Apache-2.0
"""Starts the server, and opens its page."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from marklab.engine import binding as engine
from marklab.errors import Interrupted, SetupError
from marklab.studio.app import application
from marklab.studio.guard import OwnNames, is_local

LOCAL = "127.0.0.1"


@dataclass(frozen=True)
class Listening:
    """Where a server listens, by an IPv4 address of this machine and a port; port 0 is a free one."""

    host: str = LOCAL
    port: int = 0

    @property
    def warning(self) -> str | None:
        """What to know before others can reach it; None if only this machine can."""
        if is_local(self.host):
            return None
        return (
            f"warning: whoever reaches {self.host} and has the token runs programs here, with your rights. The page is "
            "not encrypted, so the token can be read on its way. Safer is a tunnel, to a studio without --host: "
            "ssh -L 8000:127.0.0.1:8000 HOST"
        )


def serve(
    at: Listening, out: Path, tell: Callable[[str], None], *, opens: bool, state: str | None = None, lab: bool = False
) -> None:
    """Serve the page until Ctrl-C. `tell` gets the address with the token.

    `state` is what the page opens with, from a link. The token is behind a `#`, so that a browser sends it to nobody.
    With `lab`, the page may start runs on real hosts. Raises SetupError if the address or the port cannot be had.
    """
    # This thread stays. Threads of requests end after 10 idle seconds; if one of them loaded the engine, its allocator
    # (mimalloc 3.3.2) crashes in a later thread.
    engine.version()
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((at.host, at.port))
        except OSError as error:
            remedy = (
                "another --port, or none" if at.host == LOCAL else "an IPv4 address of this machine, and a free port"
            )
            where = f"port {at.port}" if at.host == LOCAL else f"{at.host}, port {at.port}"
            raise SetupError(f"cannot serve at {where}: {error.strerror}", remedy) from error
        # From now on a browser is not refused, but waits until the server is ready.
        listening.listen()
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        address = f"http://{at.host}:{port}/#token={token}" + (f"&state={state}" if state is not None else "")
        names = OwnNames(at.host, port)
        server = uvicorn.Server(uvicorn.Config(application(token, names, out, lab=lab), log_level="warning"))
        tell(address)
        if opens:
            webbrowser.open(address)
        # The server has handled the signal, and raises it once more.
        with suppress(Interrupted):
            server.run([listening])
