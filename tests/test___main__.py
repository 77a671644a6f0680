"""`python -m headcount` is the command line."""

from __future__ import annotations

import subprocess
import sys


def test_it_is_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headcount", "heads", "/no/such"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("headcount: ")
    assert done.stderr.count("\n") == 1
