"""The lock on a study: one process and thread writes at a time, or several shards together.

It is an advisory lock on a small file beside the study, which says who holds it. The kernel releases it when a process
dies, and on a network file system it works between machines.
"""

from __future__ import annotations

import errno
import json
import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from headcount.core.lock_holders import REMEDY, describe_holder, refusal
from headcount.errors import CannotWrite, HeadcountWarning, StudyProblem, cannot_write

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}
NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}
PATIENCE = 1.0
"""Seconds for which a shard tries again: another one that is leaving takes the lock for a moment."""


@dataclass
class _Hold:
    thread: int
    depth: int = 1
    descriptor: int | None = None
    created: list[Path] = field(default_factory=list)
    """Folders above the study that were created for the lock file."""


_held: dict[Path, _Hold] = {}
_guard = threading.Lock()


def lock_file(path: str | Path, suffix: str = "lock") -> Path:
    """The lock file of a study: beside it, since a file that is neither group nor array has no place in a zarr tree."""
    study = Path(path).resolve()
    return study.with_name(f".{study.name}-{suffix}")


def locked_alone(path: str | Path) -> bool:
    """Whether this process holds the study's lock, so that nobody else writes there."""
    hold = _held.get(Path(path).resolve())
    return hold is not None and hold.descriptor is not None


@contextmanager
def writing(path: str | Path, together: bool = False) -> Iterator[bool]:
    """Hold the lock on a study; yields whether this is the outermost of nested calls. Another writer is refused.

    `together`: for shards, which share the lock among themselves.
    """
    study = Path(path).resolve()
    thread = threading.get_ident()
    with _guard:
        hold = _held.get(study)
        outermost = hold is None
        if hold is None:
            hold = _held[study] = _Hold(thread)
        elif hold.thread != thread:
            raise StudyProblem(f"{path} is being written by another thread of this process; {REMEDY}")
        else:
            hold.depth += 1
    try:
        if outermost:
            hold.descriptor, hold.created = _acquire(path, together)
        yield outermost
    finally:
        with _guard:
            hold.depth -= 1
            if not hold.depth:
                del _held[study]
        if not hold.depth:
            _release(lock_file(path), hold.descriptor)
            for folder in reversed(hold.created):
                with suppress(OSError):  # not empty: the study exists now
                    folder.rmdir()


@contextmanager
def finishing(path: str | Path) -> Iterator[None]:
    """Hold a second lock for a moment, alone also among shards; waits for others that hold it."""
    file = lock_file(path, "finish-lock")
    descriptor = _open_and_lock(file, wait=True) if fcntl is not None and file.parent.is_dir() else None
    try:
        yield
    finally:
        _release(file, descriptor)


def _acquire(path: str | Path, together: bool) -> tuple[int | None, list[Path]]:
    """A descriptor that holds the lock (None where locks do not work), and the folders that were created for it."""
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
                    raise StudyProblem(refusal(path, file, PATIENCE)) from None
                time.sleep(0.02)
        with suppress(OSError):  # on a full disk the lock still holds
            if not together:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, (json.dumps(describe_holder()) + "\n").encode())
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
    mode = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(descriptor, mode)
            # The previous holder may have removed the file in between: then this is a lock on nothing.
            if _is_open(file, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_open(file: Path, descriptor: int) -> bool:
    """Whether the descriptor is of the file that has this name now."""
    try:
        return os.path.samestat(os.stat(file), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _release(file: Path, descriptor: int | None) -> None:
    """Release the lock; its last holder removes the file."""
    if descriptor is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_open(file, descriptor):
            file.unlink()
    except OSError:  # other shards still hold it
        with suppress(OSError):
            os.write(descriptor, (json.dumps(describe_holder() | {"left": True}) + "\n").encode())
    finally:
        os.close(descriptor)


def _warn(path: str | Path, reason: str) -> None:
    warnings.warn(
        f"{path} is not locked, {reason}; take care that nothing else writes it", HeadcountWarning, stacklevel=2
    )


def _forget() -> None:
    """A forked child holds no lock, and must not keep the lock of a parent that has died."""
    global _guard
    _guard = threading.Lock()
    for hold in _held.values():
        if hold.descriptor is not None:
            os.close(hold.descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
