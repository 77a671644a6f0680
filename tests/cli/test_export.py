"""The verb `export`: an ONNX file that runs, whole shapes that load, bad input is one line and writes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.cli.main import main
from headcount.costs import onnx as onnx_file
from tests import planted
from tests.closeness import FLOAT32, assert_same
from tests.contracts.zoo import tiny

TEXTS = ["it is so good", "bad", "the up a down is so bad"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT without two heads, an ALBERT, and the bundled model without some heads, with tokenizers."""
    path = tmp_path_factory.mktemp("models")
    tokenizer = planted.tokenizer(path / "words")
    model = planted.classifier()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.4, generator=torch.Generator().manual_seed(1))
    hc.save(hc.prune(model, ["L0H1", "L1"]), tokenizer, path / "small")
    tiny("albert", head="AutoModelForSequenceClassification").save_pretrained(path / "albert")
    tokenizer.save_pretrained(path / "albert")
    bundled, words = hc.load(hc.bundled("qnli"))
    hc.save(hc.prune(bundled, ["L3H7", "L5"]), words, path / "qnli")
    return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def logits(model: Any, tokenizer: Any, *texts: list[str]) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(**tokenizer(*texts, padding=True, return_tensors="pt")).logits
    return found


def run_onnx(folder: Path, *texts: list[str]) -> torch.Tensor:
    """The file and the tokenizer beside it: all that another tool has."""
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    batch = tf.AutoTokenizer.from_pretrained(folder)(*texts, padding=True, return_tensors="np")
    found = session.run(["logits"], {one.name: batch[one.name].astype("int64") for one in session.get_inputs()})
    return torch.from_numpy(found[0])


def test_onnx(models: Path, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["export", str(models / "small"), "--to", "onnx", "--out", "out", "--overwrite"]
    (place / "out").mkdir()
    (place / "out" / "model.onnx").write_text("mine")
    assert main(command) == 2
    assert "headcount did not write what is in out (model.onnx" in capfd.readouterr().err
    assert (place / "out" / "model.onnx").read_text() == "mine"
    (place / "out" / "model.onnx").unlink()
    assert main(command) == 0
    captured = capfd.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].startswith("Checked: onnxruntime and the model differ by at most ")
    assert lines[1:] == ["Saved in out/model.onnx, the tokenizer beside it."]
    expected = logits(*hc.load(models / "small"), TEXTS)
    assert_same(run_onnx(place / "out", TEXTS), expected, FLOAT32)
    assert not [one.name for one in (place / "out").iterdir() if one.name.startswith(".")]


@pytest.mark.slow
def test_the_bundled_model_as_onnx(models: Path, place: Path) -> None:
    assert main(["export", str(models / "qnli"), "--to", "onnx", "--out", "out"]) == 0
    model, tokenizer = hc.load(models / "qnli")
    texts = (["Who was it?", "When?"], ["It was her.", "It was in May, or in June."])
    expected = logits(model.float(), tokenizer, *texts)
    assert_same(run_onnx(place / "out", *texts), expected, FLOAT32)


def test_zeroed(models: Path, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(models / "qnli"), "--to", "zeroed", "--out", "whole"]) == 0
    captured = capfd.readouterr()
    assert captured.err == ""
    assert captured.out == "Saved in whole; from_pretrained loads it without Headcount.\n"
    loaded = tf.AutoModelForSequenceClassification.from_pretrained(place / "whole")
    tokenizer = tf.AutoTokenizer.from_pretrained(place / "whole")
    first, _ = hc.load(hc.bundled("qnli"))
    assert loaded.num_parameters() == first.num_parameters()
    assert loaded.config.id2label == first.config.id2label
    pruned, _ = hc.load(models / "qnli")
    texts = (["Who was it?", "When?"], ["It was her.", "It was in May, or in June."])
    expected = logits(pruned.double(), tokenizer, *texts)
    assert_same(logits(loaded.double(), tokenizer, *texts), expected)
    assert not list((place / "whole").glob("*.py"))
    assert "headcount" not in json.loads((place / "whole" / "config.json").read_text())


def test_the_number_type_on_disk_is_kept(models: Path, place: Path) -> None:
    assert main(["export", str(models / "qnli"), "--to", "zeroed", "--out", "whole"]) == 0
    assert json.loads((place / "whole" / "config.json").read_text())["dtype"] == "float16"


def test_a_family_that_cannot_be_cut_can_be_exported(models: Path, place: Path) -> None:
    assert main(["export", str(models / "albert"), "--to", "zeroed", "--out", "same"]) == 0
    expected = logits(*hc.load(models / "albert"), TEXTS)
    assert_same(logits(*hc.load(place / "same"), TEXTS), expected, FLOAT32)


def test_long_paths_are_one_line(models: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = place / ("long" * 15 + "[draft]")
    assert main(["export", str(models / "small"), "--to", "zeroed", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"Saved in {out}; from_pretrained loads it without Headcount.\n"


def refused(words: list[str], expected: str, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "full").mkdir(exist_ok=True)
    (place / "full" / "notes.txt").write_text("mine")
    assert main(["export", *words]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("headcount: ")
    assert expected in captured.err
    assert [str(one.relative_to(place)) for one in sorted(place.rglob("*"))] == ["full", "full/notes.txt"]
    assert (place / "full" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["small", "--to", "onnx", "--out", "full"], "the folder full is not empty"),
        (["small", "--to", "zeroed", "--out", "full"], "the folder full is not empty"),
        (["small", "--to", "onnx", "--out", "full/notes.txt"], "is a file"),
        (["small", "--to", "zeroed", "--out", "full/notes.txt/out"], "cannot write full/notes.txt/out"),
        (["small", "--to", "tflite", "--out", "out"], "tflite"),
        (["small", "--out", "out"], "--to"),
        (["small", "--to", "zeroed"], "--out"),
        (["none", "--to", "zeroed", "--out", "out"], "expected a folder"),
    ],
)
def test_bad_input(
    models: Path, place: Path, words: list[str], expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    refused([str(models / words[0]), *words[1:]], expected, place, capfd)


def test_a_folder_that_cannot_be(models: Path, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = [str(models / "small"), "--to", "onnx", "--out", "full/notes.txt/out"]
    refused(words, "cannot write", place, capfd)


def test_onnx_is_not_installed(
    models: Path, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(onnx_file, "find_spec", lambda name: None if name == "onnxruntime" else object())
    words = [str(models / "small"), "--to", "onnx", "--out", "out"]
    refused(words, "onnxruntime not installed; install headcount[onnx]", place, capfd)


def test_a_model_that_cannot_be_traced(
    models: Path, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise torch.onnx.OnnxExporterError("cannot trace this\nand a long story")

    monkeypatch.setattr(torch.onnx, "export", fails)
    refused([str(models / "small"), "--to", "onnx", "--out", "out"], "cannot trace this", place, capfd)
