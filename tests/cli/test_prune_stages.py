"""The verb `prune` to a budget: recovery and stages, what is said about them, nothing by halves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.cli.main import main
from tests import planted
from tests.budgets import small

SHAPE = ["--batch", "1", "--length", "8"]
QUICK = ["--steps", "2", "--randoms", "1", *SHAPE]
CHANGE = r"[+-]\d\.\d\d \[[+-]\d\.\d\d, [+-]\d\.\d\d\]"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    tokenizer, model = planted.tokenizer(path / "model"), small.with_dead_parts()
    data = small.own_answers(model, tokenizer, 80)
    model.save_pretrained(path / "model")
    tokenizer.save_pretrained(path / "model")
    data.to_csv(path / "texts.csv", index=False)
    (path / "data").mkdir()
    data.to_csv(path / "data" / "validation.csv", index=False)
    planted.texts(50, seed=7).to_csv(path / "data" / "train.csv", index=False)
    return path


def words(place: Path, out: Path, *more: str, data: str = "texts.csv", what: str = "both") -> list[str]:
    given = ["--task", "sst2", "--data", str(place / data), "--what", what, "--out", str(out)]
    return ["prune", str(place / "model"), *given, *more]


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_a_budget(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, tmp_path / "small", "--weights", "60%", *QUICK, "--study", str(tmp_path / "study"))) == 0
    said = shown(capsys)
    assert "accuracy on the held-out half, and its change from the whole model [95 % interval]:" in said
    assert "Budget weights=60%" in said
    assert "Checked before the refit: " in said
    whole, _ = hc.load(place / "model")
    made, _ = hc.load(tmp_path / "small")
    assert small.weights_left(made, whole) <= 0.6
    counts = hc.read_anatomy(made)
    assert f"{counts.layout.count} of 12 heads and {counts.units.count} of 120 feed-forward units are left" in said
    stored = hc.open_study(tmp_path / "study")["pruning"].children
    assert sum(name.startswith("budget@") for name in stored) == 2


@pytest.mark.parametrize(("data", "on"), [("texts.csv", "the selection half"), ("data", "50 training examples")])
def test_a_recovery(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], data: str, on: str) -> None:
    """It says on which examples; its last scores are those of the held-out half."""
    more = ["--operations", "60%", *QUICK, "--recover", "2", "--study", str(tmp_path / "study")]
    assert main(words(place, tmp_path / "small", *more, data=data)) == 0
    said = shown(capsys)
    assert f"Fine-tuned for 2 steps with the whole model as the teacher on {on}: accuracy" in said
    assert re.search(rf"on the held-out half, {CHANGE} from the whole model \(1\.000 ", said)
    assert not (tmp_path / ".small-state").exists()
    made, _ = hc.load(tmp_path / "small")
    assert small.operations_left(made, hc.load(place / "model")[0]) <= 0.6


def test_stages(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--operations", "60%", *SHAPE, "--recover", "2", "--stages", "2", "--study", str(tmp_path / "study")]
    assert main(words(place, tmp_path / "small", *more)) == 0
    said = shown(capsys)
    assert re.search(
        r"2 stages left 7\d %, (59|60) % of the operations, each recovered for 2 steps with the whole model", said
    )
    assert re.search(r"\(median and quartiles\) times .*, measured at batch 1, length 8\.", said)
    assert re.search(rf"On the held-out half accuracy changes by {CHANGE} from 1\.000 \[1\.000, 1\.000\]\.", said)
    assert not (tmp_path / ".small-state").exists()
    made, _ = hc.load(tmp_path / "small")
    assert small.operations_left(made, hc.load(place / "model")[0]) <= 0.6


def test_nothing_within_the_tolerance_writes_nothing(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(place, tmp_path / "small", "--tolerance", "1", *QUICK)) == 1
    assert "headcount: no model was written; give " in capsys.readouterr().err
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--tolerance", "1", "--recover", "2", "--stages", "2"], "--stages need a budget that can be reached"),
        (["--operations", "60%", "--stages", "2"], "--stages, which has no effect without --recover"),
        (["--operations", "60%", "--recover", "2", "--stages", "0"], "--stages 0; expected at least 1"),
        *(
            (["--operations", "60%", "--recover", "2", "--stages", "2", *option], f"got {option[0]}, which has no eff")
            for option in (
                ["--order", "random"],
                ["--steps", "3"],
                ["--randoms", "2"],
                ["--drop", "3"],
                ["--by", "group"],
                ["--anew"],
                ["--no-normed"],
                ["--stack", "encoder"],
            )
        ),
        (["--operations", "3%", *SHAPE], "as few heads and units as can stay"),
        (["--operations", "50%", "--weights", "50%"], "got --operations 50% and --weights 50%; expected exactly one"),
        (["--faster", "1"], "got --faster 1; expected more than 1"),
        (["--operations", "abc"], "got --operations abc; expected the share that is left, such as 50%"),
        (["--operations", "120%"], "got --operations 120%"),
        (["--operations", "50%", "--order", "random"], "got --order, which has no effect"),
    ],
)
def test_bad_input_is_one_line(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], expected: str
) -> None:
    assert main(words(place, tmp_path / "small", *more)) == 2
    said = capsys.readouterr().err.strip()
    assert expected in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "small").exists()


def test_a_training_that_diverges_saves_nothing(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--operations", "60%", *SHAPE, "--recover", "3", "--stages", "2", "--learning-rate", "1e9"]
    assert main(words(place, tmp_path / "small", *more)) == 1
    said = capsys.readouterr().err.strip()
    assert "the recovery diverged and nothing was saved" in said
    assert "give a lower --learning-rate than 1e+09" in said
    assert not (tmp_path / "small").exists()


def test_choose_says_the_same_as_json(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = words(place, tmp_path / "none", "--weights", "60%", *QUICK, "--json")
    at = line.index("--out")
    assert main(["choose", *line[1:at], *line[at + 2 :]]) == 0
    said = json.loads(capsys.readouterr().out)
    model, tokenizer = hc.load(place / "model")
    options: dict[str, Any] = small.QUICK | {"task": "sst2", "what": "both", "weights": "60%"}
    found: Any = hc.choose(model, tokenizer, str(place / "texts.csv"), **options)
    assert said["parts"] == str(found.parts).split(", ")
    assert said["weights"] == small.weights_left(found.model, model)
    assert said["score"] == float(found.held_out["score"][0, found.step])
