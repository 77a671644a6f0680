"""Token ids, cut and counted."""

from __future__ import annotations

from pathlib import Path

from headcount.data.kinds.tokens import length, tokenize
from tests import planted


def test_only_texts_that_are_too_long_are_cut(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path)
    whole, none = tokenize(tokenizer, ["good", "so good a"], None, 64)
    rows, cut = tokenize(tokenizer, ["good", "so good a"], None, 4)
    assert (none, cut) == (0, 1)
    assert rows[0] == whole[0]
    assert [length(row) for row in rows] == [3, 4]


def test_the_length_of_several_texts_is_that_of_the_longest() -> None:
    assert length({"input_ids": [[1, 2], [1, 2, 3]]}) == 3
    assert length({"input_ids": []}) == 0
