from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from headcount.data.spans import read_spans
from headcount.errors import DataProblem

TEXT = "the key is 7 . where ? 7"


def test_a_completion_is_the_end_of_the_text() -> None:
    expected = [{"completion": (22, 24)}]
    assert read_spans(pd.DataFrame({"completion": [" 7"]}), [TEXT]) == expected
    assert read_spans(pd.DataFrame({"prompt": [TEXT[:22]]}), [TEXT]) == expected
    assert read_spans(pd.DataFrame({"prompt": ["x"], "completion": [" 7"]}), [TEXT]) == expected


def test_columns_that_only_have_the_name() -> None:
    assert read_spans(pd.DataFrame({"prompt": ["other"], "completion": [None]}), [TEXT]) == [{}]
    assert read_spans(pd.DataFrame({"label": [1]}), [TEXT]) == [{}]


def test_every_text_has_the_same_classes() -> None:
    table = pd.DataFrame({"completion": [" 7", "y"], "needle_start": [11, None], "needle_end": [12, None]})
    assert read_spans(table, [TEXT, TEXT]) == [
        {"completion": (22, 24), "needle": (11, 12)},
        {"completion": (0, 0), "needle": (0, 0)},
    ]


@pytest.mark.parametrize(("start", "end"), [(5, 5), (-1, 3), (3, 99), (1.5, 3), ("a", 3), (None, 3)])
def test_needles_outside_the_text(start: Any, end: Any) -> None:
    table = pd.DataFrame({"needle_start": [start], "needle_end": [end]}, dtype=object)
    with pytest.raises(DataProblem, match=r"row 0: got needle_start .* expected positions in a text of 24 characters"):
        read_spans(table, [TEXT])
