"""The verb `measure`: what it prints and keeps, scripts get JSON and csv, bad input is one line."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headcount as hc
from headcount.cli.main import main
from headcount.measures.catalogue import MEASURES
from headcount.measures.measure import measure
from tests import planted

ONLY = "entropy,position"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of 2 layers of 2 heads, and some texts."""
    path = tmp_path_factory.mktemp("planted")
    planted.save(path / "model")
    planted.texts(6).to_csv(path / "texts.csv", index=False)
    return path


def words(place: Path, *more: str) -> list[str]:
    return ["measure", str(place / "model"), "--data", str(place / "texts.csv"), *more]


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A study of the bundled model on four pairs, and what was printed."""
    study = tmp_path_factory.mktemp("bundled") / "study"
    shown = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(shown):
        patch.setenv("COLUMNS", "300")
        command = ["measure", "bundled:pretrained", "--data", "bundled:pairs", "--limit", "4", "--only", ONLY]
        assert main([*command, "--out", str(study)]) == 0
    return study, shown.getvalue()


def test_the_heads_that_stand_out(bundled: tuple[Path, str]) -> None:
    study, shown = bundled
    lines = shown.splitlines()
    found = hc.open_study(study)["measures"]
    for variable, said in (("previous", "looks most at the previous token"), ("next", "looks most at the next token")):
        array = found["position"][variable].values[0]
        layer, head = np.unravel_index(array.argmax(), array.shape)
        low, high = (found["position"][f"{variable}_{end}"].values[0, layer, head] for end in ("low", "high"))
        line = next(line for line in lines if said in line)
        cells = [cell.strip() for cell in line.split("│")[1:-1]]
        median = np.median(array)
        assert cells == [said, f"L{layer}H{head}", f"{array.max():.3f} [{low:.3f}, {high:.3f}]", f"{median:.3f}"]
        assert array.max() > 0.8
    assert not any("[CLS]" in line for line in lines)
    assert "left out" not in shown
    assert lines[-1] == f"Saved in {study}. Next: headcount report {study}, or headcount table {study} --to csv"


def test_the_study_as_a_table(bundled: tuple[Path, str], tmp_path: Path) -> None:
    study, _ = bundled
    assert main(["table", str(study), "--to", "csv", "-o", str(tmp_path / "heads.csv")]) == 0
    table = pd.read_csv(tmp_path / "heads.csv")
    assert table.columns[:5].tolist() == ["result", "model", "stack", "layer", "head"]
    assert len(table) == len(table[["stack", "layer", "head"]].drop_duplicates()) == 144
    assert set(table["result"]) == {"measures"}
    assert not any("values_" in column or "done" in column for column in table)
    found = hc.open_study(study)["measures"]
    for column, expected in {
        "entropy.entropy": found["entropy"]["entropy"],
        "entropy.entropy_low": found["entropy"]["entropy_low"],
        "position.attention[-1]": found["position"]["attention"].sel(offset=-1),
        "position.attention_high[8]": found["position"]["attention_high"].sel(offset=8),
        "position.best_offset": found["position"]["best_offset"],
    }.items():
        for row in table.to_dict("records"):
            value = float(expected.sel(stack=row["stack"], layer=row["layer"], head=row["head"]))
            assert row[column] == pytest.approx(value, rel=1e-6)


def test_a_table_warns_of_nothing(bundled: tuple[Path, str], tmp_path: Path) -> None:
    assert main(["table", str(bundled[0]), "-o", str(tmp_path / "heads.csv")]) == 0


def test_everything_of_a_study_in_one_table(place: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    sweep = ["sweep", str(place / "model"), "--task", "sst2", "--data", str(place / "texts.csv"), "--how", "zero"]
    assert main([*sweep, "--out", str(study)]) == 0
    assert main(words(place, "--out", str(study), "--only", "entropy")) == 0
    assert main(words(place, "--out", str(study), "--only", "entropy", "--limit", "3", "--name", "few")) == 0
    assert main(["table", str(study), "-o", str(tmp_path / "all.csv")]) == 0
    table = pd.read_csv(tmp_path / "all.csv")
    assert table["result"].tolist() == ["sweep/head-zero"] * 4 + ["measures"] * 4
    measured = table["result"] == "measures"
    assert table.loc[measured, ["entropy.entropy", "entropy@few.entropy"]].notna().all(axis=None)
    assert table.loc[~measured, ["entropy.entropy", "entropy@few.entropy"]].isna().all(axis=None)
    assert table.loc[~measured, "score"].notna().all()
    assert main(["table", str(study), "--group", "measures", "-o", str(tmp_path / "some.csv")]) == 0
    assert len(pd.read_csv(tmp_path / "some.csv")) == 4


def test_what_is_left_out_is_said(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert main(words(place, "--max-length", "8")) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, reason in {
        "sentences": "the texts are no pairs",
        "repeated": "the texts are no pairs",
        "gradients": "the model has no language-model head",
    }.items():
        assert f"{name} was left out: {reason}." in lines
    assert any(line.startswith("links was left out: the texts are not annotated") for line in lines)
    assert sum("was left out" in line for line in lines) == 7
    lengths = planted.texts(6)["sentence"].str.split().str.len() + 2
    assert f"{(lengths > 8).sum()} texts were longer than the model takes and were cut." in lines
    assert not any(line.startswith("Heads of one layer") for line in lines)  # all heads are alike
    assert not any(line.startswith("Saved") for line in lines)


def test_json_is_what_the_library_finds(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "--json", "--limit", "3", "--seed", "1")) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    model, tokenizer = hc.load(place / "model")
    expected = measure(model, tokenizer, place / "texts.csv", limit=3, seed=1)
    assert found["attributes"] == expected.attrs
    assert set(found["measures"]) == set(expected.children)
    assert found["measures"].pop("distances") == []  # all heads are alike, and have no place on a map
    assert all(len(rows) == 4 for rows in found["measures"].values())
    for row in found["measures"]["entropy"]:
        value = expected["entropy"]["entropy"].sel(stack=row["stack"], layer=row["layer"], head=row["head"])
        assert row["entropy"] == pytest.approx(float(value))
    assert {"attention[-1]", "attention_low[8]", "positional"} <= set(found["measures"]["position"][0])


def test_the_list_needs_no_model(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr("headcount.cli.measure.load_model_and_tokenizer", lambda *_: pytest.fail("a model was loaded"))
    assert main(["measure", "--list"]) == 0
    shown = capsys.readouterr().out
    for name, one in MEASURES.items():
        line = next(line for line in shown.splitlines() if line.startswith(f"│ {name} "))
        assert one.summary in line
        assert one.paper in line


def test_the_same_command_again(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = words(place, "--only", "entropy", "--out", str(tmp_path / "study"))
    assert main(command) == 0
    first = capsys.readouterr().out
    chunk = next(path for path in (tmp_path / "study/measures/entropy/entropy").rglob("c/**/*") if path.is_file())
    before = chunk.stat().st_mtime_ns
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert chunk.stat().st_mtime_ns == before
    assert main([*command, "--seed", "1"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "seed: 0 -> 1" in error


def test_options_reach_the_measurement(place: Path, tmp_path: Path) -> None:
    pd.DataFrame({"one": ["so good", "so bad"], "two": ["it is", "is it so good"]}).to_csv(
        tmp_path / "t.csv", index=False
    )
    model = str(place / "model")
    base = ["measure", model, "--data", str(tmp_path / "t.csv"), "--only", "sentences", "--out", str(tmp_path / "s")]
    assert main([*base, "--text", "one", "two", "--batch-tokens", "1", "--max-length", "8"]) == 0
    found = hc.open_study(tmp_path / "s")["measures/sentences"]
    assert len(found["example"]) == 2
    assert found.attrs["identity"]["max_length"] == 8
    assert found.attrs["cut"] == 1


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--only", "nonsense"], "got the measure 'nonsense'; expected some of position, special"),
        (["--only", "sentences"], "sentences cannot be measured here: the texts are no pairs"),
        (["--only", ","], "none"),
        (["--data", "no/such.csv"], "there is no file"),
        (["--data", "bundled:nonsense"], "expected bundled:pairs, bundled:sentences or a file"),
        (["--text", "stars"], "stars"),
        (["--limit", "0"], "--limit 0"),
        (["--limit", "few"], "few"),
        (["--batch-tokens", "-1"], "--batch-tokens -1"),
        (["--max-length", "2"], "got --max-length 2; expected at least 8"),
        (["--distance-examples", "0"], "--distance-examples 0"),
        (["--device", "cuda:77"], "not here"),
        (["--dtype", "int3"], "int3"),
        (["--name", "a/../b"], "a/../b"),
    ],
)
def test_bad_input(
    place: Path, tmp_path: Path, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    base = words(place, "--out", str(tmp_path / "study"))
    if "--data" in more:
        del base[2:4]
    assert main([*base, *more]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("headcount: ")
    assert expected in captured.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "a model is missing"),
        (["bundled:pretrained"], "--data is missing"),
        (["bundled:nonsense", "--data", "bundled:pairs"], "got the bundled model 'nonsense'"),
        (["no/such/model", "--data", "bundled:pairs"], "expected a folder"),
    ],
)
def test_what_is_missing(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert expected in error


@pytest.fixture(scope="module")
def whole(place: Path) -> Path:
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(words(place, "--only", "entropy", "--out", str(place / "study"))) == 0
    return place / "study"


@pytest.mark.parametrize("damaged", ["zarr.json", "measures/entropy/zarr.json", "measures/entropy/done/zarr.json"])
def test_a_damaged_study(
    place: Path, whole: Path, tmp_path: Path, damaged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """To read it is an error; to measure again mends it, and says so."""
    study = tmp_path / "study"
    shutil.copytree(whole, study)
    (study / damaged).write_text("{")
    assert main(["table", str(study)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert str(study) in captured.err
    assert f"is damaged ({damaged} is not readable)" in captured.err or f"({damaged} was changed)" in captured.err
    assert main(words(place, "--only", "entropy", "--out", str(study))) == 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "is computed again" in said or "was restored" in said
    assert main(["table", str(study)]) == 0


def test_a_folder_that_is_no_study(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(words(place, "--out", str(tmp_path))) == 2
    assert "is not a study" in capsys.readouterr().err
    assert main(words(place, "--out", str(tmp_path / "notes.txt"))) == 2
    assert "is a file" in capsys.readouterr().err


def test_brackets_in_the_name_of_a_study(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "--only", "entropy", "--out", str(tmp_path / "study[draft]"))) == 0
    assert "study[draft]" in capsys.readouterr().out


def test_the_next_command_is_one_line(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    study = tmp_path / ("long" * 15)
    assert main(words(place, "--only", "entropy", "--out", str(study))) == 0
    assert f"Next: headcount report {study}, or headcount table {study} --to csv\n" in capsys.readouterr().out
