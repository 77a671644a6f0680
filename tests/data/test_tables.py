"""Tables from all kinds of files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from headcount.data.tables import read_table
from headcount.errors import DataProblem

TABLE = pd.DataFrame({"sentence": ['He said "no', 'and "yes" too', "plain"], "label": [0, 1, 0]})


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "jsonl"])
def test_every_format_keeps_every_row(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"validation.{suffix}"
    if suffix == "parquet":
        TABLE.to_parquet(path)
    elif suffix == "csv":
        TABLE.to_csv(path, index=False)
    elif suffix == "tsv":
        path.write_text("sentence\tlabel\n" + "\n".join(f"{row.sentence}\t{row.label}" for row in TABLE.itertuples()))
    else:
        TABLE.to_json(path, orient="records", lines=True)
    for source in (path, str(path), tmp_path):
        pd.testing.assert_frame_equal(read_table(source), TABLE, check_dtype=False)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="has no validation file"):
        read_table(tmp_path)
    with pytest.raises(DataProblem, match="there is no file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(DataProblem, match="expected a file that ends in"):
        read_table(tmp_path / "a.txt")
    (tmp_path / "a.parquet").write_text("x")
    with pytest.raises(DataProblem, match="cannot be read as parquet"):
        read_table(tmp_path / "a.parquet")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataProblem, match="empty.csv is empty; expected a table"):
        read_table(tmp_path / "empty.csv")
    with pytest.raises(DataProblem, match="no rows"):
        read_table(TABLE.head(0))


def test_sentences_in_conllu_are_words_with_their_parts_of_speech(tmp_path: Path) -> None:
    """Data for token classification, by the name of the split too."""
    rows = [("1", "She", "PRON", "2", "nsubj"), ("2", "sleeps", "VERB", "0", "root")]
    lines = ["\t".join((at, word, "_", upos, "_", "_", head, role, "_", "_")) for at, word, upos, head, role in rows]
    (tmp_path / "validation.conllu").write_text("\n".join([*lines, ""]), encoding="utf-8")
    for source in (tmp_path, tmp_path / "validation.conllu"):
        table = read_table(source)
        assert table.to_dict("list") == {"tokens": [["She", "sleeps"]], "upos": [["PRON", "VERB"]]}
