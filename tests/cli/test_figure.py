"""The verb `figure`: one figure of a study as svg, pdf or png; bad input is one line, and nothing is written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import headcount as hc
from headcount.cli.main import main
from tests import planted
from tests.reporting import studies


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a sweep, one of layers alone, an empty one, and a damaged one."""
    path = tmp_path_factory.mktemp("studies")
    tokenizer, texts = planted.tokenizer(path / "words"), planted.texts(40)
    for by, name in (("head", "study"), ("layer", "layers"), ("head", "damaged")):
        hc.sweep(planted.classifier(), tokenizer, texts, task="sst2", how="zero", by=by, out=path / name)
    (path / "damaged" / "sweep" / "head-zero" / "zarr.json").write_text("{")
    studies.empty_study(path / "empty")
    (path / "folder.svg").mkdir()
    return path


@pytest.fixture(autouse=True)
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


@pytest.mark.parametrize(("name", "first"), [("a.svg", b"<?xml"), ("a.pdf", b"%PDF"), ("a.png", b"\x89PNG")])
def test_the_figure_of_a_sweep(place: Path, name: str, first: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figure", "study", "-o", name]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out == f"Drawn: {name}\n"
    assert (place / name).read_bytes().startswith(first)
    (place / name).unlink()


def test_the_figure_that_is_asked_for(place: Path) -> None:
    assert main(["figure", "layers", "--what", "layers", "--output", "b.svg"]) == 0
    assert ">layer left out</text>" in (place / "b.svg").read_text(encoding="utf-8")
    (place / "b.svg").unlink()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["study", "--what", "nonsense", "-o", "x.svg"],
            "got the figure 'nonsense'; this study has ablation, histogram",
        ),
        (["layers", "-o", "x.svg"], "got the figure 'ablation'; this study has layers"),
        (["study", "-o", "x.jpg"], "got 'x.jpg'; expected a name that ends in .svg, .pdf, .png"),
        (["study", "-o", "x"], "expected a name that ends in"),
        (["study", "-o", "folder.svg"], "folder.svg is a folder"),
        (["study", "-o", "none/x.svg"], "there is no folder none"),
        (["empty", "-o", "x.svg"], "nothing to draw yet"),
        (["damaged", "-o", "x.svg"], "is damaged"),
        (["none", "-o", "x.svg"], "there is no study folder none"),
        (["folder.svg", "-o", "x.svg"], "is not a study"),
        ([], "requires"),
        (["study", "study", "-o", "x.svg"], "study"),
    ],
)
def test_bad_input(place: Path, words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(place.iterdir())
    assert main(["figure", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("headcount: ")
    assert expected in captured.err
    assert sorted(place.iterdir()) == before


def test_without_matplotlib(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["figure", "study", "-o", "x.svg"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "headcount: figures need matplotlib: pip install 'headcount[plot]'\n"
    assert not (place / "x.svg").exists()
