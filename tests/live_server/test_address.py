"""The address: any free port by default, and one line for each that cannot be had."""

from __future__ import annotations

import socket

import pytest

from headcount.errors import InvalidOption, MissingPackage
from headcount.live_server import address
from headcount.live_server.address import take_address

TOKEN = "a-token-of-some-length"


def test_any_free_port() -> None:
    taken = take_address()
    with taken:
        assert taken.socket.getsockname()[0] == "127.0.0.1"
        assert taken.url == f"http://127.0.0.1:{taken.port}/"


def test_a_port_that_is_taken() -> None:
    first = take_address()
    with first, pytest.raises(InvalidOption, match=f"port={first.port} is taken"):
        take_address(port=first.port)


def test_the_token_stands_where_no_server_sees_it() -> None:
    taken = take_address("0.0.0.0", token=TOKEN)
    with taken:
        assert taken.url == f"http://{socket.gethostname()}:{taken.port}/#token={TOKEN}"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "which other machines can reach; add token="),
        ({"host": "::"}, "which other machines can reach"),
        ({"host": ""}, "expected an address of this machine"),
        ({"host": "192.0.2.1", "token": TOKEN}, "expected an address of this machine"),
        ({"host": "0.0.0.0", "token": "short"}, "a token of 5 characters; expected at least 16"),
        ({"token": "with spaces in it, many"}, "ASCII without spaces"),
        ({"port": 70000}, "from 1 to 65535"),
        ({"port": -1}, "from 1 to 65535"),
    ],
)
def test_what_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        take_address(**options)  # type: ignore[arg-type]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "find_spec", {"starlette": object()}.get)
    with pytest.raises(MissingPackage, match="headcount\\[live\\]"):
        take_address()
