"""The verb `report`: one page from studies; whatever cannot be read or written is one line, and nothing is written."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import zarr

import headcount as hc
from headcount.cli.main import main
from headcount.core.manifest import MARK
from tests import planted

GROUP = "sweep/head-zero"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def study(place: Path) -> Path:
    tokenizer = planted.tokenizer(place / "words")
    hc.sweep(planted.classifier(), tokenizer, planted.texts(40), task="sst2", how="zero", out=place / "study")
    return place / "study"


@pytest.fixture
def here(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a copy of the study in it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(study, tmp_path / "study")
    return tmp_path


def test_a_page(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "study", "-o", "page.html"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("page.html (0.")
    assert "needs no network" in captured.out
    text = (here / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "Change of accuracy without the head" in text
    assert "headcount sweep" in text


def test_the_name_of_the_page_may_be_left_out(here: Path) -> None:
    assert main(["report", "study"]) == 0
    assert (here / "report.html").is_file()


def test_several_studies_and_the_long_option(here: Path) -> None:
    shutil.copytree("study", "second")
    assert main(["report", "study", "second", "--output", "both.html"]) == 0
    text = (here / "both.html").read_text(encoding="utf-8")
    assert '"name":"study"' in text
    assert '"name":"second"' in text


def test_the_study_is_only_read(here: Path) -> None:
    before = {one: one.read_bytes() for one in (here / "study").rglob("*") if one.is_file()}
    assert main(["report", "study"]) == 0
    assert {one: one.read_bytes() for one in (here / "study").rglob("*") if one.is_file()} == before


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def newer(study: Path) -> None:
    told = json.loads((study / "zarr.json").read_text())
    told["attributes"][MARK] = 99
    (study / "zarr.json").write_text(json.dumps(told))


def other_zarr(study: Path) -> None:
    shutil.rmtree(study)
    zarr.open_group(study, mode="w", zarr_format=3)


def a_file(study: Path) -> None:
    shutil.rmtree(study)
    study.write_text("mine")


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        pytest.param(lambda study: cut(study / "zarr.json"), "study is damaged", id="root cut"),
        pytest.param(lambda study: cut(study / GROUP / "zarr.json"), "head-zero is damaged", id="group cut"),
        pytest.param(lambda study: cut(study / GROUP / "delta" / "zarr.json"), "head-zero is damaged", id="array cut"),
        pytest.param(
            lambda study: (study / GROUP / "zarr.json").write_text("[]"), "head-zero is damaged", id="wrong JSON"
        ),
        pytest.param(
            lambda study: (study / GROUP / "zarr.json").write_bytes(b"\xff"), "head-zero is damaged", id="bytes"
        ),
        pytest.param(lambda study: (study / "zarr.json").unlink(), "is damaged (zarr.json is missing)", id="no root"),
        pytest.param(newer, "a study of version 99; this headcount reads up to 2: update headcount", id="newer"),
        pytest.param(other_zarr, "is a zarr folder, but not a study", id="another zarr"),
        pytest.param(a_file, "there is no study folder study", id="a file"),
        pytest.param(shutil.rmtree, "there is no study folder study", id="missing"),
        pytest.param(lambda study: cut(study / GROUP / "delta" / "c" / "0" / "0" / "0"), "damaged", id="chunk cut"),
        pytest.param(lambda study: shutil.rmtree(study / GROUP / "q"), "damaged", id="no array"),
    ],
)
def test_studies_that_cannot_be_read(
    here: Path, damage: Callable[[Path], object], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "report.html").write_text("the page of yesterday")
    damage(here / "study")
    before = sorted(here.iterdir())
    assert main(["report", "study", "-o", "report.html"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("headcount: ")
    assert expected in captured.err
    assert (here / "report.html").read_text() == "the page of yesterday"
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["study", "-o", "folder"], "folder is a folder; expected the name of a file"),
        (["study", "-o", "none/page.html"], "there is no folder none to write page.html into; create it first"),
        (["study", "-o", "study/zarr.json/page.html"], "there is no folder"),
        (["study", "-o", "n" * 300 + ".html"], "name too long"),
        ([], "got no study"),
        (["-o", "page.html"], "got no study"),
        (["study", "none", "-o", "page.html"], "there is no study folder none"),
        (["study", "-o"], "requires"),
        (["study", "--colour", "red"], "--colour"),
    ],
)
def test_bad_input(here: Path, words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "folder").mkdir()
    before = sorted(here.rglob("*"))
    assert main(["report", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("headcount: ")
    assert expected in captured.err
    assert sorted(here.rglob("*")) == before


def test_a_folder_that_may_not_be_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "locked").mkdir()
    (here / "locked").chmod(0o555)
    if os.access(here / "locked", os.W_OK):
        pytest.skip("this user may write everywhere")
    assert main(["report", "study", "-o", "locked/page.html"]) == 2
    assert capsys.readouterr().err == "headcount: cannot write into locked; choose a folder that you may write to\n"


def test_a_folder_that_may_not_be_written_for_anyone(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it looks to a user without the right, also where the tests run as one who may do everything."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert main(["report", "study"]) == 2
    assert "cannot write into ." in capsys.readouterr().err
    assert not (here / "report.html").exists()


def test_the_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "headcount report demo-out -o report.html" in " ".join(shown.split())
