"""Annotation sets from tables and folders, and the row that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from headcount.data.frames import read_frames
from headcount.errors import DataProblem
from tests.data.framenet_files import write_framenet

TEXT = "She saw it"
SEER = {"name": "Seer", "start": 0, "end": 3, "itype": None, "rank": 1, "core": "Core"}


def table(**cells: Any) -> pd.DataFrame:
    row = {"text": TEXT, "target": [[4, 7]], "fes": [SEER]} | cells
    return pd.DataFrame([{name: json.dumps(cell) if name != "text" else cell for name, cell in row.items()}] * 2)


def test_a_file_and_a_data_frame_alike(tmp_path: Path) -> None:
    elements = [
        SEER,
        {"name": "Time", "start": None, "end": None, "core": "Peripheral"},
        {**SEER, "core": "Peripheral"},
    ]
    frame = table(fes=elements)
    frame.to_parquet(tmp_path / "frames.parquet")
    frame.to_json(tmp_path / "frames.jsonl", orient="records", lines=True)
    first, second = read_frames(frame)
    assert first == second
    assert list(read_frames(tmp_path / "frames.parquet")) == [first, second]
    assert list(read_frames(str(tmp_path / "frames.jsonl"))) == [first, second]
    assert first.targets == ((4, 7),)
    assert [(element.name, element.span, element.core) for element in first.elements] == [
        ("Seer", (0, 3), True),
        ("Seer", (0, 3), False),
    ]


def test_an_element_that_does_not_say_whether_it_is_core() -> None:
    [element] = next(read_frames(table(fes=[{"name": "Seer", "start": 0, "end": 3}]))).elements
    assert element.core is None


def test_a_folder_with_framenet(tmp_path: Path) -> None:
    pytest.importorskip("nltk")
    first, second = read_frames(write_framenet(tmp_path / "framenet"))
    assert [element.core for element in first.elements] == [True, True]
    assert len(second.elements) == 1


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({"text": "  "}, "row 0, column 'text': got '  '; expected a sentence"),
        ({"target": 3}, "row 0, column 'target': got 3; expected a list"),
        ({"target": [[4]]}, r"got \[4\] as the span of target; expected \[start, end\)"),
        ({"target": [[4, 11]]}, "target is at 4 to 11, but the text has 10 characters"),
        ({"target": [[-1, 2]]}, "target is at -1 to 2, but the text has 10 characters"),
        ({"target": [[5, 5]]}, "target is at 5 to 5"),
        ({"fes": [{**SEER, "end": 30}]}, "Seer is at 0 to 30, but the text has 10 characters"),
        ({"fes": [{**SEER, "start": 3, "end": 4}]}, "Seer is at 3 to 4, where there is no word"),
        ({"fes": [{"start": 0, "end": 3}]}, "expected an element with name, start and end"),
        ({"fes": ["Seer"]}, "got 'Seer'; expected an element with name, start and end"),
        ({"fes": [{**SEER, "start": "a"}]}, "as the span of Seer"),
    ],
)
def test_what_is_wrong(cells: dict[str, Any], expected: str) -> None:
    with pytest.raises(DataProblem, match=expected):
        list(read_frames(table(**cells)))


def test_json_that_is_none() -> None:
    frame = table()
    frame.loc[1, "fes"] = '[{"name"'
    with pytest.raises(DataProblem, match=r"row 1, column 'fes': got '\[\{\"name\"', which is not JSON"):
        list(read_frames(frame))


def test_columns_that_are_missing(tmp_path: Path) -> None:
    table().drop(columns="fes").to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataProblem, match="a.parquet has no column fes; it has text, target; expected text, target"):
        list(read_frames(tmp_path / "a.parquet"))
