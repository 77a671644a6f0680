"""All runs of a call: their order, their folders, their table, side by side, and what is refused before any of them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import headcount as hc
from headcount.data.tasks import find_task
from headcount.errors import CannotWrite, DataProblem, InvalidOption, ModelUnavailable, StudyProblem, TrainingDiverged
from headcount.training import finetune as tuning
from headcount.training.finetune import summarise_runs
from tests.training import toy


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("toy")
    toy.save_checkpoint(path / "model")
    toy.save_splits(path / "data" / "MRPC", toy.pairs(32))
    toy.save_splits(path / "data" / "RTE", toy.pairs(24, seed=3))
    return path


@pytest.fixture(scope="module")
def done(place: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame, list[Any]]:
    """Two tasks, all initialisations, two seeds."""
    out = tmp_path_factory.mktemp("done") / "new" / "runs"
    ticks: list[Any] = []
    table = hc.finetune(
        place / "model",
        ["mrpc", find_task("rte")],
        place / "data",
        out,
        init=["none", "random", "pretrained"],
        seeds=2,
        settings=toy.SHORT,
        progress=lambda now, all_of: ticks.append((now, all_of)),
    )
    shutil.copy(out / "runs.csv", out.parent / "runs.csv")  # other tests write the one of the folder anew
    return out, table, ticks


def test_one_row_for_each_run(done: tuple[Path, pd.DataFrame, list[Any]], place: Path) -> None:
    out, table, ticks = done
    expected = [
        (task, init, seed) for task in ("mrpc", "rte") for init in ("none", "random", "pretrained") for seed in (0, 1)
    ]
    assert list(table[["task", "init", "seed"]].itertuples(index=False, name=None)) == expected
    assert [tick for tick in ticks if tick[0] % 1 == 0 and tick[0]] == sorted(
        [
            *[(number + 1, 12) for number in range(12)],
            *[(number, 12) for number in (2, 3, 4, 5, 8, 9, 10, 11)],
            *[(number, 12) for number in (3, 4, 5, 6, 9, 10, 11, 12)],
        ]
    )
    assert (2.25, 12) in ticks, "a quarter of the third run: the first of its four steps"
    assert list(table["metric"]) == ["f1"] * 6 + ["accuracy"] * 6
    steps = {("mrpc", "none"): 0, ("rte", "none"): 0, ("mrpc", "random"): 4, ("rte", "random"): 3}
    for (task, init), count in steps.items():
        assert set(table.loc[(table["task"] == task) & (table["init"] == init), "steps"]) == {count}
    assert (table["score"] == table["score_f1"].where(table["task"] == "mrpc", table["score_accuracy"])).all()
    for row in table.itertuples():
        folder = out / row.task / row.init / f"seed-{row.seed}"
        assert (folder / "result.json").is_file()
        if row.init == "none":
            assert row.model == str(place / "model")
            assert not (folder / "model").exists()
        else:
            assert row.model == str(folder / "model")
            hc.load(row.model)
    assert set(table.loc[table["init"] == "none", "failed"]) == {False}


def test_the_table_is_in_the_folder(done: tuple[Path, pd.DataFrame, list[Any]]) -> None:
    out, table, _ = done
    read = pd.read_csv(out.parent / "runs.csv")
    pd.testing.assert_frame_equal(read, table, check_dtype=False)


def test_the_same_call_trains_nothing(
    done: tuple[Path, pd.DataFrame, list[Any]], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, table, _ = done
    monkeypatch.setattr("headcount.training.run.build_model", lambda *_: pytest.fail("built a model"))
    again = hc.finetune(
        place / "model",
        ["mrpc", "rte"],
        place / "data",
        out,
        init=["none", "random", "pretrained"],
        seeds=2,
        settings=toy.SHORT,
    )
    pd.testing.assert_frame_equal(again, table)
    part = hc.finetune(place / "model", "rte", place / "data", out, init=["none"], seeds=[1], settings=toy.SHORT)
    assert list(part["score"]) == list(table.query("task == 'rte' and init == 'none' and seed == 1")["score"])


def test_other_options_are_refused(done: tuple[Path, pd.DataFrame, list[Any]], place: Path, tmp_path: Path) -> None:
    out, *_ = done
    other = toy.save_checkpoint(tmp_path / "model")
    good: dict[str, Any] = {"model": place / "model", "init": ["random"], "settings": toy.SHORT}
    for change, expected in (
        ({"settings": replace(toy.SHORT, learning_rate=0.5)}, "learning_rate: 0.001 -> 0.5"),
        ({"model": other}, f"model: '{place / 'model'}' -> '{other}'"),
        ({"keep_embeddings": True}, "keep_embeddings: False -> True"),
    ):
        with pytest.raises(StudyProblem) as caught:
            hc.finetune(tasks="mrpc", data=place / "data", out=out, **(good | change))
        assert f"({expected})" in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(StudyProblem, match=r"\(data: "):
        hc.finetune(tasks="mrpc", data=place / "data", out=out, limit=20, **good)


def test_more_seeds_are_added(place: Path, tmp_path: Path) -> None:
    first = hc.finetune(place / "model", "mrpc", place / "data", tmp_path, init=["none"], seeds=[3])
    more = hc.finetune(place / "model", "mrpc", place / "data", tmp_path, init=["none"], seeds=[3, 5])
    assert list(more["seed"]) == [3, 5]
    assert more["seconds"][0] == first["seconds"][0], "the first was read"


def test_nothing_to_train_and_what_is_unknown(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for change in ({"tasks": []}, {"seeds": 0}, {"seeds": []}, {"init": []}, {"jobs": 0}):
        with pytest.raises(InvalidOption, match="nothing to train"):
            hc.finetune(**({"model": place / "model", "tasks": "mrpc", "data": place / "data", "out": out} | change))
    with pytest.raises(InvalidOption, match="'cold'; expected some of none, random, pretrained"):
        hc.finetune(place / "model", "mrpc", place / "data", out, init=["random", "cold"])
    with pytest.raises(InvalidOption, match="'mrcp'"):
        hc.finetune(place / "model", ["mrpc", "mrcp"], place / "data", out)
    with pytest.raises(DataProblem, match="no folder"):
        hc.finetune(place / "model", ["mrpc"], tmp_path / "nowhere", out)
    assert not out.exists(), "nothing was written"


@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_below_one_is_refused(place: Path, tmp_path: Path, limit: int) -> None:
    with pytest.raises(InvalidOption):
        hc.finetune(place / "model", "mrpc", place / "data", tmp_path, init=["none"], limit=limit)


def test_a_folder_that_cannot_be_written(place: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="cannot write") as caught:
        hc.finetune(place / "model", "mrpc", place / "data", tmp_path / "file", init=["none"])
    assert "\n" not in str(caught.value)


def test_a_misspelt_model_does_not_spoil_the_folder(place: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable):
        hc.finetune(place / "modle", "mrpc", place / "data", tmp_path, init=["none"])
    hc.finetune(place / "model", "mrpc", place / "data", tmp_path, init=["none"])


def test_the_limit_takes_fewer_examples(place: Path, tmp_path: Path) -> None:
    table = hc.finetune(place / "model", "mrpc", place / "data", tmp_path, settings=toy.SHORT, limit=16)
    assert table["steps"][0] == 2


def test_side_by_side_is_as_one_by_one(place: Path, tmp_path: Path) -> None:
    tables, ticks = [], []
    for jobs in (1, 2):
        tables.append(
            hc.finetune(
                place / "model",
                "mrpc",
                place / "data",
                tmp_path / str(jobs),
                init=["random", "pretrained"],
                settings=toy.SHORT,
                jobs=jobs,
                progress=lambda now, all_of: ticks.append((now, all_of)),
            )
        )
    assert ticks[-2:] == [(1, 2), (2, 2)]
    assert ticks[:5] == [(0, 2), (0.25, 2), (0.5, 2), (0.75, 2), (1, 2)]
    one, two = (table.drop(columns=["seconds", "model"]) for table in tables)
    pd.testing.assert_frame_equal(one, two)
    for left, right in zip(tables[0]["model"], tables[1]["model"], strict=True):
        left_weights, right_weights = toy.weights(left), toy.weights(right)
        assert all(left_weights[key].allclose(right_weights[key], atol=1e-5) for key in left_weights)


def test_an_error_in_a_job_is_the_error_of_the_call(place: Path, tmp_path: Path) -> None:
    settings = replace(toy.SHORT, learning_rate=1e30)
    with pytest.raises(TrainingDiverged, match="lower the learning rate"):
        hc.finetune(place / "model", "mrpc", place / "data", tmp_path, settings=settings, jobs=2)


def test_summarise() -> None:
    table = pd.DataFrame(
        {
            "task": ["rte"] * 3 + ["mrpc"] * 2,
            "init": ["random"] * 3 + ["none"] * 2,
            "seed": [0, 1, 2, 0, 1],
            "metric": ["accuracy"] * 3 + ["f1"] * 2,
            "score": [0.5, 0.6, 1.0, 0.2, 0.4],
            "failed": [True, True, False, False, False],
        }
    )
    found = summarise_runs(table)
    assert list(found["task"]) == ["rte", "mrpc"], "in the order of the runs"
    first = found.iloc[0]
    assert (first["init"], first["metric"], first["count"], first["failed"]) == ("random", "accuracy", 3, 2)
    assert [first[key] for key in ("mean", "median", "min", "max")] == pytest.approx([0.7, 0.6, 0.5, 1.0])
    assert first["std"] == pytest.approx(0.26457513)
    assert found.iloc[1]["failed"] == 0


def test_the_device_is_given_to_the_runs(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def look(run: Any, progress: Any) -> dict[str, Any]:
        seen.append(run.device)
        return {"scores": {"f1": 1.0}, "training_scores": {"f1": 1.0}, "failed": False, "steps": 1, "seconds": 1.0}

    monkeypatch.setattr(tuning, "perform_run", look)
    tmp_path.mkdir(exist_ok=True)
    hc.finetune(place / "model", "mrpc", place / "data", tmp_path, device="meta")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    hc.finetune(place / "model", "mrpc", place / "data", tmp_path)
    assert seen == ["meta", "cpu"]
