"""Pairs of inputs: read from columns, with spans from dicts or JSON, and refused by row where they do not match."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from headcount.data.counterparts import (
    Counterparts,
    check_aligned,
    check_spans,
    read_counterparts,
    with_wrong_answers,
)
from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.tasks import find_task
from headcount.errors import DataProblem, InvalidOption
from tests import planted

TABLE = pd.DataFrame(
    {
        "prompt": ["the good is", "a bad it"],
        "completion": [" up", " down"],
        "corrupted": ["the bad is", "a good it"],
        "wrong": [" down", " up"],
        "spans": ['{"word": [2, 3]}', {"word": [2, 3], "more": None}],
    }
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def read(tokenizer: Any, table: pd.DataFrame, **columns: Any) -> tuple[Any, Any, Counterparts]:
    task = find_task("completion", **{"counterpart": "corrupted"} | columns)
    examples = read_examples(table, task, None)
    encodings = encode(examples, tokenizer, 64)
    return examples, encodings, read_counterparts(table, examples, encodings, tokenizer, 0)


def test_what_is_read(tokenizer: Any) -> None:
    examples, encodings, pairs = read(tokenizer, TABLE)
    assert pairs.texts == [("the bad is", " up"), ("a good it", " down")]
    assert pairs.spans == pairs.counterpart_spans == [{"word": (2, 3)}] * 2
    assert pairs.names == ["word"]
    check_aligned(examples, encodings, pairs)
    check_spans(examples, pairs, "word")
    tokens = tokenizer.convert_ids_to_tokens(pairs.encodings.rows[0]["input_ids"])
    assert tokens == ["[CLS]", "the", "bad", "is", "up", "[SEP]"]


def test_wrong_answers_stand_where_they_differ(tokenizer: Any) -> None:
    examples, encodings, _ = read(tokenizer, TABLE)
    with_wrong = with_wrong_answers(TABLE, examples, encodings, tokenizer, {})
    down = tokenizer.convert_tokens_to_ids("down")
    assert with_wrong.rows[0]["wrong_labels"] == [-100, -100, -100, -100, down, -100]
    longer = TABLE.assign(completion=[" so up", " so down"], wrong=[" so down", " so up"])
    examples, encodings, _ = read(tokenizer, longer)
    with_wrong = with_wrong_answers(longer, examples, encodings, tokenizer, {})
    assert with_wrong.rows[0]["wrong_labels"][5] == down
    missing = replace(examples, task=replace(examples.task, wrong="mistaken"))
    with pytest.raises(DataProblem, match="no column 'mistaken' of wrong answers"):
        with_wrong_answers(longer, missing, encodings, tokenizer, {})
    with pytest.raises(DataProblem, match="there is no column of wrong answers; name one with wrong="):
        with_wrong_answers(longer.drop(columns="wrong"), examples, encodings, tokenizer, {})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"corrupted": ["the bad is", None]}, "row 1, column 'corrupted': got nan; expected a string"),
        ({"spans": ["{", "{}"]}, "row 0, column 'spans': got '{'; expected spans of tokens such as"),
        ({"spans": [3, 3]}, "expected spans of tokens"),
        ({"spans": [{"word": [2, 2]}, {}]}, "the span 'word' is 2 to 2, but the text has 6 tokens"),
        ({"spans": [{"word": "far"}, {}]}, "got 'far' for 'word'"),
    ],
)
def test_bad_rows(tokenizer: Any, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DataProblem, match=words):
        read(tokenizer, TABLE.assign(**changes))


def test_bad_columns(tokenizer: Any) -> None:
    with pytest.raises(DataProblem, match="no column 'other' with the second input.*name it with counterpart="):
        read(tokenizer, TABLE, counterpart="other")
    with pytest.raises(InvalidOption, match="3 columns in counterpart=; the task has 2 text columns"):
        read(tokenizer, TABLE, counterpart=("corrupted", "wrong", "wrong"))


def test_pairs_that_do_not_match(tokenizer: Any) -> None:
    table = TABLE.assign(
        corrupted=["the bad bad is", "a good it"], counterpart_spans=[{"word": [2, 4]}, {"word": [2, 3]}]
    )
    examples, encodings, pairs = read(tokenizer, table)
    with pytest.raises(DataProblem, match=r"1 of 2 pairs.*row 0: 6 tokens and 7 tokens"):
        check_aligned(examples, encodings, pairs)
    with pytest.raises(DataProblem, match=r"row 0: the span 'word' has 1 tokens in the text and 2 in its counterpart"):
        check_spans(examples, pairs, "word")
    with pytest.raises(InvalidOption, match="positions='verb'; expected one of all, last, answer, word"):
        check_spans(examples, pairs, "verb")
