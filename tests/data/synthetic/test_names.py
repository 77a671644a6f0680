"""Two names: the due one occurs once in the prompt, both are single tokens, both orders take turns."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from headcount.data.synthetic.names import TEMPLATES, Names
from headcount.errors import DataProblem
from tests import planted
from tests.data.synthetic.tokenizers import make, plain_ids

PROMPTS = [
    "Because Maria and Eric had quarrelled at the school, Eric sent a ticket to",
    "Last week Sam and Emma worked at the garden, and Sam sold the map to",
]


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


def test_the_prompts_of_a_seed_stay_as_they_are() -> None:
    """Studies and tables that were made earlier can be resumed and compared."""
    table = Names().table(make("wordpiece"), 2, seed=0)
    assert table["prompt"].tolist() == PROMPTS


def test_in_the_counterpart_the_other_name_gives() -> None:
    for row in Names().table(make("bpe"), 40, seed=0).itertuples():
        halves, corrupted = row.prompt.split(","), row.counterpart.split(",")
        assert halves[0] == corrupted[0]
        assert corrupted[1] == halves[1].replace(row.wrong, row.completion) != halves[1]


def test_no_names(tmp_path: Any) -> None:
    with pytest.raises(DataProblem, match="has 0 of 51 English first names as single tokens"):
        Names().table(planted.tokenizer(tmp_path), 1, 0)
