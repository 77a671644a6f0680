"""Masks that depend on the seed and the row alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.kinds.masked_lm import MaskedLM
from headcount.data.kinds.tokens import IGNORED
from headcount.data.tasks import find_task
from headcount.errors import DataProblem
from tests import planted


def test_masks_depend_on_seed_and_row_alone(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path)
    table = planted.texts(10).rename(columns={"sentence": "text"})
    task = find_task("masked-lm")
    whole = encode(read_examples(table, task, None), tokenizer, 64, seed=1)
    few = encode(read_examples(table, task, None, limit=4, seed=5), tokenizer, 64, seed=1)
    ids = read_examples(table, task, None, limit=4, seed=5).ids
    assert [whole.rows[row] for row in ids] == few.rows
    for row in whole.rows:
        masked = [index for index, label in enumerate(row["labels"]) if label != IGNORED]
        assert masked
        assert all(row["input_ids"][index] == tokenizer.mask_token_id for index in masked)
        assert row["labels"][0] == IGNORED


def test_a_tokenizer_without_a_mask() -> None:
    examples: Any = SimpleNamespace(texts=[("good",)])
    with pytest.raises(DataProblem, match="the tokenizer has no mask token"):
        MaskedLM().encode(examples, SimpleNamespace(mask_token_id=None), 64, 0)
