"""A chunk that is lost or changed after a study was opened is an error when it is read, never a number."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import xarray as xr

from headcount.core.checked_store import CheckedStore
from headcount.core.read_study import open_study
from headcount.errors import StudyProblem
from tests.core.damage import Harm, delete, empty, flip, halve, harm, write_units
from tests.study_results import write_result

CHUNK = "sweep/sets-zero/logits/c/0/1"


@pytest.mark.parametrize("how", [delete, empty, halve, flip(5)])
def test_what_happens_after_opening(tmp_path: Path, how: Harm) -> None:
    write_units(tmp_path / "study")
    node = open_study(tmp_path / "study")["sweep/sets-zero"]
    assert node["logits"][:, :4].values.shape == (2, 4)
    harm(tmp_path / "study" / CHUNK, how)
    with pytest.raises(StudyProblem) as caught:
        node["logits"].load()
    said = str(caught.value)
    assert f"sweep/sets-zero is damaged ({CHUNK} " in said
    assert said.endswith("compute it again with: headcount sweep A --out study")
    assert node["logits"][:, :4].values.shape == (2, 4), "the rest can be read"


def test_units_that_are_not_there_yet_are_unknown(tmp_path: Path) -> None:
    write_units(tmp_path / "study", complete=False, first=1)
    values = open_study(tmp_path / "study")["sweep/sets-zero"]["logits"].load()
    assert values[:, :4].isnull().all()
    assert values[:, 4:].notnull().all()


def test_an_array_called_c(tmp_path: Path) -> None:
    write_result(tmp_path / "study", "a/b", {}, xr.Dataset({"c": ("n", [1.0, 2.0])}))
    assert open_study(tmp_path / "study")["a/b"]["c"].values.tolist() == [1.0, 2.0]
    (tmp_path / "study/a/b/c/c/0").write_bytes(b"other")
    with pytest.raises(StudyProblem, match="a/b/c/c/0 was changed"):
        open_study(tmp_path / "study")["a/b"]["c"].load()


def test_a_tree_can_be_sent_to_another_process(tmp_path: Path) -> None:
    write_units(tmp_path / "study")
    store = pickle.loads(pickle.dumps(CheckedStore(tmp_path / "study")))
    assert store.read_only
    tree = pickle.loads(pickle.dumps(open_study(tmp_path / "study")["sweep/sets-zero"].to_dataset()))
    assert tree["logits"].values.shape == (2, 9)
