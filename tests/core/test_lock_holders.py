"""The refusal of a second writer names the one that holds the lock, if it is alive."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from headcount.core.lock import lock_file, writing
from headcount.core.lock_holders import describe_holder, is_alive, refusal
from headcount.core.provenance import command


def test_this_process_is_alive() -> None:
    assert is_alive(socket.gethostname(), os.getpid())
    assert is_alive("another-host", 1), "nobody knows"
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        assert not is_alive(socket.gethostname(), process.pid)


def test_holders_that_left_or_died_are_not_named(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    there, other = describe_holder(), {"host": "elsewhere", "process": 7, "since": "2026-01-01 10:00", "command": ""}
    file.write_text("\n".join(map(json.dumps, [other, there, there | {"left": True}])) + "\nhalf a li")
    assert "process 7 on host elsewhere since 2026-01-01 10:00;" in refusal("study", file, 0.0)
    file.write_text(json.dumps(other) + "\n" + json.dumps(other | {"left": True}))
    assert refusal("study", file, 0.0).startswith("study is being written by another process;")


def test_a_long_command_is_cut(tmp_path: Path) -> None:
    with command("headcount sweep " + "x" * 500), writing(tmp_path / "study"):
        said = refusal(tmp_path / "study", lock_file(tmp_path / "study"), 1.0)
    assert said.count("x") < 100
    assert "...)" in said
