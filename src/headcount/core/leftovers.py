"""Temporary folders in which parts of a study are written, and what a kill leaves of them."""

from __future__ import annotations

import glob
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headcount.core.lock_holders import is_alive


@contextmanager
def scratch(study: Path) -> Iterator[Path]:
    """An empty folder beside the study: on the same disk, but not in its tree, since a kill may leave it behind."""
    path = study.resolve()
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}-new-{_host()}-{os.getpid()}-", dir=path.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clear_leftovers(study: str | Path, alone: bool) -> None:
    """Remove what killed writers left beside the study; if not `alone`, only that of dead processes of this machine."""
    path = Path(study).resolve()
    if not path.parent.is_dir():
        return
    for folder in path.parent.glob(f".{glob.escape(path.name)}-new-*"):
        match = re.fullmatch(rf"\.{re.escape(path.name)}-new-(?:([\w.]+)-(\d+)-)?[a-z0-9_]{{8}}", folder.name)
        if match is None:
            continue
        process = int(match[2]) if match[1] == _host() else None
        dead = process is not None and not is_alive(socket.gethostname(), process)
        if (alone or dead) and process != os.getpid():
            shutil.rmtree(folder, ignore_errors=True)


def clear_partial(study: Path) -> None:
    """Remove the files that zarr was writing when it was killed: it renames each when it is whole."""
    for file in study.rglob("*.partial"):
        if re.fullmatch(r".+\.[0-9a-f]{32}\.partial", file.name):
            with suppress(OSError):
                file.unlink()


def _host() -> str:
    return re.sub(r"[^\w.]", "_", socket.gethostname())
