"""One writer at a time: between processes and threads, after a kill, for shards, and where there are no locks."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headcount.core import lock
from headcount.core.lock import finishing, lock_file, writing
from headcount.errors import HeadcountWarning, StudyProblem

HOLDER = """
import sys, time
from headcount.core.lock import writing
from headcount.core.provenance import command
with command("headcount sweep model --out study"), writing(sys.argv[1], together=sys.argv[2] == "shard"):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_process(study: Path, how: str = "alone") -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(study), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_process_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    study = tmp_path / "study"
    with other_process(study) as process:
        start = time.monotonic()
        with pytest.raises(StudyProblem) as caught, writing(study):
            pass
        assert time.monotonic() - start < 0.5, "at once"
    said = str(caught.value)
    today = time.strftime("%Y-%m-%d")
    assert said.startswith(
        f"{study} is being written by process {process.pid} on host {socket.gethostname()} since {today}"
    )
    assert said.endswith("(headcount sweep model --out study); wait until it has ended, or give another study folder")
    assert "\n" not in said


def test_a_holder_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    study = tmp_path / "study"
    with other_process(study) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert lock_file(study).exists(), "nobody was left to remove it"
        with writing(study):
            assert str(os.getpid()) in lock_file(study).read_text()
            assert str(process.pid) not in lock_file(study).read_text().replace(str(os.getpid()), "")
    assert not lock_file(study).exists()


def test_shards_write_together_and_nobody_else(tmp_path: Path) -> None:
    study = tmp_path / "study"
    with other_process(study, "shard") as first, other_process(study, "shard") as second:
        with writing(study, together=True):
            pass
        with pytest.raises(StudyProblem, match=f"process {second.pid}"), writing(study):
            pass
        second.kill()
        second.wait()
        with pytest.raises(StudyProblem, match=f"process {first.pid}"), writing(study):
            pass
    with writing(study):
        pass


def test_a_shard_is_refused_where_somebody_writes_alone(tmp_path: Path) -> None:
    refused = pytest.raises(StudyProblem, match="is being written by process")
    with other_process(tmp_path / "study"), refused, writing(tmp_path / "study", together=True):
        pass


def test_within_one_thread_it_is_held_once(tmp_path: Path) -> None:
    study = tmp_path / "study"
    with writing(study) as outside:
        with writing(study) as inside, writing(tmp_path / "." / "study"):
            pass
        assert (outside, inside) == (True, False)
        assert lock_file(study).exists()
    assert not list(tmp_path.iterdir())


def test_another_thread_is_refused(tmp_path: Path) -> None:
    found: list[str] = []

    def other() -> None:
        try:
            with writing(tmp_path / "study"):
                found.append("held")
        except StudyProblem as error:
            found.append(str(error))

    with writing(tmp_path / "study"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert "another thread of this process" in found[0]
    other()
    assert found[1] == "held"


def test_an_error_inside_gives_it_back(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), writing(tmp_path / "study"):
        raise KeyboardInterrupt
    with writing(tmp_path / "study"):
        pass


def test_folders_that_were_made_for_nothing_are_removed(tmp_path: Path) -> None:
    with writing(tmp_path / "runs" / "new" / "study"):
        assert (tmp_path / "runs" / "new").is_dir()
    assert not list(tmp_path.iterdir())
    with writing(tmp_path / "runs" / "new" / "study"):
        (tmp_path / "runs" / "new" / "study").mkdir()
    assert (tmp_path / "runs" / "new" / "study").is_dir()


def test_a_link_to_the_study_is_the_study(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "link").symlink_to(tmp_path / "study")
    with other_process(tmp_path / "study"), pytest.raises(StudyProblem), writing(tmp_path / "other" / "link"):
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def unsupported(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(lock.fcntl, "flock", unsupported)
    with pytest.warns(HeadcountWarning, match="its file system has no locks") as said, writing(tmp_path / "study"):
        (tmp_path / "study").mkdir()
    assert len(said) == 1


def test_a_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "fcntl", None)
    study = tmp_path / "study"
    warned = pytest.warns(HeadcountWarning, match="this system has no file locks")
    with warned, writing(study), finishing(study), pytest.raises(StudyProblem, match="another thread"):
        _in_a_thread(study)


def _in_a_thread(study: Path) -> None:
    """Raises here what a thread that wants to write got."""
    errors: list[Exception] = []

    def other() -> None:
        try:
            with writing(study):
                pass
        except StudyProblem as error:
            errors.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def test_finishing_waits(tmp_path: Path) -> None:
    """Two threads that finish something come one after the other."""
    seen: list[str] = []

    def work(name: str) -> None:
        with finishing(tmp_path / "study"):
            seen.append(f"{name} in")
            time.sleep(0.05)
            seen.append(f"{name} out")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.split()[1] for one in seen] == ["in", "out"] * 3
    assert all(first[0] == second[0] for first, second in zip(seen[::2], seen[1::2], strict=True))
    assert not list(tmp_path.iterdir())


def test_a_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    """Workers that a writer forks must not hold its lock when it is killed."""
    code = """
import os, sys, time
from headcount.core.lock import writing
with writing(sys.argv[1]):
    child = os.fork()
    if not child:
        print(os.getpid(), flush=True)
        os.close(1)
        time.sleep(60)
    time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "study")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            process.kill()
            process.wait()
            with writing(tmp_path / "study"):
                pass
        finally:
            os.kill(child, signal.SIGKILL)
