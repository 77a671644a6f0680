"""Versions, extras and what is missing, from what the package says that it needs."""

from __future__ import annotations

import platform

import torch
from packaging.requirements import Requirement

import headcount
from headcount.self_check.environment import find_extras, read_environment, unsupported_versions


def test_what_is_here() -> None:
    found = read_environment()
    assert found.versions["headcount"] == headcount.__version__
    assert found.versions["python"] == platform.python_version()
    assert found.versions["torch"] == torch.__version__
    assert found.devices[0] == "cpu"
    assert {"eager", "sdpa"} <= set(found.kernels)
    assert found.threads == torch.get_num_threads()


def test_extras_and_their_pip_lines() -> None:
    needed = [
        Requirement('numpy; extra == "plot"'),
        Requirement('no-such-package; extra == "plot"'),
        Requirement('torch; extra == "dev"'),
        Requirement('zensical; extra == "docs"'),
        Requirement("scipy; extra == 'probe'"),
    ]
    plot, probe = find_extras(needed)
    assert (plot.name, plot.packages, plot.missing) == ("plot", ("numpy", "no-such-package"), ("no-such-package",))
    assert plot.command == "pip install 'headcount[plot]'"
    assert (probe.name, probe.command) == ("probe", "")


def test_versions_that_are_not_supported() -> None:
    needed = [
        Requirement("torch>=99"),
        Requirement("numpy>=1"),
        Requirement("gone"),
        Requirement('gone-too; extra == "plot"'),
        Requirement('gone-as-well; python_version < "3"'),
    ]
    assert unsupported_versions(needed) == (
        f"torch has version {torch.__version__}; headcount needs torch>=99",
        "gone is not installed; headcount needs gone",
    )
