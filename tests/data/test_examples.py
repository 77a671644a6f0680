"""Texts and labels of the rows of a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from headcount.data.examples import read_examples
from headcount.data.tables import read_table
from headcount.data.tasks import find_task
from headcount.errors import DataProblem


def test_a_limit_draws_the_same_rows_for_a_seed() -> None:
    table = pd.DataFrame({"sentence": list("abcdefghij"), "label": [0, 1] * 5})
    task = find_task("sst2")
    id2label = {0: "negative", 1: "positive"}
    some = read_examples(table, task, id2label, limit=4, seed=1)
    assert len(some) == 4
    assert some.ids.tolist() == read_examples(table, task, id2label, limit=4, seed=1).ids.tolist()
    assert some.ids.tolist() != read_examples(table, task, id2label, limit=4, seed=2).ids.tolist()
    assert [text[0] for text in some.texts] == [table["sentence"][row] for row in some.ids]


def test_regression_labels_are_numbers() -> None:
    table = pd.DataFrame({"sentence": ["a", "b"], "label": ["1.5", "x"]})
    with pytest.raises(DataProblem, match="row 1: got the label 'x'; expected a finite number"):
        read_examples(table, find_task("regression"), None)
    table["label"] = [1.5, np.nan]
    with pytest.raises(DataProblem, match="row 1"):
        read_examples(table, find_task("regression"), None)


def test_words_and_tags_must_match() -> None:
    table = pd.DataFrame({"tokens": [["a", "b"]], "tags": [[0]]})
    with pytest.raises(DataProblem, match="2 words and 1 tags"):
        read_examples(table, find_task("token-classification"), {0: "LABEL_0", 1: "LABEL_1"})
    with pytest.raises(DataProblem, match="a list of words"):
        read_examples(pd.DataFrame({"tokens": ["a b"], "tags": [[0]]}), find_task("token-classification"), {0: "x"})


@pytest.mark.parametrize("column", ["ner_tags", "upos", "labels"])
def test_the_column_of_tags_is_found(column: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"tokens": [["a", "b"], ["c"]], column: [["X", "Y"], ["Y"]]})
    table.to_csv(tmp_path / "tagged.csv", index=False)
    for data in (table, tmp_path / "tagged.csv"):
        found = read_examples(read_table(data), find_task("ner"), {0: "X", 1: "Y"})
        assert found.labels == [[0, 1], [1]]
        assert found.texts == [(["a", "b"],), (["c"],)]
        assert found.notes == (f"the tags are those of the column '{column}'",)


def test_a_column_of_tags_that_is_not_found() -> None:
    table = pd.DataFrame({"tokens": [["a"]], "ner_tags": [["X"]], "pos_tags": [["Y"]]})
    with pytest.raises(DataProblem, match="has ner_tags, pos_tags: name one with label="):
        read_examples(table, find_task("token-classification"), {0: "X"})
    assert read_examples(table, find_task("ner", label="pos_tags"), {0: "Y"}).labels == [[0]]
    with pytest.raises(DataProblem, match="no label column 'gold'; the table has tokens, ner_tags"):
        read_examples(table, find_task("ner", label="gold"), {0: "X"})


def test_rows_are_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("sentence,label\na,0\nb,1\nc,2\n", encoding="utf-8")
    with pytest.raises(DataProblem, match=r"pairs.csv, row 3 \(line 4\): got the label 2"):
        read_examples(read_table(tmp_path / "pairs.csv"), find_task("classification"), {0: "LABEL_0", 1: "LABEL_1"})
