"""The demo runs offline."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.cli.main import main


def test_the_demo_ablates_a_head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "bit for bit what it was" in shown
