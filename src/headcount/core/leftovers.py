"""Folders in which parts of a study are put together, and what a kill leaves of them."""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headcount.core.lock import is_alive


@contextmanager
def scratch(study: Path) -> Iterator[Path]:
    """An empty folder on the study's disk: beside it, not in it, because what a kill leaves is no part of the tree."""
    place = study.resolve()
    host = re.sub(r"[^\w.]", "_", socket.gethostname())
    folder = Path(tempfile.mkdtemp(prefix=f".{place.name}-new-{host}-{os.getpid()}-", dir=place.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clear_leftovers(study: str | Path, alone: bool) -> None:
    """Remove what killed writers of this study left beside it; not `alone`: only of dead processes of this machine."""
    place = Path(study).resolve()
    if not place.parent.is_dir():
        return
    host = re.sub(r"[^\w.]", "_", socket.gethostname())
    for folder in place.parent.glob(f".{_plain(place.name)}-new-*"):
        match = re.fullmatch(rf"\.{re.escape(place.name)}-new-(?:([\w.]+)-(\d+)-)?[a-z0-9_]{{8}}", folder.name)
        if match is None:
            continue
        dead = match[1] == host and not is_alive(socket.gethostname(), int(match[2]))
        if (alone or dead) and not (match[2] and int(match[2]) == os.getpid() and match[1] == host):
            shutil.rmtree(folder, ignore_errors=True)


def clear_partial(study: Path) -> None:
    """Remove the files in a study that zarr had begun when it was killed: each is put in its place when it is whole."""
    for file in study.rglob("*.partial"):
        if re.fullmatch(r".+\.[0-9a-f]{32}\.partial", file.name):
            with suppress(OSError):
                file.unlink()


def _plain(name: str) -> str:
    """A name for `glob`, whose brackets and stars are letters."""
    return re.sub(r"([*?\[])", r"[\1]", name)
