"""The table of LitBank: lists or JSON; what is malformed is named with its row and document."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headcount.data.coreference.litbank import read_litbank
from headcount.errors import DataProblem

TOKENS = ["Ann", "saw", "Ann", ".", "She", "slept"]
CLUSTERS = [[[0, 1], [2, 3], [4, 5]], [[3, 4]]]


def table(**changed: Any) -> pd.DataFrame:
    cells = {"doc": "emma", "tokens": TOKENS, "sent_lens": [4, 2], "clusters": CLUSTERS} | changed
    return pd.DataFrame({name: [cell] for name, cell in cells.items()})


@pytest.mark.parametrize("clusters", [CLUSTERS, json.dumps(CLUSTERS)])
def test_lists_and_json(clusters: Any) -> None:
    [document] = read_litbank(table(tokens=np.array(TOKENS), sent_lens=np.array([4, 2]), clusters=clusters))
    assert (document.name, document.starts) == ("emma", (0, 4))
    assert [mention.kind for mention in document.mentions] == ["proper", "proper", "nominal", "pronoun"]
    assert [mention.entity for mention in document.mentions] == [0, 0, 1, 0]


def test_a_table_without_names() -> None:
    [document] = read_litbank(table().drop(columns="doc"))
    assert document.name == "row 0"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"clusters": [[[0, 7]]]}, r"got the mention \[0, 7\]; expected .* its 6 words"),
        ({"clusters": [[[2, 2]]]}, r"got the mention \[2, 2\]"),
        ({"clusters": [[[0, 1]], [[0, 1]]]}, r"the mention \[0, 1\] is there twice"),
        ({"clusters": [[[0, 1, 2]]]}, r"got \[0, 1, 2\]; expected spans"),
        ({"clusters": [[["0", "1"]]]}, "got '0'; expected whole numbers"),
        ({"clusters": "none"}, "column 'clusters': got 'none'; expected a list"),
        ({"sent_lens": [4, 3]}, "add up to 7; .* the 6 tokens"),
        ({"sent_lens": [6, 0]}, "expected lengths from 1"),
        ({"tokens": [], "sent_lens": []}, "has no words"),
        ({"tokens": "Ann slept"}, "column 'tokens': got 'Ann slept'; expected a list"),
    ],
)
def test_what_is_malformed(changed: dict[str, Any], expected: str) -> None:
    with pytest.raises(DataProblem, match=f"row 0, document 'emma'.*{expected}"):
        list(read_litbank(table(**changed)))
