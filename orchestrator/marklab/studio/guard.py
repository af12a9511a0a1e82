# SPDX-License-Identifier: MIT OR Apache-2.0
"""Who may ask: a browser that was given the token, on the page of this server, under the server's own name.

Other pages in the same browser can send requests here, and names of other sites can be made to lead here (DNS
rebinding). So the token is asked of each request under /api/, and names and origins are compared.
"""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_GUARDED = "/api/"

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - as a user gives it


def is_local(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class OwnNames:
    """The names by which a server that listens at an address is asked: the values of `Host`.

    A server at all addresses is asked by any of them, maybe through another port, but never by the name of another
    site: an address cannot be made to lead elsewhere.
    """

    host: str
    port: int

    def __contains__(self, name: str | None) -> bool:
        if name is None:
            return False
        if self.host == _ALL_ADDRESSES:
            host = name.rpartition(":")[0] or name
            return host == "localhost" or _is_address(host)
        known = {self.host, "localhost"} if is_local(self.host) else {self.host}
        return name in {f"{host}:{self.port}" for host in known}


def _is_address(host: str) -> bool:
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True


class Guard:
    """Lets requests through to `app`: those for one of its own names, and under /api/ with the token."""

    def __init__(self, app: ASGIApp, token: str, names: OwnNames) -> None:
        self.app, self.token, self.names = app, token, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope["path"], Headers(scope=scope))

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await (refusal or self.app)(scope, receive, with_headers)

    def _refusal(self, path: str, headers: Headers) -> PlainTextResponse | None:
        host, origin = headers.get("host"), headers.get("origin")
        if host not in self.names:
            return PlainTextResponse("this server has another name", 403)
        if origin is not None and origin != f"http://{host}":
            return PlainTextResponse("a page of another server asks", 403)
        if path.startswith(_GUARDED):
            given = headers.get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode(), self.token.encode()):
                return PlainTextResponse("the token is missing or wrong: open the address that `studio` printed", 401)
        return None
