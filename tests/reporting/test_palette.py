"""Are the colours of the page those of the figures, with no grey among them and none twice?"""

from __future__ import annotations

import re
from importlib.resources import files

from headcount.reporting.palette import KINDS, PATTERNS, pattern_colours
from headcount.story.role_names import COLOURS


def listed(name: str) -> tuple[str, ...]:
    """The colours of a list in the page's script."""
    script = (files("headcount.reporting") / "page" / "colour.js").read_text(encoding="utf-8")
    found = re.search(rf"const {name} = \[(.*?)\]", script, re.DOTALL)
    assert found is not None
    return tuple(re.findall(r"#[0-9a-f]{6}", found[1]))


def test_the_page_has_the_same_colours() -> None:
    assert listed("KINDS") == KINDS
    assert listed("PATTERNS") == PATTERNS


def test_no_colour_is_grey_or_given_twice() -> None:
    every = (*KINDS, *PATTERNS)
    assert len(set(every)) == len(every)
    for colour in every:
        parts = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
        assert max(parts) - min(parts) > 25, f"{colour}: grey is for what has no kind"


def test_roles_and_patterns_have_colours_of_their_own() -> None:
    assert max(COLOURS.values()) < len(KINDS)
    assert not set(COLOURS.values()) & set(pattern_colours(5))
    assert len(set(pattern_colours(5))) == 5
