"""What killed writers leave beside a study goes, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headcount.core.leftovers import clear_leftovers, scratch
from headcount.core.manifest import is_study
from headcount.core.store import Study
from headcount.core.writers import writing_study


def dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def leave(study: Path) -> Path:
    """A folder as a process leaves it that is killed while it writes."""
    code = "import os, sys; from pathlib import Path; from headcount.core.leftovers import scratch\n"
    code += "with scratch(Path(sys.argv[1])) as place: (place / 'x').write_text('x'); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(study)], check=False)
    (found,) = study.parent.glob(f".{study.name}-new-*")
    return found


@pytest.mark.parametrize("alone", [True, False])
def test_what_a_kill_left_is_removed(tmp_path: Path, alone: bool) -> None:
    left = leave(tmp_path / "study")
    assert (left / "x").exists()
    clear_leftovers(tmp_path / "study", alone)
    assert not list(tmp_path.iterdir())


def test_of_others_only_by_a_writer_that_is_alone(tmp_path: Path) -> None:
    names = [f".study-new-elsewhere-{dead_process()}-abcd1234", ".study-new-abcd1234"]
    for name in names:
        (tmp_path / name).mkdir()
    clear_leftovers(tmp_path / "study", alone=False)
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(names)
    clear_leftovers(tmp_path / "study", alone=True)
    assert not list(tmp_path.iterdir())


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    names = [
        ".study-new",
        ".study-old",
        ".study-new-notes",
        "study-new-abcd1234",
        ".study-new-b-new-abcd1234",
        ".other-new-abcd1234",
        f".study-new-b-new-host-{os.getpid()}-abcd1234",
    ]
    for name in names:
        (tmp_path / name).mkdir()
    clear_leftovers(tmp_path / "study", alone=True)
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(names)


def test_our_own_stays(tmp_path: Path) -> None:
    with scratch(tmp_path / "study") as place:
        clear_leftovers(tmp_path / "study", alone=True)
        assert place.is_dir()
    assert not list(tmp_path.iterdir())


def test_names_with_stars_and_brackets(tmp_path: Path) -> None:
    (tmp_path / ".a-new-abcd1234").mkdir()
    clear_leftovers(tmp_path / "*", alone=True)
    clear_leftovers(tmp_path / "[a]", alone=True)
    assert (tmp_path / ".a-new-abcd1234").is_dir()
    (tmp_path / ".[a]-new-abcd1234").mkdir()
    clear_leftovers(tmp_path / "[a]", alone=True)
    assert not (tmp_path / ".[a]-new-abcd1234").exists()


def test_what_zarr_had_begun_is_removed(tmp_path: Path) -> None:
    study = tmp_path / "study"
    Study(study)
    (study / "sweep").mkdir()
    for name in ("zarr.7782bb29f8104dc38123908712496475.partial", "mine.partial"):
        (study / "sweep" / name).write_text("{")
    with writing_study(study, together=True):
        assert len(list((study / "sweep").iterdir())) == 2, "another shard may be writing it"
    with writing_study(study):
        assert [one.name for one in (study / "sweep").iterdir()] == ["mine.partial"]


def test_a_folder_of_somebody_else_is_no_study(tmp_path: Path) -> None:
    assert not is_study(tmp_path)
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    assert not is_study(tmp_path)
    Study(tmp_path / "ours")
    assert is_study(tmp_path / "ours")
