"""The verb `prune` with named heads: what it says and writes, bad input is one line and writes nothing."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import torch

import headcount as hc
from headcount.cli.main import app, main
from headcount.models.anatomy import read_anatomy
from headcount.models.load import load_model
from tests import planted
from tests.closeness import assert_same
from tests.contracts.zoo import tiny


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT, and an ALBERT, whose layers share their weights, each with a tokenizer."""
    path = tmp_path_factory.mktemp("models")
    planted.save(path / "bert")
    tiny("albert", head="AutoModelForSequenceClassification").save_pretrained(path / "albert")
    planted.tokenizer(path / "albert").save_pretrained(path / "albert")
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def example(verb: str) -> list[str]:
    """The words of the example in the verb's help."""
    lines = str(app[verb].default_command.__doc__).splitlines()
    (line,) = [line.strip() for line in lines if line.strip().startswith("Example: ")]
    return shlex.split(line.removeprefix("Example: headcount "))


def test_the_bundled_model(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["prune", "bundled:qnli", "--heads", "L3H7,L5,L6H0-3", "--out", "small"]) == 0
    captured = capfd.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    whole, tokenizer = hc.load(hc.bundled("qnli"))
    pruned, _ = hc.load(place / "small")
    before, after = whole.num_parameters(), pruned.num_parameters()
    less = f"{100 * (before - after) / before:.1f}% less"
    assert lines[0] == f"127 of 144 heads are left, {after:,} of {before:,} parameters ({less})."
    assert lines[1].startswith("Checked: pruned and gated outputs differ by at most ")
    assert lines[-2:] == [
        "Saved in small (how to load it: small/README.md).",
        "Next: headcount cost bundled:qnli small",
    ]
    assert [one.name for one in place.iterdir()] == ["small"]
    assert len(read_anatomy(pruned).layout.stacks["encoder"][5]) == 0
    batch = tokenizer(["Who was it?", "When?"], ["It was her.", "In May."], padding=True, return_tensors="pt")
    gates = torch.ones(12, 12)
    gates[3, 7], gates[5], gates[6, :4] = 0, 0, 0
    with torch.no_grad(), hc.gated(whole.double(), gates):
        expected = whole(**batch).logits
    assert_same(pruned.double()(**batch).logits, expected)


def test_the_number_type_on_disk_is_kept(place: Path) -> None:
    """The bundled model is stored in half precision: without heads it must not be twice as large."""
    assert main(["prune", "bundled:qnli", "--heads", "L5", "--out", "small", "--device", "cpu"]) == 0
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (Path(hc.bundled("qnli")), place / "small")]
    assert sizes[1] < sizes[0]
    assert load_model(place / "small").dtype == torch.float16


def test_a_number_type_that_was_asked_for(place: Path, models: Path) -> None:
    words = ["prune", str(models / "bert"), "--heads", "L1", "--out", "small", "--dtype", "bfloat16"]
    assert main(words) == 0
    assert load_model(place / "small").dtype == torch.bfloat16


def test_twice_and_over_itself(place: Path, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Heads keep their numbers, and the folder is never the model's own."""
    assert main(["prune", str(models / "bert"), "--heads", "L0H0", "--out", "small"]) == 0
    before = files(place)
    assert main(["prune", "small", "--heads", "L1H1", "--out", "small", "--overwrite"]) == 2
    assert "--out small is, contains or lies in the model small" in capsys.readouterr().err
    assert files(place) == before
    assert main(["prune", "small", "--heads", "L1H1", "--out", "again"]) == 0
    assert "2 of 3 heads are left" in capsys.readouterr().out
    assert read_anatomy(load_model(place / "again")).layout.stacks == {"encoder": ((1,), (0,))}
    before = files(place)
    assert main(["prune", "small", "--heads", "L0H0", "--out", "smaller"]) == 2
    assert "L0H0" in capsys.readouterr().err
    assert files(place) == before


def test_the_next_command_is_one_line(place: Path, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = place / ("long" * 15 + "[draft]")
    assert main(["prune", str(models / "bert"), "--heads", "L1", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert f"Saved in {out} (how to load it: {out / 'README.md'}).\n" in shown
    assert shown.endswith(f"Next: headcount cost {models / 'bert'} {out}\n")


def test_overwriting(place: Path, models: Path) -> None:
    (place / "small").mkdir()
    (place / "small" / "notes.txt").write_text("mine")
    command = ["prune", str(models / "bert"), "--heads", "L1", "--out"]
    assert main([*command, "small", "--overwrite"]) == 2
    assert [one.name for one in (place / "small").iterdir()] == ["notes.txt"]
    (place / "small" / "notes.txt").unlink()
    assert main([*command, "small"]) == 0
    (place / "small" / "notes.txt").write_text("mine")
    assert main([*command, "small", "--overwrite"]) == 0
    assert (place / "small" / "notes.txt").read_text() == "mine"
    assert json.loads((place / "small" / "config.json").read_text())["headcount"]


@pytest.mark.parametrize(
    ("model", "more", "expected"),
    [
        ("bert", ["--heads", "L7H0"], "L0 to L1"),
        ("bert", ["--heads", "L0H9"], "L0H9"),
        ("bert", ["--heads", "L3H"], "expected L3H7"),
        ("bert", ["--heads", "cross.L0"], "no stack 'cross'"),
        ("bert", ["--heads", "L0,L1"], "got all 4 heads of the model; expected at least one that stays"),
        ("albert", ["--heads", "L0H1"], "albert uses the weights of one layer for all"),
        ("bert", ["--heads", "L1", "--out", "full"], "the folder full is not empty"),
        ("bert", ["--heads", "L1", "--out", "full/notes.txt"], "is a file"),
        ("bert", ["--heads", "L1", "--out", "full/notes.txt/small"], "cannot write full/notes.txt/small"),
        ("bert", ["--heads", "L1", "--device", "abacus"], "not here"),
        ("bert", ["--heads", "L1", "--dtype", "int8"], "int8"),
        ("none", ["--heads", "L1"], "expected a folder"),
        ("bert", [], "--heads"),
        ("bert", ["--heads", "L1", "--drop", "1"], "--heads"),
    ],
)
def test_bad_input(
    place: Path, models: Path, model: str, more: list[str], expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (place / "full").mkdir()
    (place / "full" / "notes.txt").write_text("mine")
    out = [] if "--out" in more else ["--out", "small"]
    assert main(["prune", str(models / model), *more, *out]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("headcount: ")
    assert expected in captured.err
    assert files(place) == {"full/notes.txt": b"mine"}
    assert [one.name for one in place.iterdir()] == ["full"]


def test_no_heads(place: Path, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prune", str(models / "bert"), "--heads", "", "--out", "small"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list(place.iterdir()) == []


def test_no_folder_to_write_to(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prune", str(models / "bert"), "--heads", "L1"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--out" in error


@pytest.mark.parametrize("verb", ["prune", "cost", "export"])
def test_the_help(verb: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(len(line) <= 80 for line in shown.splitlines())
    words = example(verb)
    assert words[0] == verb
    assert " ".join(words[1:4]) in " ".join(shown.split())
    command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    assert command is app[verb].default_command
    assert bound.arguments["model"]


def test_heads_as_the_help_writes_them(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prune", "--help"]) == 0
    assert "'L3H7,L5,L6H0-3'" in capsys.readouterr().out
    layout = read_anatomy(load_model(hc.bundled("qnli"))).layout
    assert len(hc.HeadSet.of("L3H7,L5,L6H0-3", layout)) == 17
