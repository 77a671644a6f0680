"""Requests: what is right is read, and what is wrong is refused in a line that names the field."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.core.heads import Head, Layout
from headcount.errors import HeadcountError
from headcount.live_server.asked import read_asked, read_json
from headcount.live_server.limits import TooMuch

LAYOUT = Layout.even({"encoder": (4, 6)})


def test_what_is_asked() -> None:
    asked = read_asked(
        {
            "texts": ["one", "two"],
            "client": "tab-1",
            "off": [{"heads": "L3H0-2, L1", "how": "uniform", "strength": 0.5}, {"heads": []}],
            "map": "L2H5",
            "top": 3,
        },
        LAYOUT,
    )
    assert asked.texts == ("one", "two")
    (off,) = asked.off
    assert (str(off.heads), off.how, off.strength) == ("L1, L3H0-2", "uniform", 0.5)
    assert asked.map == Head("encoder", 2, 5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"texts": None}, "texts: got None"),
        ({"texts": []}, "texts: got []"),
        ({"texts": [3]}, "expected a list of strings"),
        ({"texts": ["\ud800"]}, "no valid Unicode"),
        ({"texts": ["x" * 30_000]}, "at most 20,000"),
        ({"text": "x"}, "got the field 'text'"),
        ({"client": "<script>"}, "client: got"),
        ({"client": 3}, "client: got"),
        ({"off": "L3H1"}, "off: got"),
        ({"off": [{"heads": "L9H1"}]}, "the model has layers L0 to L3"),
        ({"off": [{"heads": "L3H1; drop"}]}, "for a head; expected L3H7"),
        ({"off": [{"heads": 3}]}, "off: got the heads 3"),
        ({"off": [{"heads": "L1", "strengh": 1}]}, "got the field 'strengh'"),
        ({"off": [{"heads": "L1", "how": "patch"}]}, "expected one of zero, uniform, mean"),
        ({"off": [{"heads": "L1", "strength": 1.5}]}, "expected a number from 0 to 1"),
        ({"off": [{"heads": "L1", "strength": True}]}, "expected a number from 0 to 1"),
        ({"off": [{"heads": "L1"}, {"heads": "L1H2, L2H0"}]}, "L1H2 in two selections"),
        ({"off": [{"heads": "L1"}] * 65}, "at most 64"),
        ({"map": "L3"}, "6 heads; expected one"),
        ({"map": 3}, "map: got 3"),
        ({"top": 0}, "top: got 0"),
        ({"top": "3"}, "top: got '3'"),
        ({"new_tokens": 10_000}, "from 1 to 128"),
        ({"question": -1}, "question: got -1"),
        ({"option": 1.5}, "option: got 1.5"),
        ({"how": ["zero"]}, "how: got"),
    ],
)
def test_what_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(HeadcountError) as caught:
        read_asked({"texts": ["one"], **change}, LAYOUT)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_limits_have_a_class_of_their_own() -> None:
    with pytest.raises(TooMuch):
        read_asked({"texts": ["x" * 30_000]}, LAYOUT)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"top": NaN}', b"[" * 100_000])
def test_only_json_is_read(body: bytes) -> None:
    with pytest.raises(HeadcountError, match="the request is not JSON"):
        read_json(body)


@pytest.mark.parametrize("value", [None, 3, ["texts"], "texts"])
def test_a_request_is_an_object(value: Any) -> None:
    with pytest.raises(HeadcountError, match="expected an object with texts"):
        read_asked(value, LAYOUT)
