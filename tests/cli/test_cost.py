"""The verb `cost`: sizes and times of one model or two, JSON for scripts, bad input is one line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

import headcount as hc
from headcount.cli.cost import SIZES, tables
from headcount.cli.main import main
from headcount.costs.cost import size
from headcount.models.load import load_model
from headcount.story.costs import cost_sentences
from tests import planted
from tests.contracts.zoo import tiny

QUICK_IMAGES = ["--batches", "1,2", "--repeats", "2", "--device", "cpu"]
QUICK = ["--batches", "1,2", "--lengths", "8,16", "--repeats", "2", "--device", "cpu"]
SHAPES = ["1 x 8", "1 x 16", "2 x 8", "2 x 16"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, the same without half of its heads, and the bundled one without half of its heads."""
    path = tmp_path_factory.mktemp("models")
    planted.save(path / "whole")
    tokenizer = planted.tokenizer(path / "words")
    hc.save(hc.prune(planted.classifier(), ["L0H1", "L1H0"]), tokenizer, path / "half")
    model, words = hc.load(hc.bundled("qnli"))
    hc.save(hc.prune(model.float(), [f"L{layer}H0-5" for layer in range(12)]), words, path / "small")
    return path


@pytest.fixture(autouse=True)
def narrow(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns, in the folder of the models."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(place)


def rows(lines: list[str]) -> list[list[str]]:
    """The cells of the tables' rows; a row that goes on in the next line is put together."""
    found: list[list[str]] = []
    for line in lines:
        if line.startswith("│"):
            cells = [cell.strip() for cell in line.split("│")[1:-1]]
            if cells[0] or not found:
                found.append(cells)
            else:
                found[-1] = [f"{first} {more}".strip() for first, more in zip(found[-1], cells, strict=True)]
    return found


def shapes(cells: list[list[str]]) -> list[str]:
    """The first cells of the rows behind the sizes of the models."""
    return list(dict.fromkeys(row[0] for row in cells[6:]))


def test_two_models_side_by_side(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "bundled:qnli", "small", *QUICK]) == 0
    captured = capfd.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "…" not in captured.out
    cells = rows(lines)
    whole, small = size(load_model(hc.bundled("qnli")).float()), size(load_model(place / "small"))
    for row, key in zip(cells[:4], SIZES, strict=True):
        assert row[1:] == [f"{one[key] / 1e6:,.2f}" for one in (whole, small)]
    for row, key in zip(cells[4:6], ("heads", "units"), strict=True):
        assert row[1:] == [f"{one[key]:,}" for one in (whole, small)]
    assert shapes(cells) == SHAPES
    assert all(any(cell.endswith(" x") for row in cells if row[0] == shape for cell in row) for shape in SHAPES)
    text = " ".join(captured.out.split())
    assert "At 2 x 16 attention takes " in text
    assert "The second model keeps 50% of the attention weights and is " in text


def test_one_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "whole", *QUICK]) == 0
    shown = capsys.readouterr().out
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert shapes(rows(shown.splitlines())) == SHAPES
    assert "faster" not in shown
    assert "second model" not in shown


def test_json(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "whole", "half", *QUICK, "--json"]) == 0
    captured = capfd.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    assert 0 < found["attention_share"] < found["attention_share"] + found["feed_forward_share"] < 1
    table = pd.DataFrame(found["rows"])
    assert [(row["model"], f"{row['batch']} x {row['length']}") for row in found["rows"]] == [
        (name, shape) for shape in SHAPES for name in ("whole", "half")
    ]
    for name in ("whole", "half"):
        for key, value in size(load_model(place / name)).items():
            assert set(table[table["model"] == name][key]) == {value}
    assert (table[["ms", "ms_low", "ms_high", "per_second", "flops", "peak_bytes"]].to_numpy() > 0).all()


