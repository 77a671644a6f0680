"""Which rows are blank: the rule for every kind of task, and what is said of those that are left out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headcount.data.blank_rows import find_blank, known_blank, leave_out_blank
from headcount.data.kinds.catalogue import KINDS
from headcount.data.kinds.texts import PLAIN
from headcount.data.tables import read_table
from headcount.errors import BlankRows, DataProblem
from tests import planted
from tests.measures.tiny import bare_tokenizer

EMPTY = [None, float("nan"), pd.NA, "", "  ", "\t\n", "\u200b", "[SEP]", "[CLS] [PAD]"]
LONG = "[SEP] [CLS] " * 12


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("planted"))


def blank(tokenizer: Any, kind: str, *columns: list[Any], every: bool = False) -> list[bool]:
    names = tuple(f"text{number}" for number in range(len(columns)))
    table = pd.DataFrame(dict(zip(names, columns, strict=True)), dtype=object)
    return [bool(one) for one in find_blank(table, names, KINDS.get(kind, PLAIN), tokenizer, every)]


@pytest.mark.parametrize("kind", ["plain", "classification", "regression", "masked-lm", "causal-lm"])
def test_a_text_alone(tokenizer: Any, kind: str) -> None:
    assert blank(tokenizer, kind, [*EMPTY, "good", "a bad one"]) == [True] * len(EMPTY) + [False] * 2


@pytest.mark.parametrize("kind", ["plain", "classification", "multiple-choice"])
def test_one_text_of_a_pair_may_be_blank(tokenizer: Any, kind: str) -> None:
    first, second = [None, "good", "", "good"], ["good", None, "[SEP]", "bad"]
    assert blank(tokenizer, kind, first, second) == [False, False, True, False]


def test_a_translation_needs_both(tokenizer: Any) -> None:
    first, second = [None, "good", "good", "good"], ["good", " ", "[SEP]", "bad"]
    assert blank(tokenizer, "translation", first, second) == [True, True, True, False]


def test_a_row_without_words(tokenizer: Any) -> None:
    rows = [[], None, [" "], ["\u200b"], ["good"], np.array(["a", "bad"]), np.array([], dtype=object)]
    assert blank(tokenizer, "token-classification", rows) == [True, True, True, True, False, False, True]


def test_a_language_model_has_something_to_predict(tokenizer: Any) -> None:
    assert blank(bare_tokenizer(), "causal-lm", ["it", "it is"]) == [True, False]
    assert blank(bare_tokenizer(), "plain", ["it", "it is"]) == [False, False]
    unknown = ["zebra", "good"]
    assert blank(tokenizer, "masked-lm", unknown) == [True, False], "no token can be masked"
    assert blank(tokenizer, "plain", unknown) == [False, False], "an unknown word is a word"


def test_long_texts_are_given_to_the_tokenizer_where_they_are_drawn(tokenizer: Any) -> None:
    assert blank(tokenizer, "plain", [LONG]) == [False]
    assert blank(tokenizer, "plain", [LONG], every=True) == [True]


def test_what_is_no_text_is_not_blank(tokenizer: Any) -> None:
    assert blank(tokenizer, "plain", [3.5, ["a"], "", "good"]) == [False, False, True, False]


def test_rows_are_counted_and_named(tokenizer: Any) -> None:
    table = pd.DataFrame({"text": ["good"] * 30 + [""] * 25}, index=range(100, 155))
    with pytest.warns(BlankRows, match="25 of 55 rows are blank and were left out .rows 130, 131, 132"):
        left = leave_out_blank(table, ("text",), PLAIN, tokenizer)
    assert left.index.tolist() == list(range(100, 130)), "rows keep their numbers"
    assert known_blank(left) == {"count": 25, "of": 55, "rows": list(range(130, 150))}
    assert known_blank(table) == {"count": 0, "of": 55, "rows": []}, "the given table is not touched"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = leave_out_blank(left.iloc[:9], ("text",), PLAIN, tokenizer, drawn=True)
    assert known_blank(again) == known_blank(left), "a part remembers what the whole left out"


def test_nothing_left(tokenizer: Any) -> None:
    with pytest.raises(DataProblem, match="^the table: all 2 rows are blank, .* expected some text in 'a' and 'b'$"):
        leave_out_blank(pd.DataFrame({"a": ["", None], "b": ["", " "]}), ("a", "b"), PLAIN, tokenizer)


@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_a_text_may_be_called_none(tmp_path: Path, suffix: str, separator: str, tokenizer: Any) -> None:
    path = tmp_path / f"some.{suffix}"
    path.write_text(
        separator.join(("text", "label"))
        + "\n"
        + "".join(f"{word}{separator}1\n" for word in ("None", "NA", "nan", "null", ""))
    )
    table = read_table(path)
    assert table["text"].tolist()[:4] == ["None", "NA", "nan", "null"]
    assert find_blank(table, ("text",), PLAIN, tokenizer).tolist() == [False] * 4 + [True]
