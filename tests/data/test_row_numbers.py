"""Rows in messages are those that an editor shows: counted from 1, with the file and, where it has one, the line."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from headcount.data.row_numbers import name_row, source_of
from headcount.data.tables import read_table

TABLE = pd.DataFrame({"text": ["one", "two", "three"], "label": [0, 1, 0]})


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.csv", "row 3 (line 4)"), ("a.tsv", "row 3 (line 4)"), ("a.jsonl", "row 3 (line 3)"), ("a.parquet", "row 3")],
)
def test_files(name: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.endswith("jsonl"):
        TABLE.to_json(path, orient="records", lines=True)
    elif name.endswith("parquet"):
        TABLE.to_parquet(path)
    else:
        TABLE.to_csv(path, sep="\t" if name.endswith("tsv") else ",", index=False)
    table = read_table(path)
    assert name_row(table.attrs, 2) == f"{path}, {expected}"
    assert name_row(table.iloc[[2]]["label"].attrs, 2) == f"{path}, {expected}", "a part and a column know it too"
    assert source_of(table) == str(path)


def test_no_line_where_rows_are_longer_than_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,label\n"one\nand a half",0\ntwo,1\n', encoding="utf-8")
    assert name_row(read_table(path).attrs, 1) == f"{path}, row 2"
    path.write_text("text,label\none,0\n\ntwo,1\n", encoding="utf-8")
    assert name_row(read_table(path).attrs, 1) == f"{path}, row 2"


def test_a_data_frame_is_named_by_its_index() -> None:
    assert name_row(read_table(TABLE).attrs, 2) == "row 2"
    assert source_of(TABLE) == "the table"
