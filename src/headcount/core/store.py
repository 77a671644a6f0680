"""A study: a folder with a zarr tree, one group for each result, written so that a kill at any moment loses little.

A group is laid out whole under another name and moved into place. Its units of work are then written one by
one, each in chunks of its own, and marked as done after its last chunk; what is computed from all of them
comes at the end, and the mark that the group is complete comes last.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
import zarr.api.asynchronous

from headcount.core.provenance import differences
from headcount.errors import StudyProblem, cannot_write

VERSION = 1
MARK = "headcount_study"
DONE = "done"


@dataclass(frozen=True)
class ArrayPlan:
    """An array to be filled unit by unit along its dimension `example`."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str


class Group:
    """One result of a study, while it is being written."""

    def __init__(self, study: Study, name: str, identity: dict[str, Any]) -> None:
        self.study, self.name = study, name
        with clear_errors(study.path):
            self.zarr = zarr.open_group(study.path / name, mode="r+", zarr_format=3)
            found = dict(self.zarr.attrs.get("identity", {}))
        if found != identity:
            raise StudyProblem(
                f"{study.path} has {name} already, made with other options "
                f"({'; '.join(differences(found, identity))}); "
                "give another --out or --name, or the same options to go on"
            )

    @property
    def complete(self) -> bool:
        return bool(self.zarr.attrs.get("complete", False))

    def done(self) -> list[bool]:
        """Which units of work are there."""
        with clear_errors(self.study.path):
            return [bool(flag) for flag in self.zarr[DONE][:]]

    def write_unit(self, unit: int, start: int, stop: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Write the examples `start` to `stop` of some arrays, then mark the unit as done."""
        with clear_errors(self.study.path):
            for name, values in arrays.items():
                target = self.zarr[name]
                axis = target.metadata.dimension_names.index("example")
                target[(*[slice(None)] * axis, slice(start, stop))] = values
            self.zarr[DONE][unit] = True

    def read(self) -> xr.Dataset:
        with clear_errors(self.study.path):
            dataset: xr.Dataset = xr.open_zarr(self.study.path / self.name, consolidated=False, zarr_format=3).load()
            return dataset

    def finish(self, summary: Mapping[str, tuple[tuple[str, ...], np.ndarray]], attributes: Mapping[str, Any]) -> None:
        """Write what was computed from all units, then mark the group as complete."""
        with clear_errors(self.study.path):
            for name, (dims, values) in summary.items():
                _put(self.zarr, name, dims, np.asarray(values), overwrite=True)
            self.zarr.attrs.update(dict(attributes))
            self.zarr.attrs["complete"] = True


class Study:
    """A study folder, opened for adding to it; made if it is not there."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise StudyProblem(f"{self.path} is a file; expected a study folder or a name that is free")
        if self.path.is_dir() and any(self.path.iterdir()):
            check_study(self.path)
            return
        with clear_errors(self.path):
            zarr.open_group(self.path, mode="a", zarr_format=3, attributes={MARK: VERSION})

    def has(self, name: str) -> bool:
        return (self.path / name / "zarr.json").is_file()

    def group(
        self,
        name: str,
        identity: dict[str, Any],
        attributes: Mapping[str, Any],
        arrays: Mapping[str, ArrayPlan],
        fixed: Mapping[str, tuple[tuple[str, ...], np.ndarray]],
        units: list[tuple[int, int]],
    ) -> Group:
        """The group with this name: the one that is there, if it was made with the same options, or a new one."""
        if not re.fullmatch(r"[\w.@-]+(/[\w.@-]+)*", name) or ".." in name:
            raise StudyProblem(f"got {name!r} for the name of a result; expected letters, digits, '.', '-' and '_'")
        if not self.has(name):
            with clear_errors(self.path):
                self._lay_out(name, identity, attributes, arrays, fixed, units)
        return Group(self, name, identity)

    def _lay_out(
        self, name: str, identity: dict[str, Any], attributes: Mapping[str, Any], arrays: Mapping[str, ArrayPlan],
        fixed: Mapping[str, tuple[tuple[str, ...], np.ndarray]], units: list[tuple[int, int]],
    ) -> None:  # fmt: skip
        parent, _, _ = name.rpartition("/")
        if parent:
            zarr.open_group(self.path, mode="r+", zarr_format=3).require_group(parent)
        # Beside the study, not in it: what a kill leaves behind is no part of the tree.
        place = Path(tempfile.mkdtemp(prefix=f".{self.path.name}-new-", dir=self.path.resolve().parent))
        try:
            attributes = {**attributes, "identity": identity, "complete": False}
            group = zarr.open_group(place / "group", mode="w", zarr_format=3, attributes=attributes)
            # Units are all of one size but the last, so that each has chunks of its own.
            size = _chunk(units)
            for key, plan in arrays.items():
                chunks = tuple(
                    size if dim == "example" else max(1, length)
                    for dim, length in zip(plan.dims, plan.shape, strict=True)
                )
                group.create_array(key, shape=plan.shape, chunks=chunks, dtype=plan.dtype, dimension_names=plan.dims,
                                   fill_value=_empty(plan.dtype))  # fmt: skip
            for key, (dims, values) in fixed.items():
                _put(group, key, dims, np.asarray(values))
            group.create_array(DONE, shape=(len(units),), chunks=(1,), dtype="bool", dimension_names=("unit",),
                               fill_value=False)  # fmt: skip
            try:
                os.replace(place / "group", self.path / name)
            except OSError:
                if not self.has(name):  # another shard was quicker, otherwise it is a real error
                    raise
        finally:
            shutil.rmtree(place, ignore_errors=True)


def write_result(path: str | Path, name: str, identity: dict[str, Any], result: xr.Dataset) -> None:
    """A small result as a whole: the group that is there must have been made with the same options."""
    fixed = {str(key): (tuple(map(str, array.dims)), array.values) for key, array in result.variables.items()}
    group = Study(path).group(name, identity, result.attrs, {}, fixed, [(0, 1)])
    if not group.complete:
        group.finish({}, {})


def check_study(path: Path) -> None:
    """An error if the folder is not a study, is damaged, or is of a version that this program does not know."""
    if not path.is_dir():
        raise StudyProblem(f"there is no study folder {path}")
    if not (path / "zarr.json").is_file():
        raise StudyProblem(
            f"{path} is not a study: it has no zarr.json; give a folder that a headcount verb has written"
        )
    with clear_errors(path):
        mark = zarr.open_group(path, mode="r", zarr_format=3).attrs.get(MARK)
        version = None if mark is None else int(mark)
    if version is None:
        raise StudyProblem(f"{path} is a zarr folder, but not a study; give a folder that a headcount verb has written")
    if version > VERSION:
        raise StudyProblem(
            f"{path} is a study of version {mark}; this headcount reads up to {VERSION}: update headcount"
        )


def open_study(path: str | Path) -> xr.DataTree:
    """A study as an xarray.DataTree: `open_study("runs/mrpc")["sweep/head-uniform"]["score"]`."""
    path = Path(path)
    check_study(path)
    with clear_errors(path):
        return xr.open_datatree(path, engine="zarr", consolidated=False)


def read_results(
    path: str | Path, wanted: Callable[[str, str, tuple[int, ...]], bool]
) -> dict[str, tuple[bool, xr.Dataset]]:
    """By name, whether a result is complete, and those of its arrays that are `wanted` (result, array, shape).

    All arrays are read side by side, which for hundreds of small ones is several times as fast as `open_study`.
    """
    path = Path(path)
    check_study(path)
    with clear_errors(path):
        told = {place.parent.relative_to(path).as_posix(): json.loads(place.read_text(encoding="utf-8"))
                for place in sorted(path.rglob("zarr.json"))}  # fmt: skip
        groups = {name: node["attributes"] for name, node in told.items()
                  if node["node_type"] == "group" and "complete" in node["attributes"]}  # fmt: skip
        asked: list[tuple[str, str, tuple[str, ...]]] = []
        for place, node in told.items():
            name, _, array = place.rpartition("/")
            if node["node_type"] == "array" and name in groups and wanted(name, array, tuple(node["shape"])):
                asked.append((name, array, tuple(node.get("dimension_names") or ())))
        places = [path / name / array for name, array, _ in asked]
        # In a thread of its own: where a loop is running already, as in a notebook, there may be no second one.
        with ThreadPoolExecutor(1) as pool:
            arrays = pool.submit(asyncio.run, _read_arrays(places)).result()
        found: dict[str, dict[str, tuple[tuple[str, ...], np.ndarray]]] = {name: {} for name in groups}
        for (name, array, dims), values in zip(asked, arrays, strict=True):
            found[name][array] = (dims, values)
        return {name: (bool(group["complete"]), xr.Dataset(found[name], attrs=group)) for name, group in groups.items()}


async def _read_arrays(places: list[Path]) -> list[np.ndarray]:
    async def read(place: Path) -> np.ndarray:
        array = await zarr.api.asynchronous.open_array(store=str(place), mode="r", zarr_format=3)
        return np.asarray(await array.getitem(...))

    return list(await asyncio.gather(*map(read, places)))


def _chunk(units: list[tuple[int, int]]) -> int:
    """The chunk length: all units but the last have the same length."""
    return max(1, units[0][1] - units[0][0])


def _empty(dtype: str) -> Any:
    """What a place that was never written reads as: unknown, where the type has a way to say so."""
    return {"string": "", "bool": False}.get(dtype, np.nan if "float" in dtype else 0 if "uint" in dtype else -1)


def _put(group: zarr.Group, name: str, dims: tuple[str, ...], values: np.ndarray, overwrite: bool = False) -> None:
    text = values.dtype.kind in "UO"
    array = group.create_array(
        name, shape=values.shape, chunks=tuple(max(1, size) for size in values.shape),
        dtype="string" if text else values.dtype, dimension_names=dims, overwrite=overwrite,
        fill_value=_empty("string" if text else str(values.dtype)),  # what is lost reads as unknown, not as 0
    )  # fmt: skip
    if values.size:
        array[...] = values.astype(object) if text else values


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """A full disk and a damaged folder as one clear line each."""
    try:
        yield
    except OSError as error:
        raise StudyProblem(cannot_write(path, error)) from error
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RuntimeError,
    ) as error:  # a damaged chunk is a RuntimeError
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StudyProblem(f"the study {path} is damaged ({first}); restore it or give another folder") from error
