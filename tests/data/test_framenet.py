"""FrameNet through nltk: a folder that nltk really reads, nltk's own names, and what is missing."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from headcount.data.framenet import read_framenet
from headcount.errors import DataProblem, MissingPackage
from tests.data.framenet_files import write_framenet

nltk = pytest.importorskip("nltk")


def read(data: str | Path) -> list[dict[str, Any]]:
    return list(read_framenet(str(data)))


def test_what_nltk_reads(tmp_path: Path) -> None:
    first, second = read(write_framenet(tmp_path / "framenet_v17"))
    assert first["text"] == "She never once saw the quiet owl ."
    assert [first["text"][slice(*span)] for span in first["target"]] == ["saw"]
    words = {element["name"]: first["text"][element["start"] : element["end"]] for element in first["fes"]}
    assert words == {"Seer": "She", "Seen": "the quiet owl"}
    assert {element["core"] for element in first["fes"]} == {"Core"}
    assert [element["name"] for element in second["fes"]] == ["Seer"], "the other is not realised"
    assert "see.v" in second["name"]


def test_by_nltks_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_framenet(tmp_path / "corpora" / "framenet_v17")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    assert len(read("nltk:framenet_v17")) == 2
    with pytest.raises(DataProblem, match="nltk has no corpus 'framenet_v15'; download it"):
        read("nltk:framenet_v15")


def test_a_part_of_a_release(tmp_path: Path) -> None:
    folder = write_framenet(tmp_path / "fn")
    shutil.copytree(folder, tmp_path / "other")
    (folder / "luIndex.xml").unlink()
    with pytest.raises(DataProblem, match="has no luIndex.xml; expected a whole release"):
        read(folder)
    (tmp_path / "other" / "lu" / "lu7.xml").write_text("<lexUnit")
    with pytest.raises(DataProblem, match="nltk cannot read .* as FrameNet"):
        read(tmp_path / "other")


def test_without_nltk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(MissingPackage, match=r"needs nltk: pip install 'headcount\[probe\]'"):
        read(tmp_path)
