"""A fraction where a whole number is expected is refused, on the command line and in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.cli.main import app
from headcount.cli.whole_numbers import check_whole_numbers
from headcount.errors import InvalidOption

WORDS = ["sweep", "m", "--task", "sst2", "--data", "d"]


@pytest.mark.parametrize("more", [["--limit", "2.5"], ["--limit=0.5"], ["--num-beams", "1.25"], ["--seed", "-1.5"]])
def test_fractions_are_refused(more: list[str]) -> None:
    with pytest.raises(InvalidOption, match=f"got {more[0].partition('=')[0]} .*; expected a whole number"):
        check_whole_numbers([*WORDS, *more], [app["sweep"]])


@pytest.mark.parametrize("more", [["--limit", "2"], ["--limit", "2.0"], ["--out", "2.5"], ["--memory", "1.5GB"]])
def test_other_values_are_not(more: list[str]) -> None:
    check_whole_numbers([*WORDS, *more], [app["sweep"]])


def test_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text("limit = 2.5\n")
    with pytest.raises(InvalidOption, match="--limit 2.5; expected a whole number"):
        check_whole_numbers([*WORDS, "--config", str(tmp_path / "sweep.toml")], [app["sweep"]])
