"""A function that writes a study holds its lock, cleans up after others, and says what is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headcount.core.lock import lock_file
from headcount.core.provenance import command, current_command
from headcount.core.store import Study
from headcount.core.writers import writes_study, writing_study
from headcount.engines.compute import Compute
from headcount.errors import HeadcountWarning, StudyProblem
from tests.core.damage import write_all, write_units
from tests.core.test_leftovers import leave
from tests.core.test_lock import other_process


@writes_study("out")
def write(model: Any, out: Path | None = None, compute: Compute | None = None) -> tuple[bool, str]:
    """Whether the lock was held, and what the result would say of its command."""
    return out is not None and lock_file(out).exists(), current_command()


def test_the_lock_is_held_however_the_folder_is_given(tmp_path: Path) -> None:
    out = tmp_path / "study"
    assert write(1, out)[0]
    assert write(1, out=out)[0]
    assert not write(1)[0]
    assert not list(tmp_path.iterdir())
    assert write.__doc__ == "Whether the lock was held, and what the result would say of its command."


def test_the_command_is_what_was_typed_or_the_function(tmp_path: Path) -> None:
    assert write(1, tmp_path / "study")[1].endswith("test_writers.write(...)")
    with command("headcount sweep x"):
        assert write(1, tmp_path / "study")[1] == "headcount sweep x"
    assert current_command() == ""


def test_another_writer_is_refused_and_a_shard_only_by_one_that_is_alone(tmp_path: Path) -> None:
    with other_process(tmp_path / "study", "shard"):
        with pytest.raises(StudyProblem, match="is being written by"):
            write(1, tmp_path / "study")
        assert write(1, tmp_path / "study", compute=Compute(shard="1/2"))[0]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    left = leave(tmp_path / "study")
    write(1, tmp_path / "study")
    assert not left.exists()
    assert not list(tmp_path.iterdir())


def test_what_stays_damaged_is_said_once(tmp_path: Path) -> None:
    study = write_all(tmp_path / "study")
    (study / "cost/models/ms/c/0").unlink()
    with pytest.warns(HeadcountWarning) as said, writing_study(study), writing_study(study):
        write_units(study)
    told = "cost/models is damaged (cost/models/ms/c/0 is missing); compute it again with: headcount prune A"
    assert [str(one.message) for one in said] == [f"{study}: {told} --study study"]
    with pytest.warns(HeadcountWarning, match=r"and is computed again") as said, writing_study(study):
        write_all(study)
    assert len(said) == 1, "what the same command has put right is not damaged any more"


def test_a_new_study_without_a_result_is_removed_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), writing_study(tmp_path / "runs" / "study"):
        Study(tmp_path / "runs" / "study")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt), writing_study(tmp_path / "study"):
        write_units(tmp_path / "study", complete=False)
        raise KeyboardInterrupt
    assert (tmp_path / "study" / "sweep").is_dir()
    Study(tmp_path / "empty")
    with pytest.raises(KeyboardInterrupt), writing_study(tmp_path / "empty"):
        raise KeyboardInterrupt
    assert (tmp_path / "empty" / "zarr.json").is_file(), "it was there before"
