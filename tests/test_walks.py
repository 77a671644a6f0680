"""Each verb reads top to bottom: following its calls, one seldom comes back to a file that is still being read."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import headcount
from headcount.cli.main import main
from tests import planted

SOURCE = os.path.dirname(headcount.__file__) + os.sep
OPTIMISED = 1
"""The flag of code that is a function, not the body of a class or a module."""
MOST = 2
"""Returns that a walk may have."""
Step = tuple[str, str]
"""A file and a function."""


def walk(act: Callable[[], object], source: str = SOURCE) -> tuple[list[str], list[tuple[Step, Step]]]:
    """The files in the order in which they are entered, and the calls that come back to one of those still open.

    A function that is written inside another one is read there, whoever calls it: it is no return.
    """
    files: list[str] = []
    returns: list[tuple[Step, Step]] = []
    known: set[Step] = set()
    stack: list[Step] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(source):
            return
        if not code.co_flags & OPTIMISED or "takes_compiled" in code.co_qualname:  # a wrapper around every verb
            return
        if event == "return":
            if stack:
                stack.pop()
            return
        step = (code.co_filename.removeprefix(source), code.co_qualname)
        if step not in known:
            known.add(step)
            if step[0] not in files:
                files.append(step[0])
            below = {file for file, _ in stack}
            if stack and stack[-1][0] != step[0] and step[0] in below and "<locals>" not in step[1]:
                returns.append((stack[-1], step))
        stack.append(step)

    sys.setprofile(watch)
    try:
        act()
    finally:
        sys.setprofile(None)
    return files, returns


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("walks")
    planted.save(folder / "model")
    planted.texts(80).to_csv(folder / "texts.csv", index=False)
    return folder


VERBS = {
    "sweep": "sweep model --task sst2 --data texts.csv --out study",
    "measure": "measure model --data texts.csv --text sentence --out study",
    "choose": "choose model --task sst2 --data texts.csv --tolerance 60 --study chosen",
    "prune": "prune model --task sst2 --data texts.csv --tolerance 60 --study pruned --out small",
    "report": "report study --output page.html",
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_walk_is_short(folder: Path, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    codes: list[int] = []
    files, returns = walk(lambda: codes.append(main(VERBS[verb].split())))
    assert codes == [0]
    assert f"cli/{verb}.py" in files
    assert len(files) > 20
    assert len(returns) <= MOST, [f"{' '.join(caller)} -> {' '.join(callee)}" for caller, callee in returns]


def test_a_return_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "walk_down.py").write_text(
        "import walk_up\n\ndef start():\n    walk_up.call(lambda: None)\n\ndef again():\n    pass\n"
    )
    (tmp_path / "walk_up.py").write_text(
        "import walk_down\n\ndef call(inner):\n    inner()\n    walk_down.again()\n    walk_down.again()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    files, returns = walk(importlib.import_module("walk_down").start, str(tmp_path) + os.sep)
    assert files == ["walk_down.py", "walk_up.py"]
    assert returns == [(("walk_up.py", "call"), ("walk_down.py", "again"))]
