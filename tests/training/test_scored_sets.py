"""Further sets: every run is scored on them, and trained as it is without; bad ones are refused first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import headcount as hc
from headcount.data.tasks import find_task
from headcount.errors import BlankRows, DataProblem, HeadcountWarning, InvalidOption
from headcount.training.models import load_text_tokenizer
from headcount.training.part_scores import summarise_parts
from headcount.training.parts import Part
from headcount.training.scored_sets import add_sets, unscored_sets
from headcount.training.splits import read_splits
from tests.training import toy

WARRANTS = ("warrant0", "warrant1")
OPTIONS: dict[str, Any] = {"inputs": ["warrant", "all"], "text": ["claim"], "choices": WARRANTS, "seeds": 2}
SETTINGS = replace(toy.QUICK, num_train_epochs=8)


def swapped(table: pd.DataFrame) -> pd.DataFrame:
    """The same choices with the other label: whoever knows only the cue is wrong everywhere."""
    return table.assign(label=1 - table["label"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("toy")
    toy.save_checkpoint(path / "model")
    toy.save_splits(path / "data", toy.choices(64), toy.choices(40, seed=1))
    swapped(toy.choices(40, seed=1)).to_csv(path / "swapped.csv", index=False)
    return path


@pytest.fixture(scope="module")
def scored(place: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    out = tmp_path_factory.mktemp("scored")
    tests = {"swapped": place / "swapped.csv", "few": toy.choices(10, seed=2)}
    return out, hc.partial(place / "model", place / "data", out, tests=tests, settings=SETTINGS, **OPTIONS)


def test_who_knows_only_the_cue_is_wrong_where_it_is_turned(scored: tuple[Path, pd.DataFrame]) -> None:
    out, table = scored
    assert len(table) == 3 * 2 * 3 * 2
    assert list(dict.fromkeys(table["split"])) == ["validation", "swapped", "few"]
    keys = ["input", "model", "seed"]
    usual, turned = (
        table[table["split"] == split].set_index(keys)["score"].sort_index() for split in ("validation", "swapped")
    )
    assert usual.loc["warrant", "bag-of-vectors"].mean() > 0.9
    pd.testing.assert_series_equal(turned, 1 - usual)
    assert set(table[table["split"] == "few"]["examples"]) == {10}
    summary = summarise_parts(table).set_index(["split", "input", "model"]).sort_index()
    each = turned.loc["all", "bilstm"]
    row = summary.loc[("swapped", "all", "bilstm")]
    assert [row["mean"], row["median"], row["max"], row["std"]] == pytest.approx(
        [each.mean(), each.median(), each.max(), each.std()]
    )
    assert not row["above_chance"]
    pd.testing.assert_frame_equal(pd.read_csv(out / "runs.csv"), table, check_dtype=False)
    stored = json.loads((out / "all" / "bilstm" / "seed-1" / "result.json").read_text())["tests"]["swapped"]
    assert (stored["examples"], stored["scores"]["accuracy"]) == (40, turned.loc["all", "bilstm", 1])


def test_the_training_is_that_without_them(place: Path, scored: tuple[Path, pd.DataFrame], tmp_path: Path) -> None:
    plain = hc.partial(place / "model", place / "data", tmp_path, settings=SETTINGS, **OPTIONS)
    columns = ["input", "model", "seed", "split", "score", "training_score", "steps"]
    usual = scored[1][scored[1]["split"] == "validation"]
    pd.testing.assert_frame_equal(plain[columns], usual[columns])


def test_resumed(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only runs without the score of a set are run again, and the user is told."""
    options = OPTIONS | {"inputs": "warrant", "seeds": 1, "baselines": "bag-of-vectors", "settings": toy.SHORT}

    def call(**tests: Any) -> pd.DataFrame:
        return hc.partial(place / "model", place / "data", tmp_path, tests=tests or None, **options)

    first = call()
    with pytest.warns(HeadcountWarning, match="2 finished runs have no score on these examples of swapped"):
        second = call(swapped=place / "swapped.csv")
    pd.testing.assert_series_equal(second[second["split"] == "validation"]["score"], first["score"])
    for name in ("run.build_model", "baseline_run.load_model"):
        monkeypatch.setattr(f"headcount.training.{name}", lambda *_, **__: pytest.fail("loaded a model"))
    pd.testing.assert_frame_equal(call(swapped=place / "swapped.csv"), second)
    pd.testing.assert_frame_equal(call(), second[second["split"] == "validation"], check_like=True)
    with (
        pytest.warns(HeadcountWarning, match="no score on these examples of swapped"),
        pytest.raises(pytest.fail.Exception),
    ):
        call(swapped=toy.choices(8))


def test_blank_rows_and_unknown_classes(place: Path, tmp_path: Path) -> None:
    toy.save_splits(tmp_path / "pairs", toy.pairs(16))
    splits = read_splits(find_task("classification"), tmp_path / "pairs")
    tokenizer = load_text_tokenizer(place / "model")
    part = Part("all", ("sentence1", "sentence2"))
    table = toy.pairs(8)
    table.loc[3, ["sentence1", "sentence2"]] = " "
    with pytest.warns(BlankRows, match="1 of 8 rows is blank"):
        added = add_sets(splits, {"few": table}, [part], tokenizer)
    assert len(added.tests["few"]) == 7
    assert added.fingerprint == splits.fingerprint
    assert unscored_sets({}, added) == ["few"]
    with pytest.raises(DataProblem, match="the test set 'few' has the labels 7, which train has not"):
        add_sets(splits, {"few": toy.pairs(4).assign(label=7)}, [part], tokenizer)


@pytest.mark.parametrize(
    ("tests", "error", "expected"),
    [
        ({"validation": "x.csv"}, InvalidOption, "got 'validation' as the name of a set in tests="),
        ({" ": "x.csv"}, InvalidOption, "name other than train and validation"),
        ({"far": "nowhere.csv"}, DataProblem, "there is no file nowhere.csv"),
        ({"few": toy.choices(4).drop(columns="claim")}, DataProblem, "the test set 'few' has no column claim; "),
        ({"few": toy.choices(4).drop(columns=["label", "warrant1"])}, DataProblem, "no column warrant1, label; "),
        ({"few": toy.choices(4).assign(label=2)}, DataProblem, "2"),
        ({"few": toy.choices(4).iloc[:0]}, DataProblem, "no rows"),
    ],
)
def test_refused_before_the_first_run(
    place: Path, tmp_path: Path, tests: dict[str, Any], error: type[Exception], expected: str
) -> None:
    with pytest.raises(error, match=expected) as caught:
        hc.partial(place / "model", place / "data", tmp_path / "out", tests=tests, **OPTIONS)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()
