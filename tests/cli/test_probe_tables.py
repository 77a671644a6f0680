"""What is printed of each kind: every kind has its lines, and only frames look into the study."""

from __future__ import annotations

from pathlib import Path

import pytest
import xarray as xr

from headcount.cli import probe_tables
from headcount.cli.probe_tables import LINES, lines_of
from headcount.probing.kinds import KINDS


def test_every_kind_has_its_lines() -> None:
    assert set(LINES) == set(KINDS)


def test_sweeps_of_a_study_are_about_frames(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(probe_tables, "LINES", {kind: lambda probed: ["said"] for kind in LINES})
    monkeypatch.setattr(probe_tables, "effect_sentences", lambda probed, study: [str(study)])
    assert len(lines_of("frames", xr.Dataset(), tmp_path)) == 2
    assert len(lines_of("frames", xr.Dataset(), None)) == 1
    assert len(lines_of("dependencies", xr.Dataset(), tmp_path)) == 1
