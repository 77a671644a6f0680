"""Options that would have no effect: refused where they were given, named as the user writes them."""

from __future__ import annotations

import threading

import pytest

from headcount.core.options import belongs_to, no_repeats, on_command_line, spell, without_effect
from headcount.errors import InvalidOption


@pytest.mark.parametrize("given", [1, 0, "", 0.0, (), True])
def test_anything_but_none_and_false_was_given(given: object) -> None:
    with pytest.raises(InvalidOption, match="^got beams=, which has no effect here: no text; leave it out$"):
        without_effect("beams", given, "no text")
    with pytest.raises(InvalidOption, match="no effect without draws=; give draws= too, or leave it out"):
        belongs_to("size", given, "draws", None)
    belongs_to("size", given, "draws", 0)


@pytest.mark.parametrize("given", [None, False])
def test_what_was_not_given_is_not_refused(given: object) -> None:
    without_effect("beams", given, "no text")
    belongs_to("size", given, "draws", None)


def test_repeats() -> None:
    no_repeats("--tasks", ["a", "b"])
    with pytest.raises(InvalidOption, match="^got b twice in --tasks; expected each once$"):
        no_repeats("--tasks", ["b", "a", "b"])


def test_options_are_spelled_as_they_are_typed() -> None:
    assert spell("max_length") == "max_length="
    with on_command_line():
        assert spell("max_length") == "--max-length"
        assert spell("compiled") == "--compile"
        with pytest.raises(InvalidOption, match="^got --beams, which"):
            without_effect("beams", 2, "no text")
        elsewhere: list[str] = []
        thread = threading.Thread(target=lambda: elsewhere.append(spell("limit")))
        thread.start()
        thread.join()
        assert elsewhere == ["limit="], "another thread calls from Python"
    assert spell("max_length") == "max_length="
