"""A folder that is absent or whole, and that never takes away a file which Headcount did not write."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headcount.errors import InvalidOption, cannot_write

WRITTEN = "headcount-files.json"
"""In every folder that Headcount wrote: the names of what it put there. All else belongs to somebody else."""


def check_place(folder: str | Path, overwrite: bool = False) -> Path:
    """The folder, if something may be written there: asked before the work is done."""
    place = Path(folder).absolute() if Path(folder).name in ("", "..") else Path(folder)
    if place.exists() and not place.is_dir():
        raise InvalidOption(f"{place} is a file; expected a folder that is new or empty")
    _restore(place)
    if not place.is_dir() or not any(place.iterdir()):
        return place
    if not overwrite:
        raise InvalidOption(f"the folder {place} is not empty; give another one, or overwrite it (--overwrite)")
    if not (place / WRITTEN).is_file():
        names = ", ".join(sorted(one.name for one in place.iterdir())[:3])
        raise InvalidOption(
            f"headcount did not write what is in {place} ({names}, ...) and replaces only what it wrote; "
            "give another folder"
        )
    return place


def check_apart(out: str | Path, others: Mapping[str, str | Path | None]) -> None:
    """An error where the output is, contains or lies in something else that is read or written: by name, its path."""
    place = Path(out).resolve()
    for what, other in others.items():
        # A name that is no path is one on the hub; a study may not be there yet.
        if other is None or (isinstance(other, str) and not Path(other).exists()):
            continue
        there = Path(other).resolve()
        if place == there or place in there.parents or there in place.parents:
            raise InvalidOption(f"--out {out} is, contains or lies in {what} {other}; give a folder of its own")


@contextmanager
def whole_folder(folder: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A folder to write into that takes its place when all is written: killed at any moment, it is absent or whole.

    Over an earlier one, that one stays until the new one is complete, and the files in it that Headcount did not write
    go over to the new one.
    """
    place = check_place(folder, overwrite)
    new = place.with_name(f".{place.name}-new")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()  # where that cannot be, nothing needs to be computed
        yield new
        names = sorted(one.name for one in new.iterdir())
        _carry_over(place, new, names)
        (new / WRITTEN).write_text(json.dumps({"files": names}, indent=1) + "\n", encoding="utf-8")
        _put(new, place)
    except OSError as error:
        raise InvalidOption(cannot_write(place, error)) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _carry_over(place: Path, new: Path, names: list[str]) -> None:
    """Files of somebody else in the folder that is replaced; both folders have them until the old one is gone."""
    if not (place / WRITTEN).is_file():
        return
    try:
        ours = {WRITTEN, *json.loads((place / WRITTEN).read_text(encoding="utf-8"))["files"]}
    except (ValueError, KeyError, TypeError):
        ours = {WRITTEN}
    for one in place.iterdir():
        if one.name in ours:
            continue
        if one.name in names:
            raise InvalidOption(f"{one} is not headcount's and would be replaced; move it, or give another folder")
        if one.is_dir() and not one.is_symlink():
            shutil.copytree(one, new / one.name, symlinks=True, copy_function=_link)
        else:
            _link(str(one), str(new / one.name))


def _link(source: str, target: str) -> str:
    """The same file under a second name, or a copy where the disk has no such thing."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
    return target


def _old(place: Path) -> Path:
    return place.with_name(f".{place.name}-old")


def _restore(place: Path) -> None:
    """What a kill in the moment of exchange has left beside its place goes back there."""
    if not place.exists() and _old(place).is_dir():
        _old(place).replace(place)


def _put(new: Path, place: Path) -> None:
    """Move a whole folder to its place, over one that is there; what an earlier kill left is cleared away."""
    old = _old(place)
    shutil.rmtree(old, ignore_errors=True)
    if not place.exists():
        new.replace(place)
        return
    place.replace(old)
    try:
        new.replace(place)
    except BaseException:
        old.replace(place)
        raise
    shutil.rmtree(old, ignore_errors=True)
