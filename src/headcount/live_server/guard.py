"""Who may ask: requests from this server's own page or from a program, with the token if there is one.

A browser lets every page send requests to servers on this machine. So the name in `Host` must be this server's (a
foreign name that points here is DNS rebinding), and what a page of another origin sends is refused.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from headcount.live_server.rates import Rates

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
ANY = frozenset({"0.0.0.0", "::", ""})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
"""What every answer says to a browser."""
API = "/api/"


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    try:
        return host in LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own_names(host: str) -> frozenset[str] | None:
    """The names in `Host` of requests to a server at this address; None: also every number of an address."""
    if host in ANY:
        return None
    return LOOPBACK if is_loopback(host) else LOOPBACK | {host.lower()}


def host_name(header: str) -> str:
    """The name in a `Host` header, without its port; "" if it is none.

    >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("a@b")
    ('localhost', '::1', '')
    """
    try:
        parts = urlsplit(f"//{header}")
        return "" if "@" in header or parts.path else (parts.hostname or "").lower()
    except ValueError:
        return ""


class Guard:
    """An application that checks each request before another one sees it."""

    def __init__(self, app: Any, host: str = "127.0.0.1", token: str | None = None, rates: Rates | None = None) -> None:
        self.app, self.names, self.token = app, own_names(host), token
        self.rates = rates or Rates()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        address = (scope.get("client") or ("", 0))[0]

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *ours]}
            await send(message)

        refused = self.refusal(headers, scope["path"], scope["method"], address)
        if refused is None:
            await self.app(scope, receive, guarded)
            return
        status, code, why = refused
        body = json.dumps({"error": why, "code": code}).encode()
        more = [(b"retry-after", b"1")] if status == 429 else []
        start = {"type": "http.response.start", "status": status}
        kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await guarded({**start, "headers": [*kind, *more]})
        await guarded({"type": "http.response.body", "body": body})

    def refusal(self, headers: Mapping[str, str], path: str, method: str, address: str) -> tuple[int, str, str] | None:
        """Why a request is refused: status, code and message; None if it is not."""
        if not self._is_ours(headers.get("host", "")):
            return 403, "host", "this name is not the server's: open the address that headcount printed"
        origin = headers.get("origin")
        foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if origin is not None and origin.lower() != f"http://{headers['host'].lower()}":
            return 403, "origin", "a page of another origin may not use this server"
        if not path.startswith(API):
            return None
        if foreign:
            return 403, "origin", "a page of another origin may not use this server"
        if not self.rates.take(address):
            return 429, "rate", f"more than {self.rates.rate:g} requests a second; wait a moment"
        given = headers.get("authorization", "")
        if self.token is not None and not secrets.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            return 401, "token", "this server needs the token that it was started with (Authorization: Bearer TOKEN)"
        if method == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return 415, "type", "expected Content-Type: application/json"
        return None

    def _is_ours(self, header: str) -> bool:
        name = host_name(header)
        if self.names is not None:
            return name in self.names
        machine = socket.gethostname().lower()
        if name in LOOPBACK or name == machine or name.startswith(f"{machine}."):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
