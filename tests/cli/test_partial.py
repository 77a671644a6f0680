"""The verb `partial`: a table that fits 80 columns, JSON, and the same words for the same command."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from headcount.cli.main import main
from tests.training import toy


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("toy")
    toy.save_checkpoint(path / "model")
    toy.save_splits(path / "data", toy.choices(24), toy.choices(20, seed=1))
    return path


def words(place: Path, out: Path, *more: str) -> list[str]:
    return [
        *("partial", str(place / "model"), "--data", str(place / "data"), "--choices", "warrant0", "warrant1"),
        *("--inputs", "warrant", "reason,warrant", "claim,warrant", "all", "--out", str(out), "--seeds", "2"),
        *("--num-train-epochs", "1", "--per-device-train-batch-size", "8", "--learning-rate", "1e-3", *more),
    ]


def test_the_table_of_the_paper(
    place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = tmp_path / "parts"
    assert main(words(place, out)) == 0
    captured = capfd.readouterr()
    assert max(len(line) for line in captured.out.splitlines() if not line.startswith("Saved in")) <= 80
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in captured.out.splitlines() if line[:1] == "│"]
    assert [(row[0], row[1]) for row in rows] == [
        *[
            (name if not number else "", model)
            for name in ("warrant", "reason,warrant", "claim,warrant", "all")
            for number, model in enumerate(("fine-tuned", "bag-of-vectors", "bilstm"))
        ],
        ("none", "majority"),
    ]
    table = pd.read_csv(out / "runs.csv")
    scores = table[(table["input"] == "claim,warrant") & (table["model"] == "bilstm")]["score"]
    shown = [float(cell) for cell in rows[8][2:6]]
    assert shown == pytest.approx([scores.mean(), scores.median(), scores.max(), scores.std()], abs=6e-4)
    assert float(rows[-1][2]) == 0.5
    assert "Too few seeds to tell" in captured.out
    assert main(words(place, out)) == 0
    assert capfd.readouterr().out == captured.out, "the same command shows the same"
    assert main(words(place, out, "--json")) == 0
    found = json.loads(capfd.readouterr().out)
    assert (len(found["summary"]), len(found["runs"])) == (12, 24)
    assert found["summary"][8]["mean"] == pytest.approx(scores.mean())
    assert found["summary"][0]["kept"] is None, "two seeds"


def test_one_seed_has_no_spread(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [*words(place, tmp_path, "--baselines", "none"), "--seeds=1"]
    command[command.index("--seeds") : command.index("--seeds") + 2] = []
    assert main(command) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "fine-tuned" in line)
    assert line.split("│")[6].strip() == "-"


def test_a_table_for_each_set(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twins = tmp_path / "twins.csv"
    toy.choices(8, seed=2).assign(debate="").to_csv(twins, index=False)
    more = ["--baselines", "none", "--test", f"twins={twins}", f"same={place / 'data' / 'validation.parquet'}"]
    assert main(words(place, tmp_path / "parts", *more)) == 0
    shown = capsys.readouterr().out
    for title in ("20 validation examples", "8 twins examples", "20 same examples"):
        assert title in shown
    tables = shown.split("accuracy over 2 seeds")[1:]
    assert tables[0].splitlines()[1:] == tables[2].split("Too few")[0].splitlines()[1:], "the same examples"
    assert main(words(place, tmp_path / "parts", *more, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["split"] for row in found["summary"]] == ["validation"] * 4 + ["twins"] * 4 + ["same"] * 4


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--label", "stars"], "no label column 'stars'"),
        (["--baselines", "tfidf"], "got 'tfidf' in --baselines"),
        (["--text", "debate"], "no column 'debate' for the inputs; the data has claim, reason"),
        (["--task", "rte"], "got --choices, which has no effect here"),
        (["--jobs", "0"], "got --jobs 0"),
        (["--test", "twins.csv"], "got 'twins.csv' in --test; expected NAME=FILE"),
        (["--test", "a=x.csv", "a=y.csv"], "got a twice in --test"),
        (["--test", "validation=x.csv"], "got 'validation' as the name of a set in --test"),
        (["--test", "twins=nowhere.csv"], "there is no file nowhere.csv"),
    ],
)
def test_bad_input(
    place: Path, tmp_path: Path, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(place, tmp_path / "parts", *more)) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1, captured.err
    assert expected in captured.err
    assert not (tmp_path / "parts").exists()
