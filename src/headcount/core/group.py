"""One result of a study while it is written: units of work one by one, then the summary, then the mark "complete"."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr

from headcount.core.arrays import EVERY_CHUNK, open_result, put_array
from headcount.core.checked_store import CheckedStore
from headcount.core.damage import examine
from headcount.core.lock import finishing
from headcount.core.manifest import (
    COMPLETE,
    MANIFEST,
    Damaged,
    array_nodes,
    check_file,
    chunk_bytes,
    has_checksum,
    read_node,
    write_sealed,
)
from headcount.core.provenance import differences
from headcount.core.results import Labelled
from headcount.core.study_errors import clear_errors
from headcount.core.study_root import list_entry, list_result
from headcount.errors import HeadcountWarning, StudyProblem

DONE = "done"


class Group:
    """One result of a study, while it is being written."""

    def __init__(self, path: Path, name: str, identity: Mapping[str, Any]) -> None:
        self.path, self.name = path, name
        with clear_errors(path):
            self.zarr = zarr.open_group(path / name, mode="r+", zarr_format=3)
            stored = dict(self.zarr.attrs.get("identity", {}))
        if stored != identity:
            raise StudyProblem(
                f"{path} has {name} already, made with other options "
                f"({'; '.join(differences(stored, dict(identity)))}); "
                "give another folder or name=, or the same options to resume"
            )

    @property
    def complete(self) -> bool:
        """As it is on disk now: another shard may have finished it."""
        with clear_errors(self.path):
            return bool(read_node(self.path / self.name)["attributes"].get(COMPLETE, False))

    def units(self) -> list[tuple[int, int]]:
        """The ranges of examples that are written at once: all of the size of a chunk but the last."""
        with clear_errors(self.path):
            arrays = [self.zarr[name] for name in self._manifest().get("by_unit", self.zarr.array_keys())]
            sizes = [
                (array.shape[axis], array.chunks[axis])
                for array in arrays
                for axis, dim in enumerate(array.metadata.dimension_names or ())
                if dim == "example"
            ]
        examples, size = min(sizes, key=lambda both: both[1])
        return [(start, min(start + size, examples)) for start in range(0, examples, size)]

    def done(self) -> list[bool]:
        """Which units of work are done; one whose chunks are lost or damaged is not."""
        with clear_errors(self.path):
            if self.complete:
                return [True] * self.zarr[DONE].shape[0]
            flags = self._marks()
            lost = []
            for unit in [unit for unit, flag in enumerate(flags) if flag]:
                try:
                    self._check_unit(unit)
                except Damaged as error:
                    lost.append(str(error))
                    flags[unit] = False
        if lost:
            warnings.warn(
                f"{self.path}: {self.name} was damaged ({lost[0]}); {len(lost)} of its parts are computed again",
                HeadcountWarning,
                stacklevel=2,
            )
        return flags

    def _marks(self) -> list[bool]:
        marks = self.zarr[DONE]
        with suppress(ValueError, RuntimeError):  # a mark is damaged: which one?
            return [bool(flag) for flag in marks[...]]
        flags = [False] * marks.shape[0]
        for unit in range(len(flags)):
            with suppress(ValueError, RuntimeError):
                flags[unit] = bool(marks[unit])
        return flags

    def _check_unit(self, unit: int) -> None:
        """Verify the checksums of a unit's chunks; all units have the same size, so that no two share a chunk."""
        for name in self._manifest().get("by_unit", []):
            array = self.zarr[name]
            if name == DONE or not has_checksum(array.metadata.to_dict()):
                continue
            index = [unit if dim == "example" else 0 for dim in array.metadata.dimension_names]
            file = "/".join((self.name, name, "c", *map(str, index)))
            try:
                check_file(self.path / file, deep=True)
            except Damaged as error:
                raise Damaged(f"{file} {error}") from None

    def _manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = self.zarr.attrs.get(MANIFEST, {})
        return manifest

    def write_unit(self, unit: int, start: int, stop: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Write the examples `start` to `stop` of some arrays, then mark the unit as done."""
        with clear_errors(self.path), zarr.config.set(EVERY_CHUNK):
            for name, values in arrays.items():
                target = self.zarr[name]
                axis = target.metadata.dimension_names.index("example")
                target[(*[slice(None)] * axis, slice(start, stop))] = values
            self.zarr[DONE][unit] = True

    def read(self) -> xr.Dataset:
        with clear_errors(self.path):
            return open_result(CheckedStore(self.path), self.name).load()

    def finish(self, summary: Labelled, attributes: Mapping[str, Any], by_layer: Sequence[str] = ()) -> None:
        """Write what was computed from all units, read it back, then mark the group as complete.

        The arrays of `by_layer` get a chunk for each entry of their first dimension.
        """
        with finishing(self.path), clear_errors(self.path):
            if self.complete:  # another shard was quicker
                return
            with zarr.config.set(EVERY_CHUNK):
                for name, labelled in summary.items():
                    put_array(self.zarr, name, labelled, overwrite=True, by_layer=name in by_layer)
                if not all(self._marks()):  # a result without units
                    self.zarr[DONE][...] = True
            self._compare(summary)
            self._mark_complete(summary, attributes)
            list_result(self.path, self.name, list_entry(self.zarr.attrs))

    def _compare(self, summary: Labelled) -> None:
        """Compare what is on disk with what was computed."""
        for name, (_, values, *_) in summary.items():
            stored, computed = np.asarray(self.zarr[name][...]), np.asarray(values)
            if computed.dtype.kind in "UO":
                same = list(map(str, stored.ravel().tolist())) == list(map(str, computed.ravel().tolist()))
            else:
                same = np.array_equal(stored, computed, equal_nan=computed.dtype.kind in "fc")
            if not same:
                self._refuse(f"{self.name}/{name} is not what was written")

    def _mark_complete(self, summary: Labelled, attributes: Mapping[str, Any]) -> None:
        """Replace the group's metadata in one step, after the check that every reader makes has passed."""
        folder = self.path / self.name
        node = read_node(folder)
        before = node["attributes"].get(MANIFEST)  # None in a study of an earlier version
        arrays = array_nodes(folder)
        if before is not None:
            arrays = before["arrays"] | {name: arrays[name] for name in summary}
        manifest = {"arrays": arrays, "by_unit": before["by_unit"] if before else []}
        node["attributes"] |= {**attributes, COMPLETE: True, MANIFEST: manifest}
        problems = examine(self.path, self.name, deep=True, node=node)
        if problems:
            self._refuse(problems[0])
        manifest["bytes"] = chunk_bytes(folder, arrays)
        write_sealed(self.path, folder, node)
        self.zarr = zarr.open_group(folder, mode="r+", zarr_format=3)

    def _refuse(self, problem: str) -> None:
        raise StudyProblem(f"{self.path}: {self.name} could not be read back ({problem}); run the same command again")
