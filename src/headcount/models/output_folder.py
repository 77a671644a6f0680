"""Output folders: absent or complete at any moment, and no file that Headcount did not write is ever removed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headcount.errors import CannotWrite, OutputTaken, cannot_write

FILE_LIST = "headcount-files.json"
"""A file in every folder that Headcount wrote: the names of what it wrote. All else in the folder is the user's."""


def check_output_folder(folder: str | Path, overwrite: bool = False) -> Path:
    """The folder, or an error where it may not be written: checked before any work is done."""
    path = Path(folder).absolute() if Path(folder).name in ("", "..") else Path(folder)
    if path.exists() and not path.is_dir():
        raise OutputTaken(f"{path} is a file; expected a folder that is new or empty")
    _restore(path)
    if not path.is_dir() or not any(path.iterdir()):
        return path
    if not overwrite:
        raise OutputTaken(f"the folder {path} is not empty; give another one, or overwrite it (overwrite=True)")
    if not (path / FILE_LIST).is_file():
        names = ", ".join(sorted(entry.name for entry in path.iterdir())[:3])
        raise OutputTaken(
            f"headcount did not write what is in {path} ({names}, ...) and replaces only what it wrote; "
            "give another folder"
        )
    return path


def check_apart(out: str | Path, others: Mapping[str, str | Path | None]) -> None:
    """An error where the output is, contains or lies in one of the other paths, which are given by their options."""
    path = Path(out).resolve()
    for label, other in others.items():
        # A name that is not a path is one on the hub; a study may not exist yet.
        if other is None or (isinstance(other, str) and not Path(other).exists()):
            continue
        resolved = Path(other).resolve()
        if path == resolved or path in resolved.parents or resolved in path.parents:
            raise OutputTaken(f"out={out} is, contains or lies in {label} {other}; give a folder of its own")


@contextmanager
def whole_folder(folder: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder that becomes `folder` when the context ends: killed at any moment, it is absent or complete.

    An earlier folder stays until the new one is complete; the files in it that Headcount did not write are kept.
    """
    path = check_output_folder(folder, overwrite)
    new = path.with_name(f".{path.name}-new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()  # fails before anything is computed
        yield new
        names = sorted(entry.name for entry in new.iterdir())
        _carry_over(path, new, names)
        (new / FILE_LIST).write_text(json.dumps({"files": names}, indent=1) + "\n", encoding="utf-8")
        _put(new, path)
    except OSError as error:
        raise CannotWrite(cannot_write(path, error)) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _carry_over(path: Path, new: Path, names: list[str]) -> None:
    """Link the user's own files into the new folder; both folders have them until the old one is removed."""
    if not (path / FILE_LIST).is_file():
        return
    try:
        ours = {FILE_LIST, *json.loads((path / FILE_LIST).read_text(encoding="utf-8"))["files"]}
    except (ValueError, KeyError, TypeError):
        ours = {FILE_LIST}
    for entry in path.iterdir():
        if entry.name in ours:
            continue
        if entry.name in names:
            raise OutputTaken(f"{entry} is not headcount's and would be replaced; move it, or give another folder")
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, new / entry.name, symlinks=True, copy_function=_link)
        else:
            _link(str(entry), str(new / entry.name))


def _link(source: str, target: str) -> str:
    """A hard link, or a copy where the file system has no links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
    return target


def _old(path: Path) -> Path:
    return path.with_name(f".{path.name}-old")


def _restore(path: Path) -> None:
    """Move the old folder back where a kill came between the two moves of `_put`."""
    if not path.exists() and _old(path).is_dir():
        _old(path).replace(path)


def _put(new: Path, path: Path) -> None:
    """Move the new folder to its path, in place of an earlier one; leftovers of a killed move are removed."""
    old = _old(path)
    shutil.rmtree(old, ignore_errors=True)
    if not path.exists():
        new.replace(path)
        return
    path.replace(old)
    try:
        new.replace(path)
    except BaseException:
        old.replace(path)
        raise
    shutil.rmtree(old, ignore_errors=True)
