"""A file is known by its name, a table by its columns."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from headcount.data.coreference.read import read_coreference
from headcount.errors import DataProblem
from tests.data.coreference.test_conll2012 import GOOD
from tests.data.coreference.test_gap import table as gap
from tests.data.coreference.test_litbank import table as litbank


@pytest.mark.parametrize("name", ["a.conll", "a.v4_gold_conll", "a.v4_auto_conll", "a_conll"])
def test_names_of_conll_files(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(GOOD)
    assert [document.name for document in read_coreference(tmp_path / name)] == ["(bc/one); part 000"]
    assert len(read_coreference(tmp_path)) == 1, "a folder of them"


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "tsv"])
def test_tables(suffix: str, tmp_path: Path) -> None:
    for name, table in (("emma", litbank()), ("t-1", gap())):
        path = tmp_path / f"a.{suffix}"
        if suffix == "parquet":
            table.astype({"B-coref": str} if "B-coref" in table else {}).to_parquet(path)
        elif suffix == "jsonl":
            table.to_json(path, orient="records", lines=True)
        else:
            table.to_csv(path, sep="\t" if suffix == "tsv" else ",", index=False)
        [document] = read_coreference(path)
        assert document.name == name


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match=r"there is no file .*b\.conll; expected a CoNLL-2012 file"):
        read_coreference(tmp_path / "b.conll")
    (tmp_path / "a.conllx").write_text(GOOD)
    with pytest.raises(DataProblem, match=r"got .*a\.conllx; expected a CoNLL-2012 file"):
        read_coreference(tmp_path / "a.conllx")
    with pytest.raises(DataProblem, match="has the columns tokens, upos; expected tokens, sent_lens, clusters or Text"):
        read_coreference(pd.DataFrame({"tokens": [["a"]], "upos": [["X"]]}))
    with pytest.raises(DataProblem, match="expected tokens, sent_lens, clusters or Text, Pronoun"):
        read_coreference(gap().drop(columns="A-coref"))
