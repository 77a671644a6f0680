"""One result of a study while it is written: units of work one by one, then what follows from them, then its mark."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

from headcount.core.checked_store import CheckedStore
from headcount.core.lock import finishing
from headcount.core.manifest import (
    COMPLETE,
    INTERNAL,
    MANIFEST,
    Damaged,
    array_nodes,
    check_file,
    chunk_bytes,
    examine,
    has_checksum,
    read_node,
    write_sealed,
)
from headcount.core.provenance import differences
from headcount.core.results import ArrayPlan, Labelled, fill_value
from headcount.core.study_root import entry, list_result
from headcount.errors import CannotWrite, HeadcountWarning, StudyProblem, cannot_write

DONE = "done"


class Group:
    """One result of a study, while it is being written."""

    def __init__(self, path: Path, name: str, identity: Mapping[str, Any]) -> None:
        self.path, self.name = path, name
        with clear_errors(path):
            self.zarr = zarr.open_group(path / name, mode="r+", zarr_format=3)
            found = dict(self.zarr.attrs.get("identity", {}))
        if found != identity:
            raise StudyProblem(
                f"{path} has {name} already, made with other options "
                f"({'; '.join(differences(found, dict(identity)))}); "
                "give another folder or name=, or the same options to resume"
            )

    @property
    def complete(self) -> bool:
        """As it is on the disk now: another shard may have finished it."""
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
        """Which units of work are there; one whose chunks are lost or damaged is not."""
        with clear_errors(self.path):
            marks = self.zarr[DONE]
            if self.complete:
                return [True] * marks.shape[0]
            flags = self._marks()
            lost = []
            for unit in [unit for unit, flag in enumerate(flags) if flag]:
                try:
                    self._check_unit(unit)
                except Damaged as error:
                    lost.append(f"{error}")
                    flags[unit] = False
        if lost:
            warnings.warn(
                f"{self.path}: {self.name} was damaged ({lost[0]}); {len(lost)} of its parts are computed again",
                HeadcountWarning,
                stacklevel=2,
            )
        return flags

    def _marks(self) -> list[bool]:
        try:
            return [bool(flag) for flag in self.zarr[DONE][...]]
        except (ValueError, RuntimeError):  # a mark is damaged: its unit is computed again
            flags = []
            for unit in range(self.zarr[DONE].shape[0]):
                try:
                    flags.append(bool(self.zarr[DONE][unit]))
                except (ValueError, RuntimeError):
                    flags.append(False)
            return flags

    def _check_unit(self, unit: int) -> None:
        """Units are all of one size, so that each has chunks of its own."""
        for name in self._manifest().get("by_unit", []):
            array = self.zarr[name]
            if name == DONE or not has_checksum(array.metadata.to_dict()):
                continue
            place = [unit if dim == "example" else 0 for dim in array.metadata.dimension_names]
            file = "/".join((self.name, name, "c", *map(str, place)))
            try:
                check_file(self.path / file, deep=True)
            except Damaged as error:
                raise Damaged(f"{file} {error}") from None

    def _manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = self.zarr.attrs.get(MANIFEST, {})
        return found

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
            self._read_back(summary)
            node = read_node(self.path / self.name)
            known = node["attributes"].get(MANIFEST)
            arrays = array_nodes(self.path / self.name)
            if known is not None:
                arrays = known["arrays"] | {name: arrays[name] for name in summary}
            told = {"arrays": arrays, "by_unit": known["by_unit"] if known else []}
            node["attributes"] |= {**attributes, COMPLETE: True, MANIFEST: told}
            # Once as it will be, under the eyes of the check that everybody makes, and only then in its place.
            wrong = examine(self.path, self.name, deep=True, as_if=node)
            if wrong:
                raise StudyProblem(_not_back(self.path, self.name, wrong[0]))
            told["bytes"] = chunk_bytes(self.path / self.name, arrays)
            write_sealed(self.path, self.path / self.name, node)
            self.zarr = zarr.open_group(self.path / self.name, mode="r+", zarr_format=3)
            list_result(self.path, self.name, entry(self.zarr.attrs))

    def _read_back(self, summary: Labelled) -> None:
        for name, (_, values, *_) in summary.items():
            found, wanted = np.asarray(self.zarr[name][...]), np.asarray(values)
            if wanted.dtype.kind in "UO":
                same = list(map(str, found.ravel().tolist())) == list(map(str, wanted.ravel().tolist()))
            else:
                same = np.array_equal(found, wanted, equal_nan=wanted.dtype.kind in "fc")
            if not same:
                raise StudyProblem(_not_back(self.path, self.name, f"{self.name}/{name} is not what was written"))


def _not_back(path: Path, name: str, wrong: str) -> str:
    return f"{path}: {name} could not be read back ({wrong}); run the same command again"


def open_result(store: CheckedStore, name: str) -> xr.Dataset:
    """A result, read lazily; what only the checks need is left out of its attributes."""
    # Units are for people: one that sounds like a time is none.
    found = xr.open_dataset(store, engine="zarr", group=name, consolidated=False, zarr_format=3, decode_times=False)
    found.attrs = {key: value for key, value in found.attrs.items() if key not in INTERNAL}
    return found


EVERY_CHUNK = {"array.write_empty_chunks": True}
"""Chunks of nothing but the fill value are written too, so that one that is not there was lost."""
# On real maps and scores the lowest level packs about as tightly as higher ones do.
CODECS = (ZstdCodec(level=1), Crc32cCodec())


def plan_array(group: zarr.Group, name: str, plan: ArrayPlan, size: int) -> None:
    """An empty array whose chunks hold so many examples."""
    chunks = tuple(
        size if dim == "example" else max(1, length) for dim, length in zip(plan.dims, plan.shape, strict=True)
    )
    group.create_array(
        name,
        shape=plan.shape,
        chunks=chunks,
        dtype=plan.dtype,
        dimension_names=plan.dims,
        compressors=CODECS,
        fill_value=fill_value(plan.dtype),
        attributes=dict(plan.attributes),
    )


def put_array(
    group: zarr.Group, name: str, labelled: tuple[Any, ...], overwrite: bool = False, by_layer: bool = False
) -> None:
    """An array as a whole: its dimensions, its values and, where there are any, its attributes."""
    dims, given, *attributes = labelled
    values = np.asarray(given)
    text = values.dtype.kind in "UO"
    sizes = (1, *values.shape[1:]) if by_layer else values.shape
    with zarr.config.set(EVERY_CHUNK):
        array = group.create_array(
            name,
            shape=values.shape,
            chunks=tuple(max(1, size) for size in sizes),
            compressors=CODECS,
            dtype="string" if text else values.dtype,
            dimension_names=dims,
            overwrite=overwrite,
            fill_value=fill_value("string" if text else str(values.dtype)),  # what is lost reads as unknown, not as 0
            attributes=dict(*attributes),
        )
        if values.size:
            array[...] = values.astype(object) if text else values


def raised_by_reader(error: BaseException) -> bool:
    """Whether an error came up inside zarr or xarray, which stumble over metadata that is not what it should be."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    module = "" if frame is None else str(frame.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] in READERS


READERS = ("zarr", "xarray", "numcodecs", "json")


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """A full disk and a damaged folder as one clear line each."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(cannot_write(path, error)) from error
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, Damaged) as error:
        if isinstance(error, KeyError | TypeError | AttributeError) and not raised_by_reader(error):
            raise  # a defect of the program, not of the study
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StudyProblem(f"the study {path} is damaged ({first}); restore it or give another folder") from error
