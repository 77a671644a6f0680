"""What every kind of annotations has in common: a control is a variable of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headcount.measures.contract import Values
from headcount.probing.words.contract import SeenWords, WordQuestion


class Lengths(WordQuestion):
    name, summary, paper = "lengths", "how many words there are", ""

    def counts(self) -> dict[str, tuple[str, ...]]:
        return {"words": ()}

    def batch(self, numbers: Sequence[int], words: int, device: Any) -> int:
        return words

    def see(self, seen: SeenWords) -> Values:
        return {"words": seen.between_words().new_full(seen.view.total.shape[:2], seen.gold)}


@pytest.mark.parametrize(("control", "names"), [(True, {"words", "random_words"}), (False, {"words"})])
def test_a_control_is_a_variable_of_its_own(control: bool, names: set[str]) -> None:
    setting: Any = None
    assert set(Lengths("mean", control).variables(setting)) == names
