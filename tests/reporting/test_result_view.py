"""Results in memory as views: each under the name that it has in a study."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.errors import InvalidOption, StudyProblem
from headcount.reporting.result_view import view_of
from tests.reporting import studies


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studies.other_study(tmp_path_factory.mktemp("views") / "study")


def test_what_verbs_return_in_memory_and_from_a_study(tmp_path: Path) -> None:
    model, tokenizer = studies.classifier()
    data = studies.labelled(model, tokenizer, studies.sentences(40))
    texts = pd.DataFrame({"text": studies.sentences(4)})
    for out in (None, tmp_path / "study"):
        found = {
            "sweep/head-zero": hc.sweep(model, tokenizer, data, task="sst2", how="zero", limit=12, out=out),
            "pruning/importance": hc.importance(model, tokenizer, data, task="sst2", limit=12, out=out),
            "measures/special": hc.measure(model, tokenizer, texts, text="text", only="special", out=out),
        }
        for name, result in found.items():
            assert name in view_of(result).results
            assert view_of(result).layout.count == 12
        maps = view_of(hc.maps(model, tokenizer, studies.TEXT, out=out))
        assert [name.split("/")[0] for name in maps.results] == ["maps"]
        choice = hc.choose(model, tokenizer, data, task="sst2", keep=8, steps=2, randoms=1, study=out)
        halves = view_of(choice).results
        assert [name.rpartition("-")[2] for name in halves] == ["choosing", "confirming"]
        assert float(halves[list(halves)[1]]["baseline"]) == float(choice.held_out["baseline"])


def test_parts_of_a_study(study: Path) -> None:
    tree = hc.open_study(study)
    assert set(view_of(tree).results) == set(view_of(str(study)).results)
    assert set(view_of(tree["sweep/head-zero"]).results) == {"sweep/head-zero"}
    assert {name.split("/")[0] for name in view_of(tree["measures"]).results} == {"measures"}
    assert set(view_of(tree["sweep/head-zero"].to_dataset()).results) == {"sweep/head-zero"}


def test_several_at_once(study: Path) -> None:
    tree = hc.open_study(study)
    one, other = tree["sweep/head-zero"], tree["measures/special"].to_dataset()
    assert set(view_of([one, other]).results) == {"sweep/head-zero", "measures/special"}


def test_what_is_not_complete(study: Path) -> None:
    half = hc.open_study(study)["sweep/head-zero"].to_dataset().assign_attrs(complete=False)
    with pytest.raises(StudyProblem, match="sweep/head-zero is not complete yet"):
        view_of(half)


@pytest.mark.parametrize("thing", [None, 1.5, xr.Dataset({"x": 1}), xr.DataTree(), [], object()])
def test_what_is_no_result(thing: object) -> None:
    with pytest.raises(InvalidOption, match="no result of Headcount"):
        view_of(thing)
