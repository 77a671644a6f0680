"""The shelf: things by name, each made once, when it is first asked for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

Maker = Callable[["Shelf", Path], Path | None]
MAKERS: dict[str, Maker] = {}


def item(name: str) -> Callable[[Maker], Maker]:
    """Enter a function that fills a new folder: what it gives is the thing's path, or else the folder is."""

    def enter(maker: Maker) -> Maker:
        assert name not in MAKERS, f"two things are called {name}"
        MAKERS[name] = maker
        return maker

    return enter


def damaged(name: str, of: str, change: Callable[[Path], object]) -> None:
    """Enter a copy of another thing with something wrong in it."""

    def make(shelf: Shelf, folder: Path) -> Path:
        source, target = Path(shelf[of]), folder / Path(shelf[of]).name
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
        change(target)
        return target

    item(name)(make)


class Shelf(dict[str, str]):
    """Paths by name; a name that is not known is a mistake in a row."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root

    def __missing__(self, name: str) -> str:
        folder = self.root / name
        folder.mkdir(parents=True)
        made = MAKERS[name](self, folder)
        self[name] = str(folder if made is None else made)
        return self[name]

    def state(self, names: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Size and time of change of every file of these things, which a refused command must leave as they were."""
        found = {}
        for folder, _, files in (step for name in names for step in os.walk(self.root / name)):
            for name in files:
                told = os.lstat(os.path.join(folder, name))
                found[os.path.join(folder, name)] = (told.st_size, told.st_mtime_ns)
        return found
