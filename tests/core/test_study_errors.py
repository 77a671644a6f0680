"""What goes wrong with a study is one clear line; what the program does wrong is not called damage."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import zarr

from headcount.core.study_errors import clear_errors
from headcount.errors import CannotWrite, StudyProblem


def test_a_defect_of_the_program_is_not_told_as_damage(tmp_path: Path) -> None:
    """What zarr stumbles over is damage; what the program does wrong comes up as it is."""
    for defect in (KeyError("nonsense"), TypeError("nonsense"), AttributeError("nonsense")):
        with pytest.raises(type(defect), match="nonsense"), clear_errors(tmp_path):
            raise defect
    group = zarr.open_group(tmp_path / "study", mode="w")
    with pytest.raises(StudyProblem, match="is damaged"), clear_errors(tmp_path):
        group["values"]


def test_a_disk_that_is_full_is_not_a_study_that_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="no room on the disk"), clear_errors(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")
