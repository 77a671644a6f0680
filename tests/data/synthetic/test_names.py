"""Two names: the due one occurs once in the prompt, both are single tokens, both orders take turns."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from headcount.data.synthetic.names import NAMES, TEMPLATES, Names, single_tokens
from headcount.errors import DataProblem
from tests import planted
from tests.data.synthetic.tokenizers import make, plain_ids


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_the_due_name_occurs_once_and_the_other_twice(kind: str) -> None:
    tokenizer = make(kind)
    table = Names().table(tokenizer, 60, seed=0)
    for row in table.itertuples():
        words = row.prompt.replace(",", " ").split()
        due, wrong = row.completion.strip(), row.wrong.strip()
        assert (words.count(due), words.count(wrong)) == (1, 2)
        assert (words.index(due) < words.index(wrong)) == (row.order == "ABBA")
        for name in (row.completion, row.wrong):
            assert len(plain_ids(tokenizer, row.prompt + name)) == len(plain_ids(tokenizer, row.prompt)) + 1
    assert table["order"].value_counts().to_dict() == {"ABBA": 30, "BABA": 30}
    assert table["template"].nunique() == len(TEMPLATES)


def test_rows_depend_on_the_seed_and_their_number_only() -> None:
    tokenizer = make("bpe")
    whole = Names().table(tokenizer, 12, seed=1)
    pd.testing.assert_frame_equal(Names().table(tokenizer, 5, seed=1), whole.head(5))
    assert whole["prompt"].tolist() != Names().table(tokenizer, 12, seed=2)["prompt"].tolist()


def test_only_names_that_are_one_token() -> None:
    tokenizer = make("wordpiece")
    kept = single_tokens(tokenizer, (*NAMES, "Ottilie", "Zbigniew"))
    assert "Mary" in kept
    assert "Zbigniew" not in kept
    assert all(len(plain_ids(tokenizer, name)) == 1 for name in kept)


def test_no_names(tmp_path: Any) -> None:
    with pytest.raises(DataProblem, match="has 0 of 51 English first names as single tokens"):
        Names().table(planted.tokenizer(tmp_path), 1, 0)
