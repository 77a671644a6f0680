"""Texts and pairs with one label."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.kinds.classification import Classification
from headcount.data.tasks import find_task
from headcount.errors import ModelUnavailable
from tests import planted


def test_pairs_are_cut_and_counted(tmp_path: Path) -> None:
    table = pd.DataFrame({"sentence1": ["the good", "the " * 30], "sentence2": ["is it", "so"], "label": [0, 1]})
    examples = read_examples(table, find_task("mrpc"), {0: "not_equivalent", 1: "equivalent"})
    made = encode(examples, planted.tokenizer(tmp_path), 12)
    assert made.cut == 1
    assert made.lengths.tolist() == [7, 12]
    assert made.rows[0]["token_type_ids"] == [0, 0, 0, 0, 1, 1, 1]


def test_a_decoder_needs_a_padding_token_to_find_the_end() -> None:
    model: Any = SimpleNamespace(config=SimpleNamespace(pad_token_id=None))
    Classification().check_model(model, {"encoder"})
    with pytest.raises(ModelUnavailable, match="no pad_token_id"):
        Classification().check_model(model, {"decoder"})
    model.config.pad_token_id = 0
    Classification().check_model(model, {"decoder"})
