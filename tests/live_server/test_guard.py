"""Who may ask: every rule refuses what it is for, and lets the page and programs pass."""

from __future__ import annotations

import pytest

from headcount.live_server.guard import Guard, host_name, is_loopback
from headcount.live_server.rates import Rates

TOKEN = "a-token-of-some-length"
JSON = {"content-type": "application/json"}


def refused(guard: Guard, path: str = "/api/answer", method: str = "POST", **headers: str) -> str | None:
    given = {"host": "127.0.0.1:8000", **JSON, **{name.replace("_", "-"): value for name, value in headers.items()}}
    found = guard.refusal(given, path, method, "127.0.0.1")
    return None if found is None else found[1]


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "localhost", "[::1]:8000", "LOCALHOST:1"])
def test_the_names_of_this_machine(host: str) -> None:
    assert refused(Guard(None), host=host) is None


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "127.0.0.1.evil.example:8000", "localhost.evil.example", "evil@localhost", "x/y", "[::1"],
)
def test_dns_rebinding(host: str) -> None:
    assert refused(Guard(None), host=host) == "host"
    assert refused(Guard(None), "/", "GET", host=host) == "host"


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:9000", "http://localhost:8000"],
)
def test_pages_of_other_origins(origin: str) -> None:
    assert refused(Guard(None), origin=origin) == "origin"


def test_the_own_page() -> None:
    assert refused(Guard(None), origin="http://127.0.0.1:8000", sec_fetch_site="same-origin") is None
    assert refused(Guard(None), "/", "GET", sec_fetch_site="cross-site") is None, "a link to the page may be followed"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_without_an_origin_from_other_sites(site: str) -> None:
    """Such as an image whose address is a route."""
    assert refused(Guard(None), "/api/model", "GET", sec_fetch_site=site) == "origin"


def test_forms_of_other_sites_cannot_send_json() -> None:
    assert refused(Guard(None), content_type="text/plain") == "type"
    assert refused(Guard(None), content_type="application/json; charset=utf-8") is None


def test_the_token() -> None:
    guard = Guard(None, "0.0.0.0", TOKEN)
    assert refused(guard, "/", "GET") is None, "the page itself holds nothing"
    assert refused(guard, authorization=f"Bearer {TOKEN}") is None
    for wrong in ("", "Bearer ", f"Bearer {TOKEN}x", TOKEN, "Bearer ünicode"):
        assert refused(guard, authorization=wrong) == "token"


def test_names_of_an_address_that_others_can_reach() -> None:
    own = {"authorization": f"Bearer {TOKEN}"}
    assert refused(Guard(None, "192.168.1.5", TOKEN), host="192.168.1.5:80", **own) is None
    assert refused(Guard(None, "192.168.1.5", TOKEN), host="evil.example", **own) == "host"
    assert refused(Guard(None, "0.0.0.0", TOKEN), host="10.0.0.7:80", **own) is None
    assert refused(Guard(None, "0.0.0.0", TOKEN), host="evil.example", **own) == "host"


def test_the_rate_counts_wrong_tokens_too() -> None:
    guard = Guard(None, "0.0.0.0", TOKEN, Rates(rate=0.001, burst=2))
    assert [refused(guard, authorization="guess") for _ in range(3)] == ["token", "token", "rate"]
    assert refused(guard, "/", "GET") is None


def test_addresses() -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("127.8.9.1")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("192.168.0.1")
    assert not is_loopback("example.org")
    assert host_name("user@localhost") == ""
