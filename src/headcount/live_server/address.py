"""Where the server listens, and what is refused before a model is loaded."""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass
from importlib.util import find_spec

from headcount.errors import InvalidOption, MissingPackage, short
from headcount.live_server.guard import ANY, is_loopback

_EXPECTED = "expected an address of this machine, such as 127.0.0.1"
SHORTEST = 16
"""Characters of a token."""


@dataclass
class Address:
    """A port that is taken for this server; `url` is what a user opens."""

    host: str
    socket: socket.socket
    token: str | None

    def __enter__(self) -> Address:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    @property
    def port(self) -> int:
        number: int = self.socket.getsockname()[1]
        return number

    @property
    def url(self) -> str:
        """With the token behind a #, so that no server and no log sees it."""
        host = socket.gethostname() if self.host in ANY else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"#token={self.token}" if self.token else "")


def take_address(host: str = "127.0.0.1", port: int | None = None, token: str | None = None) -> Address:
    """Bind a port: the given one, or any that is free. An address that others can reach needs a token."""
    check_packages()
    if port is not None and not 0 <= port <= 65535:
        raise InvalidOption(f"got port={port}; expected a number from 1 to 65535, or none for any that is free")
    if not host:
        raise InvalidOption("got host=''; expected an address of this machine, such as 127.0.0.1 or 0.0.0.0")
    if token is not None and (len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token):
        raise InvalidOption(
            f"got a token of {len(token)} characters; expected at least {SHORTEST}, ASCII without spaces"
        )
    if token is None and not is_loopback(host) and host != "localhost":
        raise InvalidOption(
            f"got host={short(host)}, which other machines can reach; add token=, a secret of at least {SHORTEST} "
            "characters, or leave host= out and use an SSH tunnel"
        )
    return Address(host, _bind(host, port), token)


def check_packages() -> None:
    """An error where the extra is not installed."""
    if not all(find_spec(name) for name in ("starlette", "uvicorn")):
        raise MissingPackage("headcount live needs starlette and uvicorn: pip install 'headcount[live]'")


def _bind(host: str, port: int | None) -> socket.socket:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port or 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise InvalidOption(f"got host={short(host)}; {_EXPECTED}") from error
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(where)
        opened.listen(128)
    except OSError as error:
        opened.close()
        if error.errno == errno.EADDRINUSE:
            raise InvalidOption(f"port={port} is taken; give another one, or none for any that is free") from error
        if error.errno in (errno.EACCES, errno.EPERM):
            raise InvalidOption(f"port={port} is not allowed for you; give one from 1024 on, or none") from error
        raise InvalidOption(f"got host={short(host)}; {_EXPECTED} ({error.strerror})") from error
    return opened
