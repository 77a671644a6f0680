"""What the command line says: one line for a warning, on stderr, once."""

from __future__ import annotations

import warnings

import pytest

from headcount.cli.warning_lines import warnings_as_lines
from headcount.errors import BlankRows


def test_a_warning_is_one_line_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings_as_lines({"limit": "--limit"}):
        for _ in range(2):
            warnings.warn("2 of 5 rows are blank, limit=3", BlankRows, stacklevel=1)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "headcount: 2 of 5 rows are blank, --limit 3\n")
    with pytest.warns(BlankRows):
        warnings.warn("outside", BlankRows, stacklevel=1)


def test_the_warnings_of_others_stay_theirs() -> None:
    with warnings_as_lines({}), pytest.raises(DeprecationWarning):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
