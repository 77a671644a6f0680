"""Patterns and typical maps as one tree, in memory and in a study that is read, gone on with, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.attention_maps import find_patterns as module
from headcount.attention_maps.find_patterns import find_patterns
from headcount.attention_maps.typical import NONE, TYPICAL
from headcount.errors import DataProblem, InvalidOption, StudyProblem
from headcount.measures import passes
from headcount.measures.measure import measure
from headcount.measures.patterns import SHORTEST
from headcount.patterns.naming import PATTERNS
from tests.measures.planted import SENTENCES
from tests.measures.test_measure import Killed, Passes, same
from tests.measures.test_patterns import LONG, SHORT
from tests.measures.tiny import masked, translator

TEXTS = pd.DataFrame({"text": list(dict.fromkeys([*SHORT, *LONG, *SENTENCES]))})


@pytest.fixture(scope="module")
def counted() -> Any:
    model, tokenizer = masked()
    return model, tokenizer, Passes(model)


@pytest.fixture
def bert(counted: Any) -> Any:
    """The model, its tokenizer, and a count of what runs through it that begins at 0."""
    counted[2].texts, counted[2].closed = 0, False
    return counted


@pytest.fixture(scope="module")
def found(counted: Any) -> xr.DataTree:
    counted[2].closed = False
    return find_patterns(*counted[:2], TEXTS)


def test_what_the_tree_holds(bert: Any, found: xr.DataTree) -> None:
    assert set(found.children) == {"patterns", "typical"}
    measured = measure(*bert[:2], TEXTS, only="patterns")
    alone = xr.DataTree.from_dict({"patterns": found["patterns"].to_dataset()})
    same(alone, measured)
    assert found.attrs == measured.attrs
    assert found.attrs["texts"] == len(TEXTS)
    assert found["typical"]["maps"].shape[:4] == (1, 2, 4, len(TYPICAL))
    assert found["typical"].attrs["measure"] == "typical"
    for key in ("model", "model_class", "device", "versions"):
        assert found["typical"].attrs[key] == found["patterns"].attrs[key]
    assert found["patterns"].attrs["rule"]["maps"] > 0


def test_it_is_part_of_the_library() -> None:
    assert hc.find_patterns is find_patterns


def test_a_study_holds_the_same_as_the_memory(bert: Any, found: xr.DataTree, tmp_path: Path) -> None:
    model, tokenizer, _ = bert
    stored = find_patterns(model, tokenizer, TEXTS, out=tmp_path / "study")
    same(stored, found)
    assert stored.attrs == found.attrs
    opened = hc.open_study(tmp_path / "study")
    assert set(opened.children) == {"measures", "patterns"}
    assert set(opened["measures"].children) == {"patterns"}
    assert set(opened["patterns"].children) == {"typical"}
    for group, name in (("measures/patterns", "patterns"), ("patterns/typical", "typical")):
        assert opened[group].attrs["complete"] is True
        expected, written = found[name].to_dataset(), opened[group].to_dataset()
        if "example" in expected:  # texts of like length are written together
            written = written.sortby("example")
        for variable in expected.variables:
            given = written[variable].values
            if given.dtype.kind == "f":
                np.testing.assert_array_equal(given, expected[variable])
            else:
                assert given.tolist() == expected[variable].values.tolist()
    assert opened["patterns/typical"]["maps"].dtype == np.uint8


def test_the_same_call_again_computes_nothing(bert: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer, gate = bert
    options = {"limit": 8, "seed": 1, "max_length": 20, "out": tmp_path / "study"}
    first = find_patterns(model, tokenizer, TEXTS, **options)
    assert gate.texts > 8
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "study").rglob("*") if path.is_file()}
    gate.closed = True
    monkeypatch.setattr(module, "take_typical", lambda *_: pytest.fail("typical maps were taken again"))
    again = find_patterns(model, tokenizer, TEXTS, **options)
    same(again, first)
    assert again.attrs == first.attrs
    assert files == {path: path.stat().st_mtime_ns for path in (tmp_path / "study").rglob("*") if path.is_file()}


def test_what_was_measured_is_not_measured_again(bert: Any, found: xr.DataTree, tmp_path: Path) -> None:
    """A study of `measure` has all but the typical maps."""
    model, tokenizer, gate = bert
    measure(model, tokenizer, TEXTS, only=["entropy", "patterns"], out=tmp_path / "study")
    gate.texts = 0
    same(find_patterns(model, tokenizer, TEXTS, out=tmp_path / "study"), found)
    assert gate.texts == found["typical"].sizes["place"]


@pytest.mark.parametrize("change", [{"seed": 1}, {"limit": 5}, {"max_length": 12}])
def test_other_options_are_refused(bert: Any, tmp_path: Path, change: dict[str, int]) -> None:
    model, tokenizer, gate = bert
    first = find_patterns(model, tokenizer, TEXTS, limit=9, out=tmp_path / "study")
    gate.closed = True
    said = {"limit": "examples"}.get(next(iter(change)), next(iter(change)))
    with pytest.raises(StudyProblem, match=f"measures/patterns already.*{said}: ") as error:
        find_patterns(model, tokenizer, TEXTS, out=tmp_path / "study", **{"limit": 9} | change)
    assert "\n" not in str(error.value)
    assert "name=" in str(error.value)
    same(find_patterns(model, tokenizer, TEXTS, limit=9, out=tmp_path / "study"), first)


def test_another_model_is_refused(bert: Any, tmp_path: Path) -> None:
    find_patterns(*bert[:2], TEXTS, limit=4, out=tmp_path / "study")
    with pytest.raises(StudyProblem, match="model: "):
        find_patterns(*masked(layers=1), TEXTS, limit=4, out=tmp_path / "study")


def test_a_name_makes_room_for_another(bert: Any, tmp_path: Path) -> None:
    model, tokenizer, gate = bert
    study = tmp_path / "study"
    first = find_patterns(model, tokenizer, TEXTS, limit=9, out=study)
    second = find_patterns(model, tokenizer, TEXTS, limit=5, seed=1, out=study, name="few")
    assert second.attrs["texts"] == 5
    opened = hc.open_study(study)
    assert set(opened["measures"].children) == {"patterns", "patterns@few"}
    assert set(opened["patterns"].children) == {"typical", "typical@few"}
    gate.closed = True
    same(find_patterns(model, tokenizer, TEXTS, limit=9, out=study), first)
    same(find_patterns(model, tokenizer, TEXTS, limit=5, seed=1, out=study, name="few"), second)
    with pytest.raises(StudyProblem, match=r"patterns@few already.*seed: "):
        find_patterns(model, tokenizer, TEXTS, limit=5, out=study, name="few")


def test_typical_maps_of_other_options_are_refused(bert: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as those of another version, which looked for them among fewer texts."""
    model, tokenizer, _ = bert
    with monkeypatch.context() as patch:
        patch.setattr(module, "CANDIDATES", 3)
        find_patterns(model, tokenizer, TEXTS, out=tmp_path / "study")
    with pytest.raises(StudyProblem, match=r"patterns/typical already.*candidates: 3 -> 48"):
        find_patterns(model, tokenizer, TEXTS, out=tmp_path / "study")


