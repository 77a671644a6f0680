"""Texts without a task."""

from __future__ import annotations

from pathlib import Path

from headcount.data.kinds.texts import PLAIN
from tests import planted


def test_unknown_and_masked_words_are_words(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path)
    special = PLAIN.special_ids(tokenizer)
    assert {tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id} <= special
    assert not {tokenizer.unk_token_id, tokenizer.mask_token_id} & special
    ids = PLAIN.token_ids(tokenizer, ["good", ""], 0)
    assert [bool(set(row) - special) for row in ids] == [True, False]
