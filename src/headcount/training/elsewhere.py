"""Training runs on the workers of a cluster, which need no shared disk: files of the model go there, results return."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from headcount.engines.executors import Executor
from headcount.errors import HeadcountError
from headcount.training.run_folder import OPTIONS, RESULT, finished_result, write_json

Files = dict[str, torch.Tensor]
"""The bytes of the files of a folder by their paths in it: tensors, which workers get once."""
KEPT = "; what was saved before is kept in"


def perform_elsewhere(
    runs: Sequence[Any], perform: Callable[[Any, None], dict[str, Any]], executor: Executor
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The runs and their results, as they are finished; their folders are written here."""
    for run in runs:
        finished_result(run.folder, run.identity)  # refuses a folder that holds a run with other options
    named = {name for run in runs for name in (run.model, run.tokenizer) if name and Path(name).is_dir()}
    folders = {name: read_folder(Path(name)) for name in sorted(named)}
    units = [_Named(run) for run in runs]

    def work(unit: _Named) -> dict[str, np.ndarray]:
        return _perform_away(unit.run, perform, folders)

    with closing(executor.execute(units, work)) as results:  # type: ignore[arg-type]
        for unit, files, _ in results:
            yield unit.run, _write_back(unit.run, files)


@dataclasses.dataclass(frozen=True)
class _Named:
    """A run that is called by its folder in messages."""

    run: Any

    def __str__(self) -> str:
        return str(self.run.folder)


def read_folder(folder: Path) -> Files:
    """All files of a folder and its subfolders, except those of git."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.parts]
    return {path.relative_to(folder).as_posix(): torch.from_numpy(np.fromfile(path, np.uint8)) for path in paths}


def _perform_away(
    run: Any, perform: Callable[[Any, None], dict[str, Any]], folders: Mapping[str, Files]
) -> dict[str, np.ndarray]:
    """On a worker: the files of a run's folder, of which nothing stays here."""
    from headcount.models.device import find_device

    with tempfile.TemporaryDirectory() as temporary:
        copies = {name: str(Path(temporary) / str(number)) for number, name in enumerate(folders)}
        for name, files in folders.items():
            for path, content in files.items():
                target = Path(copies[name]) / path
                target.parent.mkdir(parents=True, exist_ok=True)
                content.numpy().tofile(target)
        moved = dataclasses.replace(
            run,
            folder=Path(temporary) / "run",
            model=copies.get(run.model, run.model),
            tokenizer=None if run.tokenizer is None else copies.get(run.tokenizer, run.tokenizer),
            device=find_device("auto"),
        )
        with _without_places(run, moved):
            perform(moved, None)
        return {path: content.numpy() for path, content in read_folder(moved.folder).items()}


@contextmanager
def _without_places(run: Any, moved: Any) -> Iterator[None]:
    """Errors that name the folders of this machine name the user's instead."""
    try:
        yield
    except HeadcountError as error:
        said = str(error).partition(KEPT)[0]
        for there, here in ((moved.folder, run.folder), (moved.model, run.model), (moved.tokenizer, run.tokenizer)):
            said = said.replace(str(there), str(here))
        raise type(error)(said) from error


def _write_back(run: Any, files: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Write the folder of a run that has finished; its result comes last, so that it is complete or not there."""
    for written in {path.split("/")[0] for path in files if "/" in path}:
        shutil.rmtree(run.folder / written, ignore_errors=True)  # of an earlier run; all else in the folder stays
    for path, content in files.items():
        if path != RESULT:
            target = run.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            content.tofile(target)
    result: dict[str, Any] = json.loads(files[RESULT].tobytes())
    result["identity"] = run.identity  # without the worker's folders
    write_json(run.folder / OPTIONS, run.identity)
    write_json(run.folder / RESULT, result)
    return result
