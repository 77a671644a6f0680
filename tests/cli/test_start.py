"""The first screen: 80 columns, commands that exist, and nothing heavy loaded for it."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

import headcount
from headcount.cli.main import app, main
from headcount.cli.start import MORE, TRY


def test_the_first_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Headcount {headcount.__version__}"
    assert all(len(line) <= 80 for line in lines)
    assert len(lines) < 24
    assert [line.strip() for line in lines if line.startswith("  headcount")][:3] == [command for command, _ in TRY]


@pytest.mark.parametrize("command", [command for command, _ in (*TRY, *MORE)])
def test_its_commands_can_be_typed(command: str) -> None:
    words = shlex.split(command)[1:]
    called, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    assert callable(called)
    assert bound is not None


def test_it_is_quick() -> None:
    code = "import sys; from headcount.cli.main import main; main([]); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
