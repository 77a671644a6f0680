"""Encodings: cut and counted, tags at first pieces, masks that depend on seed and row alone."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from headcount.data.encode import IGNORED, encode
from headcount.data.examples import read_examples
from headcount.data.tasks import find_task
from headcount.errors import DataProblem
from tests import planted


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def test_pairs_are_cut_and_counted(tokenizer: Any) -> None:
    table = pd.DataFrame({"sentence1": ["the good", "the " * 30], "sentence2": ["is it", "so"], "label": [0, 1]})
    examples = read_examples(table, find_task("mrpc"), {0: "not_equivalent", 1: "equivalent"})
    made = encode(examples, tokenizer, 12)
    assert made.cut == 1
    assert made.lengths.tolist() == [7, 12]
    assert made.rows[0]["token_type_ids"] == [0, 0, 0, 0, 1, 1, 1]


def test_masks_depend_on_seed_and_row_alone(tokenizer: Any) -> None:
    table = planted.texts(10).rename(columns={"sentence": "text"})
    task = find_task("masked-lm")
    whole = encode(read_examples(table, task, None), tokenizer, 64, seed=1)
    few = encode(read_examples(table, task, None, limit=4, seed=5), tokenizer, 64, seed=1)
    ids = read_examples(table, task, None, limit=4, seed=5).ids
    assert [whole.rows[row] for row in ids] == few.rows
    for row in whole.rows:
        masked = [place for place, label in enumerate(row["labels"]) if label != IGNORED]
        assert masked
        assert all(row["input_ids"][place] == tokenizer.mask_token_id for place in masked)
        assert row["labels"][0] == IGNORED


def test_a_text_of_special_tokens_alone(tokenizer: Any) -> None:
    with pytest.raises(DataProblem, match="row 0: nothing to look at or to predict in"):
        encode(read_examples(pd.DataFrame({"text": [""]}), find_task("masked-lm"), None), tokenizer, 64)
