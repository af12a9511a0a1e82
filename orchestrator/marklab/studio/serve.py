# SPDX-License-Identifier: MIT OR Apache-2.0
"""Starts the server, and opens its page."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from marklab.errors import SetupError
from marklab.studio.app import application

_LOCAL = "127.0.0.1"


def serve(port: int, out: Path, tell: Callable[[str], None], *, opens: bool, state: str | None = None) -> None:
    """Serve the page on this machine until Ctrl-C; port 0 takes a free one. `tell` gets the address with the token.

    `state` is what the page opens with, from a link. The token is behind a `#`, so that a browser sends it to nobody.
    Raises SetupError if the port is taken.
    """
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_LOCAL, port))
        except OSError as error:
            raise SetupError(f"cannot serve at port {port}: {error.strerror}", "another --port, or none") from error
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        hosts = [f"{_LOCAL}:{port}", f"localhost:{port}"]
        address = f"http://{_LOCAL}:{port}/#token={token}" + (f"&state={state}" if state is not None else "")
        server = uvicorn.Server(uvicorn.Config(application(token, hosts, out), log_level="warning"))
        tell(address)
        if opens:
            webbrowser.open(address)
        server.run([listening])
