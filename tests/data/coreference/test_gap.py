"""The table of GAP: only the pronoun is asked, only names before it are antecedents, and offsets must be right."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from headcount.data.coreference.gap import read_gap
from headcount.errors import DataProblem

TEXT = "Ann Lee's friend Eve slept. She didn't eat."


def table(text: str = TEXT, pronoun: str = "She", a: str = "Ann Lee", b: str = "Eve", **changed: Any) -> pd.DataFrame:
    cells: dict[str, Any] = {"ID": "t-1", "Text": text, "A-coref": True, "B-coref": "FALSE"}
    for column, written in (("Pronoun", pronoun), ("A", a), ("B", b)):
        cells |= {column: written, f"{column}-offset": text.find(written)}
    return pd.DataFrame({name: [cell] for name, cell in (cells | changed).items()})


def test_words_and_mentions() -> None:
    [document] = read_gap(table())
    assert document.words == ("Ann", "Lee", "'s", "friend", "Eve", "slept", ".", "She", "didn't", "eat", ".")
    assert (document.starts, document.text) == ((0, 7), TEXT)
    told = [(document.words[one.head], one.kind, one.asked) for one in document.mentions]
    assert told == [("Lee", "proper", False), ("Eve", "proper", False), ("She", "pronoun", True)]
    ann, eve, she = (mention.entity for mention in document.mentions)
    assert ann == she != eve


def test_why_there_is_nothing_to_ask() -> None:
    [neither] = read_gap(table(**{"A-coref": False}))
    assert neither.without_antecedent == "the pronoun refers to neither name"
    [after] = read_gap(table("She saw Ann Lee and Eve.", **{"A-coref": True}))
    assert after.without_antecedent == "the name comes after its pronoun"
    assert after.mentions[0].kind == "pronoun"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"A-offset": 3}, "A is 'Ann Lee' at character 3, but the text has .*; fix A or A-offset"),
        ({"B-offset": 400}, "B is 'Eve' at character 400"),
        ({"Pronoun-offset": "x"}, "Pronoun is 'She' at character 'x'"),
        ({"Pronoun": None}, "Pronoun is None"),
        ({"A-coref": "maybe"}, "column 'A-coref': got 'maybe'; expected TRUE or FALSE"),
        ({"Text": "  "}, "column 'Text': got '  '; expected a text"),
        ({"B": "Lee", "B-offset": 4}, "A and B overlap"),
    ],
)
def test_what_is_malformed(changed: dict[str, Any], expected: str) -> None:
    with pytest.raises(DataProblem, match=f"row 0.*{expected}"):
        list(read_gap(table(**changed)))
