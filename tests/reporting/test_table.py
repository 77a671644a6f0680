"""The table of a study in Python: the same rows as in the files that it writes, of an open study too."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.errors import CannotWrite, InvalidOption, StudyProblem
from tests import planted
from tests.reporting import studies


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study"
    tokenizer = planted.tokenizer(path.parent / "tokenizer")
    hc.sweep(planted.classifier(), tokenizer, planted.texts(20), task="sst2", how="zero", out=path)
    return path


@pytest.mark.parametrize(("ending", "read"), [("csv", pd.read_csv), ("parquet", pd.read_parquet)])
def test_what_is_written_is_what_comes_back(study: Path, tmp_path: Path, ending: str, read: object) -> None:
    rows = hc.table(study, output=tmp_path / f"rows.{ending}")
    pd.testing.assert_frame_equal(rows, read(tmp_path / f"rows.{ending}"), check_dtype=False)  # type: ignore[operator]
    assert set(rows["result"]) == {"sweep/head-zero"}


def test_an_open_study(study: Path, tmp_path: Path) -> None:
    tree = hc.open_study(study)
    pd.testing.assert_frame_equal(hc.table(tree), hc.table(str(study)))
    assert hc.report(tree, tmp_path / "report.html").stat().st_size > 100_000
    assert hc.figure(tree).axes
    with pytest.raises(InvalidOption, match="DataTree that open_study did not open"):
        hc.table(xr.DataTree())


def test_what_is_refused(study: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="got to='xml'; expected one of csv, parquet, json"):
        hc.table(study, to="xml")
    with pytest.raises(InvalidOption, match="got to=csv and output="):
        hc.table(study, to="csv", output=tmp_path / "rows.json")
    with pytest.raises(StudyProblem, match="no complete result compare"):
        hc.table(study, group="compare")
    with pytest.raises(CannotWrite, match="cannot write"):
        hc.table(study, output=tmp_path / "none" / "rows.csv")


def test_heads_beside_annotations_have_rows_for_heads_and_for_relations(tmp_path: Path) -> None:
    path = studies.probed_study(tmp_path / "study")
    rows = hc.table(path, group="probe")
    heads, relations = rows[rows["head"].notna()], rows[rows["relation"].notna()]
    assert len(heads) + len(relations) == len(rows) == 16 + 3
    planted_head = heads[(heads["layer"] == 0) & (heads["head"] == 3)].iloc[0]
    assert (planted_head["relation_of_head"], planted_head["direction_of_head"]) == ("det", "dependent to head")
    det = relations.set_index("relation").loc["det"]
    assert det["best_head"] == "L0H3"
    assert det["gain_low"] > 0
    with pytest.raises(StudyProblem, match="no complete result arcs"):
        hc.table(path, group="arcs")


def test_rows_say_what_their_numbers_are_about(study: Path, tmp_path: Path) -> None:
    rows = hc.table(study)
    assert list(rows.columns[:4]) == ["result", "model", "task", "metric"]
    assert set(rows["metric"]) == {"accuracy"}
    assert set(rows["task"]) == {"sst2"}
    probed = hc.table(studies.partial_study(tmp_path / "measures", "measures"))
    assert set(probed["model"]) == {"BertForSequenceClassification"}
    assert "metric" not in probed, "measures have none"