def test_the_number_type_that_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "whole", *QUICK, "--dtype", "bfloat16", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert row["bytes"] == 2 * row["parameters"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["whole", "--batches", "one"], "got --batches one; expected numbers"),
        (["whole", "--batches", "1,,2"], "expected numbers"),
        (["whole", "--batches", ""], "expected numbers"),
        (["whole", "--batches", "1.5"], "expected numbers"),
        (["whole", "--lengths", "8;16"], "expected numbers"),
        (["whole", "--batches", "0"], "got --batches 0; expected at least 1"),
        (["whole", "--lengths", "-3"], "got --lengths -3; expected at least 1"),
        (["whole", "--lengths", "8", "--repeats", "0"], "got --repeats 0; expected at least 1"),
        (["whole", "--repeats", "often"], "often"),
        (["whole", "--lengths", "65"], "got the length 65; whole takes at most 64 tokens"),
        (["bundled:qnli", "half", "--lengths", "65"], "half takes at most 64 tokens"),
        (["whole", "none"], "hub did not give it"),
        (["bundled:nonsense"], "bundled model 'nonsense'"),
        (["whole", "half", "small"], "small"),
        (["whole", "--device", "abacus"], "not here"),
        ([], "MODEL"),
    ],
)
def test_bad_input(words: list[str], expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", *words]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("headcount: ")
    assert expected in captured.err


def test_the_same_model_twice(capsys: pytest.CaptureFixture[str]) -> None:
    """What the noise of the machine is; a clear line would do as well."""
    if main(["cost", "whole", "whole", *QUICK]) == 0:
        assert rows(capsys.readouterr().out.splitlines())[0][1:] == ["0.00", "0.00"]


def test_brackets_in_the_name_of_a_model(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "half[draft]").symlink_to(place / "half")
    assert main(["cost", "half[draft]", *QUICK]) == 0
    assert "half[draft]" in capsys.readouterr().out


def test_images_have_no_length(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    vit = tiny("vit", head="AutoModelForImageClassification")
    monkeypatch.setattr("headcount.cli.cost.load_ready", lambda *_: vit)
    assert main(["cost", "vit", *QUICK]) == 2
    assert "got --lengths, which has no effect here: images have no length" in capsys.readouterr().err
    assert main(["cost", "vit", *QUICK_IMAGES]) == 0
    shown = capsys.readouterr().out
    assert shapes(rows(shown.splitlines())) == ["1", "2"]
    assert "At 2 x 16" not in shown


def large(names: list[str]) -> pd.DataFrame:
    """The numbers of a large model."""
    return pd.DataFrame(
        [
            {
                "model": name,
                "batch": batch,
                "length": 512,
                "ms": 12345.67 * batch,
                "ms_low": 12000.0 * batch,
                "ms_high": 12400.0 * batch,
                "per_second": 1234.5,
                "flops": 2_712_340_000_000 * batch,
                "peak_bytes": 31_890_000_000,
                "parameters": 7_012_345_678,
                "attention_parameters": 2_147_483_648,
                "feed_forward_parameters": 4_294_967_296,
                "heads": 1024,
                "units": 352_256,
                "bytes": 14_024_691_356,
            }
            for batch in (1, 64)
            for name in names
        ]
    )


def shown_at_80(parts: list[Any]) -> str:
    console = Console(width=80, file=io.StringIO(), highlight=False)
    for part in parts:
        console.print(part)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("names", [["before"], ["before", "after"]], ids=["one", "two"])
def test_large_numbers_at_80_columns(names: list[str]) -> None:
    found = large(names)
    shown = shown_at_80([*tables(found, names), *cost_sentences(found, 0.5, 0.25, len(names) > 1)])
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "…" not in shown
    for number in (
        "7,012.35",
        "2,147.48",
        "4,294.97",
        "1,024",
        "352,256",
        "14,024.69",
        "790122.9",
        "±12800.0",
        "173589.76",
        "31890",
    ):
        assert number in shown
    assert "at most 2.00 times as fast" in " ".join(shown.split())


def test_long_names_at_80_columns() -> None:
    names = ["bert-large-uncased-whole-word-masking-finetuned-squad", "the-same-without-half-of-its-attention-heads"]
    shown = shown_at_80(tables(large(names), names))
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "7,012.35" in shown


def test_into_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows that are printed are those that are kept; the second time nothing changes."""
    study = tmp_path / "study"
    command = ["cost", "whole", "half", *QUICK, "--json", "--study", str(study)]
    assert main(command) == 0
    captured = capsys.readouterr()
    shown = pd.DataFrame(json.loads(captured.out)["rows"])
    assert captured.err == ""
    stored = hc.open_study(study)["cost/models"].to_dataset()
    assert list(stored["model"].values) == list(shown["model"])
    for column in shown.columns.drop("model"):
        assert stored[column].values == pytest.approx(shown[column].to_numpy(), rel=1e-9)
    before = {one: one.read_bytes() for one in study.rglob("*") if one.is_file()}
    assert main(command) == 0
    assert {one: one.read_bytes() for one in study.rglob("*") if one.is_file()} == before
    assert main([*command, "--name", "again"]) == 0
    assert set(hc.open_study(study)["cost"].children) == {"models", "again"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--study", "a-file"], "a-file is a file; expected a study folder"),
        (["--study", "no-study"], "no-study is not a study"),
        (["--study", "new", "--name", "two words"], "got 'cost/two words' for the name of a result"),
        (["--study", "new", "--name", "../out"], "for the name of a result"),
    ],
)
def test_a_study_that_cannot_be(
    tmp_path: Path,
    place: Path,
    more: list[str],
    expected: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").write_text("mine")
    (tmp_path / "no-study").mkdir()
    (tmp_path / "no-study" / "mine.txt").write_text("mine")
    assert main(["cost", str(place / "whole"), *QUICK, *more]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert expected in captured.err
    assert (tmp_path / "a-file").read_text() == "mine"
    assert [one.name for one in (tmp_path / "no-study").iterdir()] == ["mine.txt"]
    assert not (tmp_path / "out").exists()
