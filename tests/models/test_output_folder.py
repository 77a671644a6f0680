"""Nothing that Headcount did not write is ever removed, and a folder is absent or whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.errors import CannotWrite, OutputTaken
from headcount.models.output_folder import FILE_LIST, check_apart, check_output_folder, whole_folder


def write(place: Path, overwrite: bool = False, **files: str) -> None:
    with whole_folder(place, overwrite) as new:
        for name, text in files.items():
            (new / name).write_text(text)


def read(place: Path) -> dict[str, str]:
    return {
        one.relative_to(place).as_posix(): one.read_text()
        for one in place.rglob("*")
        if one.is_file() and one.name != FILE_LIST
    }


def test_only_what_was_written_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "place"
    write(place, one="1", two="2")
    (place / "mine").write_text("mine")
    (place / "notes").mkdir()
    (place / "notes" / "deep").write_text("mine too")
    (place / "link").symlink_to("mine")
    write(place, overwrite=True, two="new", three="3")
    assert read(place) == {"two": "new", "three": "3", "mine": "mine", "notes/deep": "mine too", "link": "mine"}
    assert (place / "link").is_symlink()
    assert [one.name for one in tmp_path.iterdir()] == ["place"]
    write(place, overwrite=True, four="4")
    assert set(read(place)) == {"four", "mine", "notes/deep", "link"}, "a second time, too"


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    for overwrite, words in ((False, "is not empty"), (True, "headcount did not write what is in .*mine")):
        with pytest.raises(OutputTaken, match=words):
            write(tmp_path, overwrite, one="1")
    assert read(tmp_path) == {"mine": "mine"}


def test_a_file_of_somebody_else_is_never_written_over(tmp_path: Path) -> None:
    place = tmp_path / "place"
    write(place, one="1")
    (place / "two").write_text("mine")
    with pytest.raises(OutputTaken, match="two is not headcount's and would be replaced"):
        write(place, overwrite=True, two="2")
    assert read(place) == {"one": "1", "two": "mine"}
    assert [one.name for one in tmp_path.iterdir()] == ["place"]


def test_what_a_kill_left_beside_its_place_goes_back(tmp_path: Path) -> None:
    """Killed between the two moves of an exchange: the folder with its foreign files is under another name."""
    place = tmp_path / "place"
    write(place, one="1")
    (place / "mine").write_text("mine")
    place.rename(tmp_path / ".place-old")
    with pytest.raises(OutputTaken, match="not empty"):
        check_output_folder(place)
    write(place, overwrite=True, one="2")
    assert read(place) == {"one": "2", "mine": "mine"}


def test_a_fault_leaves_all_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "place"
    write(place, one="1")
    with pytest.raises(CannotWrite, match="cannot write .*No space left"), whole_folder(place, True):
        raise OSError(28, "No space left on device")
    assert read(place) == {"one": "1"}
    assert [one.name for one in tmp_path.iterdir()] == ["place"]


@pytest.mark.parametrize("out", ["model", "model/small", "model/..", "data.csv"])
def test_an_output_apart_from_all_inputs(tmp_path: Path, out: str) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "data.csv").write_text("text")
    inputs = {"the model": tmp_path / "model", "the data": str(tmp_path / "data.csv"), "the study": None}
    with pytest.raises(OutputTaken, match="is, contains or lies in the (model|data)"):
        check_apart(tmp_path / out, inputs)
    check_apart(tmp_path / "small", inputs | {"the model": "bert-base-uncased"})
