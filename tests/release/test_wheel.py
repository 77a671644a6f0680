"""Does the wheel, built from the sdist, work in an environment of its own, from another folder, without a network?

Its dependencies are those of the test environment: `make release-check` installs them anew, for every interpreter.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.release.check import DEMO, READING, build, check_files, run_commands
from tests.release.environments import install, make_environment


def test_the_demo_runs_from_the_wheel(tmp_path: Path) -> None:
    try:
        wheel, sdist = build(tmp_path / "dist")
    except subprocess.CalledProcessError as error:
        said = (error.stdout or b"") + (error.stderr or b"")
        if b"No matching distribution" in said or b"connection" in said.lower():
            pytest.skip("no package index here, which building in an environment of its own needs")
        raise AssertionError(said.decode()[-2000:]) from error
    check_files(wheel, sdist)
    python = make_environment(Path(sys.executable), tmp_path / "own")
    install(python, "--no-deps", "--no-index", str(wheel))
    # As a plain path: the file there that leads to the repository's sources is not read.
    own = next((tmp_path / "own" / "lib").glob("python*/site-packages"))
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    run_commands(python, tmp_path / "elsewhere", (DEMO, *READING))
    assert (tmp_path / "elsewhere" / "again.html").stat().st_size > 100_000
