"""A command in a child that shares all imports with its parent, killed at a chosen write, at a chosen time, or never.

The parent imports torch and transformers once and starts no thread; an attempt is then a fork, and costs no start.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WRITES = ("os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.link", "os.truncate", "shutil.rmtree")
"""Audit events that change a folder; `open` is one of them where it opens a file for writing."""


PACKAGES = (
    "torch.",
    "transformers.",
    "headcount.",
    "zarr",
    "numcodecs",
    "xarray",
    "pandas",
    "pyarrow",
    "rich",
    "accelerate",
    "sklearn",
    "scipy",
    "sacrebleu",
    "safetensors",
)
"""Whose modules the parent imports for its children."""


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code, or minus the signal; what it said; and how long it took."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def refused(self) -> bool:
        """Whether it was refused as a user should be: exit code 2 and one line."""
        return self.code == 2 and self.err.count("\n") == 1


@dataclass
class Child:
    """A child that is running; `end` waits for it, or kills it when its time is over."""

    pid: int
    folder: Path
    log: Path
    start: float

    def end(self, after: float | None = None) -> Ended:
        if after is not None:
            time.sleep(max(0.0, self.start + after - time.monotonic()))
            os.kill(self.pid, signal.SIGKILL)  # a child that has ended already stays until it is waited for
        _, status = os.waitpid(self.pid, 0)
        said = [self.log.with_suffix(suffix).read_text(errors="replace") for suffix in (".out", ".err")]
        return Ended(os.waitstatus_to_exitcode(status), said[0], said[1], time.monotonic() - self.start)


def start(work: Callable[[], int], folder: Path, log: Path, kill_at: int | None = None) -> Child:
    """Fork a child that does the work in `folder`; with `kill_at` it kills itself before its write of that number."""
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in (".out", ".err"):
        log.with_suffix(suffix).write_text("")  # it may be killed before it can
    began = time.monotonic()
    pid = os.fork()
    if pid:
        return Child(pid, folder, log, began)
    code = 70
    try:
        for descriptor, suffix in ((1, ".out"), (2, ".err")):
            opened = os.open(log.with_suffix(suffix), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, descriptor)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        os.chdir(folder)
        writes = count_writes(folder, kill_at)
        code = work()
        log.with_suffix(".writes").write_text(str(writes()))
    except BaseException:  # noqa: BLE001 - the child must never run the parent's code
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def count_writes(folder: Path, kill_at: int | None) -> Callable[[], int]:
    """From now on count what changes files in or beside `folder`; at the number `kill_at` the process is killed."""
    count, root = 0, str(folder)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event == "open":
            path, _, flags = arguments
            if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return
        elif event in WRITES:
            path = arguments[0]
        else:
            return
        if not isinstance(path, str | os.PathLike) or not os.path.abspath(path).startswith(root):
            return
        count += 1
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return lambda: count


def command(words: Sequence[str]) -> Callable[[], int]:
    """The work of a headcount command."""

    def work() -> int:
        from headcount.cli.main import main

        return main(list(words))

    return work


def import_what_children_import(work: Callable[[], int], folder: Path, log: Path) -> Ended:
    """Do the work in a child, then import here what it has imported, so that the next child need not."""

    def tell() -> int:
        code = work()
        log.with_suffix(".modules").write_text(json.dumps(sorted(sys.modules)))
        return code

    ended = start(tell, folder, log).end()
    if ended.code == 0:
        for name in json.loads(log.with_suffix(".modules").read_text()):
            if name.startswith(PACKAGES):
                try:
                    __import__(name)
                except Exception:  # noqa: BLE001 - a module that only its package can import
                    continue
    return ended
