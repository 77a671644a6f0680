"""Options that would have no effect: refused where they were given."""

from __future__ import annotations

import pytest

from headcount.core.options import belongs_to, no_repeats, one_of, without_effect
from headcount.errors import InvalidOption


@pytest.mark.parametrize("given", [1, 0, "", 0.0, (), True])
def test_anything_but_none_and_false_was_given(given: object) -> None:
    with pytest.raises(InvalidOption, match="^got num_beams=, which has no effect here: no text; leave it out$"):
        without_effect("num_beams", given, "no text")
    with pytest.raises(InvalidOption, match="no effect without draws=; give draws= too, or leave it out"):
        belongs_to("size", given, "draws", None)
    belongs_to("size", given, "draws", 0)


@pytest.mark.parametrize("given", [None, False])
def test_what_was_not_given_is_not_refused(given: object) -> None:
    without_effect("num_beams", given, "no text")
    belongs_to("size", given, "draws", None)


def test_repeats() -> None:
    no_repeats("tasks", ["a", "b"])
    with pytest.raises(InvalidOption, match="^got b twice in tasks=; expected each once$"):
        no_repeats("tasks", ["b", "a", "b"])


def test_choices() -> None:
    assert one_of("to", "csv", {"csv": 1, "json": 2}) == "csv"
    with pytest.raises(InvalidOption, match="^got to='xml'; expected one of csv, json$"):
        one_of("to", "xml", {"csv": 1, "json": 2})
