"""Studies, whole, damaged and none at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import zarr

from headcount.cli.main import main
from tests.hard.shelf.base import Shelf, damaged, item


def command(words: str, shelf: Shelf, out: Path) -> None:
    """Run a command that must succeed; `OUT` is the study."""
    with redirect_stdout(StringIO()):
        assert main([word.format_map(shelf).replace("OUT", str(out)) for word in words.split()]) == 0, words


@item("study")
def _study(shelf: Shelf, folder: Path) -> None:
    """Two sweeps by head, one by layer, two measures, patterns, importance and the maps of a text."""
    for words in (
        "sweep {classifier} --task sst2 --data {texts} --how uniform --out OUT",
        "sweep {classifier} --task sst2 --data {texts} --out OUT",
        "sweep {classifier} --task sst2 --data {texts} --by layer --out OUT",
        "measure {classifier} --data {texts} --only entropy,position --out OUT",
        "find-patterns {classifier} --data {texts} --out OUT",
        "importance {classifier} --task sst2 --data {texts} --out OUT",
        "maps {classifier} --text w1 --out OUT --name one",
    ):
        command(words, shelf, folder)


@item("maps-only")
def _maps_only(shelf: Shelf, folder: Path) -> None:
    command("maps {classifier} --text w1 --out OUT", shelf, folder)


@item("one-sweep")
def _one_sweep(shelf: Shelf, folder: Path) -> None:
    command("sweep {classifier} --task sst2 --data {texts} --out OUT", shelf, folder)


@item("no-results")
def _no_results(shelf: Shelf, folder: Path) -> None:
    """A study to which nothing has been added yet."""
    from headcount.core.store import Study

    Study(folder)


@item("other-zarr")
def _other_zarr(shelf: Shelf, folder: Path) -> None:
    """A zarr folder of somebody else."""
    zarr.open_group(folder, mode="w", zarr_format=3).create_array("mine", shape=(3,), dtype="float32")


@item("shard-of-two")
def _shard(shelf: Shelf, folder: Path) -> None:
    """A sweep of which the second half is still to be done."""
    command("sweep {classifier} --task sst2 --data {texts} --shard 1/2 --batch-tokens 40 --out OUT", shelf, folder)


def attributes(where: str, change: Callable[[dict[str, object]], object]) -> Callable[[Path], None]:
    def rewrite(folder: Path) -> None:
        place = folder / where / "zarr.json"
        entries = json.loads(place.read_text())
        change(entries["attributes"])
        place.write_text(json.dumps(entries))

    return rewrite


def _cut(where: str) -> Callable[[Path], None]:
    return lambda folder: (folder / where).write_bytes((folder / where).read_bytes()[:9])


damaged("newer-study", "no-results", attributes("", lambda told: told.update(headcount_study=99)))
damaged("odd-version", "no-results", attributes("", lambda told: told.update(headcount_study="one")))
damaged("study-not-json", "no-results", _cut("zarr.json"))
damaged("study-no-mark", "study", lambda folder: (folder / "zarr.json").unlink())
damaged("result-not-json", "study", _cut("sweep/head-zero/zarr.json"))
damaged("array-not-json", "study", _cut("sweep/head-zero/score/zarr.json"))
damaged("chunk-cut", "study", _cut("sweep/head-zero/score/c/0/0/0"))
damaged("chunk-gone", "study", lambda folder: (folder / "sweep/head-zero/score/c/0/0/0").unlink())
damaged("array-gone", "study", lambda folder: shutil.rmtree(folder / "sweep/head-zero/delta"))


@item("a-file")
def _a_file(shelf: Shelf, folder: Path) -> Path:
    (folder / "notes.txt").write_text("mine")
    return folder / "notes.txt"


@item("notes")
def _notes(shelf: Shelf, folder: Path) -> None:
    """A folder with files of somebody else."""
    (folder / "notes.txt").write_text("mine")


@item("json-folder")
def _json_folder(shelf: Shelf, folder: Path) -> None:
    """Like a study from afar: a zarr.json that holds something else."""
    (folder / "zarr.json").write_text('{"mine": 1}')


@item("folder-svg")
def _folder_svg(shelf: Shelf, folder: Path) -> Path:
    """A folder that is called like a figure."""
    (folder / "heads.svg").mkdir()
    return folder / "heads.svg"