@pytest.mark.parametrize("moment", ["measuring", "typical"])
def test_killed_in_the_middle_it_goes_on(
    bert: Any, found: xr.DataTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Of the measure, or of the typical maps."""
    model, tokenizer, gate = bert
    study = tmp_path / "study"
    monkeypatch.setattr(passes, "UNIT", 6)
    shown = found["typical"].sizes["place"]
    calls = []

    def stop(done: float, of: float) -> None:
        calls.append((done, of))
        if (moment == "measuring" and done == 6) or (moment == "typical" and (done, of) == (2, shown)):
            raise Killed

    with pytest.raises(Killed):
        find_patterns(model, tokenizer, TEXTS, out=study, progress=stop)
    left = {"measuring": len(TEXTS) - 6, "typical": 0}[moment]
    assert bool(hc.open_study(study)["measures/patterns"].attrs["complete"]) == (moment != "measuring")
    gate.texts = 0
    whole = find_patterns(model, tokenizer, TEXTS, out=study)
    assert gate.texts == left + shown
    same(whole, found, atol=2e-5)
    gate.closed = True
    same(find_patterns(model, tokenizer, TEXTS, out=study), whole)


def test_columns_and_pairs(bert: Any) -> None:
    model, tokenizer, _ = bert
    data = pd.DataFrame({"one": LONG[:3], "two": LONG[3:], "three": SHORT[:1] * 3})
    single = find_patterns(model, tokenizer, data, text="two")
    assert set(single["typical"]["texts"].values) <= set(LONG[3:])
    both = find_patterns(model, tokenizer, data, text=("one", "two"))
    assert set(both["typical"]["texts"].values) <= {f"{a} | {b}" for a, b in zip(LONG[:3], LONG[3:], strict=True)}


def test_texts_too_short_for_a_pattern_are_refused(bert: Any, tmp_path: Path) -> None:
    model, tokenizer, gate = bert
    gate.closed = True
    with pytest.raises(DataProblem, match=f"longest of the {len(SHORT)} texts has 7 tokens.*{SHORTEST}") as error:
        find_patterns(model, tokenizer, pd.DataFrame({"text": SHORT}), out=tmp_path / "study")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "study").exists()


def test_a_translation_model_in_a_study(tmp_path: Path) -> None:
    data = pd.DataFrame({"source": LONG, "target": LONG[::-1]})
    whole = find_patterns(*translator(), data, out=tmp_path / "study")
    assert whole["patterns"]["pattern"].values.tolist() == list(PATTERNS)
    assert (whole["typical"]["text"].sel(stack="cross") == NONE).all()
    assert (whole["typical"]["text"].sel(stack="decoder") != NONE).any()
    same(find_patterns(*translator(), data), whole)


def test_an_ablated_model_goes_into_no_study(bert: Any, tmp_path: Path) -> None:
    model, tokenizer, _ = bert
    with hc.ablated(model, "L0H0"), pytest.raises(InvalidOption, match="ablated"):
        find_patterns(model, tokenizer, TEXTS, out=tmp_path / "study")
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 0}, "limit=0"),
        ({"compute": hc.Compute(batch_tokens=0)}, "batch_tokens=0"),
        ({"max_length": -1}, "max_length=-1"),
    ],
)
def test_options_that_cannot_be(bert: Any, tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        find_patterns(*bert[:2], TEXTS, out=tmp_path / "study", **options)
    assert not (tmp_path / "study").exists()
