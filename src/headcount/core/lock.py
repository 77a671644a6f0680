"""Who writes a study right now: one process and thread at a time, or several shards together.

An advisory lock on a small file beside the study. The kernel takes it back when a process dies, and on a network file
system it holds between machines. The file says who holds it.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headcount.core.provenance import current_command
from headcount.errors import CannotWrite, HeadcountWarning, StudyProblem, cannot_write

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}
NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}
PATIENCE = 1.0
"""Seconds that a shard tries for: another one that is leaving looks at the lock for a moment."""


@dataclass
class _Hold:
    thread: int
    depth: int = 1
    descriptor: int | None = None
    made: list[Path] = field(default_factory=list)
    """Folders above the study that were made for the lock."""


_held: dict[Path, _Hold] = {}
_guard = threading.Lock()


def lock_file(path: str | Path, what: str = "lock") -> Path:
    """Beside the study, not in it: a file that is neither group nor array would be no part of its tree."""
    place = Path(path).resolve()
    return place.with_name(f".{place.name}-{what}")


def locked_alone(path: str | Path) -> bool:
    """Whether this process holds the study's lock, so that nobody else writes there."""
    hold = _held.get(Path(path).resolve())
    return hold is not None and hold.descriptor is not None


@contextmanager
def writing(path: str | Path, together: bool = False) -> Iterator[bool]:
    """Hold the right to write a study; True on the way in from outside, False within. Another writer is refused.

    `together`: for shards, which share it among themselves.
    """
    place = Path(path).resolve()
    mine = threading.get_ident()
    with _guard:
        hold = _held.get(place)
        outermost = hold is None
        if hold is None:
            hold = _held[place] = _Hold(mine)
        elif hold.thread != mine:
            raise StudyProblem(f"{path} is being written by another thread of this process; {REMEDY}")
        else:
            hold.depth += 1
    try:
        if outermost:
            hold.descriptor, hold.made = _take(path, together)
        yield outermost
    finally:
        with _guard:
            hold.depth -= 1
            if not hold.depth:
                del _held[place]
        if not hold.depth:
            _leave(lock_file(path), hold.descriptor)
            for folder in reversed(hold.made):
                with suppress(OSError):  # the study is there now
                    folder.rmdir()


@contextmanager
def finishing(path: str | Path) -> Iterator[None]:
    """Alone for a moment, also among shards: waits for others that finish something in the study."""
    file = lock_file(path, "finish-lock")
    descriptor = _open_and_lock(file, wait=True) if fcntl is not None and file.parent.is_dir() else None
    try:
        yield
    finally:
        _leave(file, descriptor)


REMEDY = "wait until it has ended, or give another study folder"


def _take(path: str | Path, together: bool) -> tuple[int | None, list[Path]]:
    """A descriptor that holds the lock (None where there are no locks), and the folders that were made for it."""
    file = lock_file(path)
    if fcntl is None:
        _warn(path, "this system has no file locks")
        return None, []
    missing = [folder for folder in (file.parent, *file.parent.parents) if not folder.exists()]
    deadline = time.monotonic() + PATIENCE
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                descriptor = _open_and_lock(file, shared=together)
                break
            except BlockingIOError:
                if not together or time.monotonic() > deadline:
                    raise StudyProblem(_refusal(path, file)) from None
                time.sleep(0.02)
        with suppress(OSError):  # on a full disk the lock still holds
            if not together:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, (json.dumps(_myself()) + "\n").encode())
    except OSError as error:
        if error.errno in NO_LOCKS:
            _warn(path, "its file system has no locks")
        elif error.errno in NOT_ALLOWED:
            if os.access(path, os.W_OK):
                _warn(path, f"no lock file may be written beside it ({error.strerror})")
        else:
            raise CannotWrite(cannot_write(path, error)) from error
        return None, missing[::-1]
    return descriptor, missing[::-1]


def _open_and_lock(file: Path, shared: bool = False, wait: bool = False) -> int:
    how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(descriptor, how)
            # The holder before may have removed the file in between: then this is a lock on nothing.
            if _is(file, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(file), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _leave(file: Path, descriptor: int | None) -> None:
    """Give the lock back; the last one out removes the file."""
    if descriptor is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is(file, descriptor):
            file.unlink()
    except OSError:  # other shards go on
        with suppress(OSError):
            os.write(descriptor, (json.dumps(_myself() | {"left": True}) + "\n").encode())
    finally:
        os.close(descriptor)


def _myself() -> dict[str, Any]:
    since = time.strftime("%Y-%m-%d %H:%M")
    return {"host": socket.gethostname(), "process": os.getpid(), "since": since, "command": current_command()}


def _refusal(path: str | Path, file: Path) -> str:
    """Which process holds the lock, as far as the file tells: it is written a moment after the lock was taken."""
    deadline = time.monotonic() + PATIENCE
    while not (holders := _holders(file)) and time.monotonic() < deadline and file.exists():
        time.sleep(0.02)
    if not holders:
        return f"{path} is being written by another process; {REMEDY}"
    one = list(holders.values())[-1]
    command = str(one.get("command") or "")
    said = f" ({command if len(command) <= 100 else command[:97] + '...'})" if command else ""
    return (
        f"{path} is being written by process {one['process']} on host {one['host']} since {one.get('since')}{said}; "
        f"{REMEDY}"
    )


def _holders(file: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """What the processes that hold the lock have written of themselves."""
    holders: dict[tuple[str, int], dict[str, Any]] = {}
    with suppress(OSError):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, TypeError, KeyError):
                one = json.loads(line)
                who = str(one["host"]), int(one["process"])
                if one.get("left") or not is_alive(*who):
                    holders.pop(who, None)
                else:
                    holders[who] = one
    return holders


def is_alive(host: str, process: int) -> bool:
    """Whether a process may still run: of another machine nobody knows."""
    if host != socket.gethostname():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _warn(path: str | Path, why: str) -> None:
    warnings.warn(f"{path} is not locked, {why}; take care that nothing else writes it", HeadcountWarning, stacklevel=2)


def _forget() -> None:
    """A forked child holds nothing, and must not keep the lock of a parent that has died."""
    global _guard
    _guard = threading.Lock()
    for hold in _held.values():
        if hold.descriptor is not None:
            os.close(hold.descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
