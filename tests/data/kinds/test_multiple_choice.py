"""A context with several choices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.kinds.multiple_choice import ChoicesAlone, MultipleChoice
from headcount.data.tasks import find_task
from headcount.errors import DataProblem
from tests import planted

TASK = find_task("multiple-choice", text=("context", "one", "two"))
TABLE = pd.DataFrame({"context": ["it is", "so"], "one": ["good", "a"], "two": ["so bad a", "the"], "label": [1, 0]})


def test_each_choice_is_a_pair_with_the_context(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path)
    made = encode(read_examples(TABLE, TASK, None), tokenizer, 64)
    pairs = [tokenizer("it is", "good")["input_ids"], tokenizer("it is", "so bad a")["input_ids"]]
    assert made.rows[0]["input_ids"] == pairs
    assert made.rows[0]["labels"] == 1
    assert made.lengths.tolist() == [len(pairs[1]), 5]
    assert MultipleChoice().output_shapes(None, made.rows) == {"logits": (2,)}


def test_a_choice_that_is_not_there() -> None:
    with pytest.raises(DataProblem, match=r"row 1: got the label 2; expected 0 to 1 \(2 choices\)"):
        read_examples(TABLE.assign(label=[0, 2]), TASK, None)


def test_choices_alone_are_single_texts(tmp_path: Path) -> None:
    """No empty context in front of them: the model would see two segments."""
    tokenizer = planted.tokenizer(tmp_path)
    task = replace(find_task("multiple-choice", text=("one", "two")), kind=ChoicesAlone())
    made = encode(read_examples(TABLE, task, None), tokenizer, 64)
    assert made.rows[0]["input_ids"] == [tokenizer("good")["input_ids"], tokenizer("so bad a")["input_ids"]]
    with pytest.raises(DataProblem, match=r"expected 0 to 1 \(2 choices\)"):
        read_examples(TABLE.assign(label=[0, 2]), task, None)


def test_a_training_that_always_chooses_the_same_has_failed() -> None:
    assert MultipleChoice().has_failed({"accuracy": 0.75}, [1, 1, 0, 1])
    assert not MultipleChoice().has_failed({"accuracy": 0.8}, [1, 1, 0, 1])
