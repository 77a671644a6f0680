"""A study: a folder with a zarr tree, one group for each result, written so that a kill at any moment loses little.

A group is laid out whole under another name and moved into place. Its units of work are then written one by
one, each in chunks of its own, and marked as done after its last chunk; what is computed from all of them
comes at the end, and the mark that the group is complete comes last, after all was read back.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
import zarr
import zarr.api.asynchronous

from headcount.core.checked_store import CheckedStore
from headcount.core.group import (
    CODECS,
    DONE,
    Group,
    clear_errors,
    open_result,
    plan_array,
    put_array,
)
from headcount.core.leftovers import scratch
from headcount.core.lock import finishing
from headcount.core.manifest import (
    COMPLETE,
    DIGEST,
    INTERNAL,
    MANIFEST,
    MARK,
    NODE,
    RESULTS,
    Damaged,
    array_nodes,
    damages,
    examine,
    find_results,
    group_node,
    read_node,
    refuse_damaged,
    tell_damage,
    write_sealed,
)
from headcount.core.provenance import current_command, fingerprint
from headcount.core.results import ArrayPlan, Labelled
from headcount.core.study_model import models_of
from headcount.core.study_root import (
    admit_models,
    check_root,
    create_root,
    entry,
    is_restorable,
    list_result,
    listed_results,
    restore_root,
)
from headcount.errors import HeadcountWarning, InvalidOption, StudyProblem

__all__ = [
    "DONE",
    "MARK",
    "ArrayPlan",
    "Group",
    "Study",
    "check_study",
    "check_whole",
    "clear_errors",
    "damages",
    "open_study",
    "read_results",
]


class Study:
    """A study folder, opened for adding to it; made if it is not there."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise StudyProblem(f"{self.path} is a file; expected a study folder or a name that is free")
        with clear_errors(self.path):
            if self.path.is_dir() and any(self.path.iterdir()):
                restore_root(self.path)
                check_study(self.path)
            else:
                create_root(self.path)

    def has(self, name: str) -> bool:
        return (self.path / name / NODE).is_file()

    def _has_arrays(self, name: str) -> bool:
        """Whether something is left of a result that lost its metadata."""
        folder = self.path / name
        return folder.is_dir() and bool(array_nodes(folder))

    def existing(self, name: str, identity: Mapping[str, Any]) -> Group | None:
        """The group with this name, if it is there and whole; a damaged one is taken away, to be computed again."""
        _check_name(name)
        with finishing(self.path):
            return self._existing(name, identity)

    def _existing(self, name: str, identity: Mapping[str, Any]) -> Group | None:
        with clear_errors(self.path):
            listed = listed_results(self.path).get(name)
            if listed is None and not self.has(name) and not self._has_arrays(name):
                return None
            wrong = examine(self.path, name, deep=True, expected=listed[DIGEST] if listed else None)
            if wrong:
                self._take_away(name, identity, wrong, listed)
                return None
            for place in _above(name):
                self._check_parent(place)
            said = read_node(self.path / name)["attributes"]
            if listed is None and said.get(COMPLETE) and DIGEST in said:  # killed before it was entered
                list_result(self.path, name, entry(said))
        return Group(self.path, name, identity)

    def group(
        self,
        name: str,
        identity: dict[str, Any],
        attributes: Mapping[str, Any],
        arrays: Mapping[str, ArrayPlan],
        fixed: Labelled,
        units: list[tuple[int, int]],
    ) -> Group:
        """The group with this name: the one that is there, if it was made with the same options, or a new one."""
        _check_name(name)
        with finishing(self.path):
            found = self._existing(name, identity)
            if found is not None:
                return found
            with clear_errors(self.path):
                admit_models(self.path, name, models_of(identity, attributes))
                self._lay_out(name, identity, attributes, arrays, fixed, units)
        return Group(self.path, name, identity)

    def announce(self, name: str, identity: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        """Say before anything is computed which models a result will speak of: others than the study's are refused."""
        with finishing(self.path), clear_errors(self.path):
            admit_models(self.path, name, models_of(identity, attributes))

    def _lay_out(
        self,
        name: str,
        identity: dict[str, Any],
        attributes: Mapping[str, Any],
        arrays: Mapping[str, ArrayPlan],
        fixed: Labelled,
        units: list[tuple[int, int]],
    ) -> None:
        for parent in _above(name):
            self._check_parent(parent)
        with scratch(self.path) as place:
            said = {**attributes, "identity": identity, "command": current_command(), COMPLETE: False}
            group = zarr.open_group(place / "group", mode="w", zarr_format=3, attributes=said)
            # Units are all of one size but the last, so that each has chunks of its own.
            size = max(1, units[0][1] - units[0][0])
            for key, plan in arrays.items():
                plan_array(group, key, plan, size)
            for key, labelled in fixed.items():
                put_array(group, key, labelled)
            group.create_array(
                DONE,
                shape=(len(units),),
                chunks=(1,),
                dtype="bool",
                dimension_names=("unit",),
                compressors=CODECS,
                fill_value=False,
            )
            node = read_node(place / "group")
            told = {"arrays": array_nodes(place / "group"), "by_unit": [*arrays, DONE]}
            node["attributes"][MANIFEST] = told
            write_sealed(self.path, place / "group", node)
            self._put(place / "group", self.path / name)

    def _put(self, new: Path, target: Path) -> None:
        """Move a group to its place; over a folder that holds results of deeper names, part by part, metadata last."""
        if not target.exists():
            os.replace(new, target)
            return
        for part in sorted(new.iterdir(), key=lambda one: one.name == NODE):
            if (target / part.name).is_dir():
                shutil.rmtree(target / part.name)
            os.replace(part, target / part.name)

    def _check_parent(self, name: str) -> None:
        """A folder above results says nothing but that it is a group: it is written anew where that is lost."""
        folder = self.path / name
        if not folder.is_dir():
            folder.mkdir()
        else:
            try:
                read_node(folder)
                return
            except Damaged as error:
                told = f"{folder}/{NODE} {error}; it was restored"
                warnings.warn(told, HeadcountWarning, stacklevel=2)
        write_sealed(self.path, folder, group_node({}))

    def _take_away(
        self, name: str, identity: Mapping[str, Any], wrong: list[str], listed: Mapping[str, str] | None
    ) -> None:
        """Remove a damaged result, but not one that other options made, nor results of deeper names within it."""
        folder = self.path / name
        try:
            known = fingerprint([read_node(folder)["attributes"].get("identity", {})])
        except Damaged:
            known = listed["identity"] if listed else ""
        if known and known != fingerprint([identity]):
            raise StudyProblem(f"{tell_damage(self.path, {name: wrong})} (it was made with other options than these)")
        list_result(self.path, name, None)
        if folder.is_dir():
            (folder / NODE).unlink(missing_ok=True)
            deeper = [other for other in find_results(self.path)[0] if other.startswith(f"{name}/")]
            for part in folder.iterdir():
                inside = f"{name}/{part.name}"
                if part.is_dir() and not any(f"{other}/".startswith(f"{inside}/") for other in deeper):
                    shutil.rmtree(part)
            if not deeper:
                shutil.rmtree(folder)
        warnings.warn(
            f"{self.path}: {name} was damaged ({wrong[0]}) and is computed again", HeadcountWarning, stacklevel=2
        )


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[\w.@-]+(/[\w.@-]+)*", name) or ".." in name:
        raise StudyProblem(f"got {name!r} for the name of a result; expected letters, digits, '.', '-' and '_'")


def _above(name: str) -> list[str]:
    """The groups that a result lies in, from the outside in."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def check_study(path: Path) -> None:
    """An error if the folder is not a study, is damaged, or is of a version that this program does not know."""
    with clear_errors(path):
        check_root(path)


def check_whole(path: Path, asked: Callable[[str], bool]) -> None:
    """An error if the study's list, or one of the results that are `asked` for, is damaged; other results may be."""
    check_study(path)
    with clear_errors(path):
        refuse_damaged(path, {name: wrong for name, wrong in damages(path).items() if asked(name)})


def open_study(path: str | Path, *, damaged: Literal["raise", "skip"] = "raise") -> xr.DataTree:
    """A study as an xarray.DataTree: `open_study("runs/mrpc")["sweep/head-uniform"]["score"]`.

    A damaged result is an error that says which command computes it again; with `damaged="skip"` it is left out.
    Chunks are checked when they are read.
    """
    path = Path(path)
    with clear_errors(path):
        if damaged != "skip" or not path.is_dir() or not is_restorable(path):
            check_study(path)
        found = damages(path)
        if damaged != "skip":
            refuse_damaged(path, found)
        names = [name for name in find_results(path)[0] if name not in found]
        store = CheckedStore(path)
        attributes = _root_attributes(path)
        tree = xr.DataTree.from_dict(
            {"/": xr.Dataset(attrs=attributes), **{f"/{name}": open_result(store, name) for name in names}}
        )
        tree.encoding = {"source": str(path)}
        return tree


StudyLike = str | Path | xr.DataTree
"""A study: its folder, or what `open_study` gives."""


def study_path(study: StudyLike) -> Path:
    """The folder of a study."""
    if not isinstance(study, xr.DataTree):
        return Path(study)
    if "source" not in study.root.encoding:
        raise InvalidOption("got a DataTree that open_study did not open; expected a study or its folder")
    return Path(study.root.encoding["source"])


def _root_attributes(path: Path) -> dict[str, Any]:
    try:
        attributes = read_node(path)["attributes"]
    except Damaged:
        return {}
    return {key: value for key, value in attributes.items() if key not in (*INTERNAL, RESULTS)}


def read_results(
    path: str | Path, wanted: Callable[[str, str, tuple[int, ...]], bool]
) -> dict[str, tuple[bool, xr.Dataset]]:
    """By name, whether a result is complete, and those of its arrays that are `wanted` (result, array, shape).

    All arrays are read side by side, which for hundreds of small ones is several times as fast as `open_study`.
    """
    path = Path(path)
    with clear_errors(path):
        check_study(path)
        refuse_damaged(path, damages(path))
        told = {
            place.parent.relative_to(path).as_posix(): json.loads(place.read_text(encoding="utf-8"))
            for place in sorted(path.rglob(NODE))
        }
        groups = {
            name: node["attributes"]
            for name, node in told.items()
            if node["node_type"] == "group" and COMPLETE in node["attributes"]
        }
        asked: list[tuple[str, str, tuple[str, ...], dict[str, Any]]] = []
        for place, node in told.items():
            name, _, array = place.rpartition("/")
            if node["node_type"] == "array" and name in groups and wanted(name, array, tuple(node["shape"])):
                asked.append((name, array, tuple(node.get("dimension_names") or ()), node.get("attributes", {})))
        # In a thread of its own: where a loop is running already, as in a notebook, there may be no second one.
        with ThreadPoolExecutor(1) as pool:
            places = [f"{name}/{array}" for name, array, *_ in asked]
            arrays = pool.submit(asyncio.run, _read_arrays(CheckedStore(path), places)).result()
        found: dict[str, dict[str, tuple[Any, ...]]] = {name: {} for name in groups}
        for (name, array, dims, attributes), values in zip(asked, arrays, strict=True):
            found[name][array] = (dims, values, attributes)
        return {
            name: (bool(group[COMPLETE]), xr.Dataset(found[name], attrs=_shown(group)))
            for name, group in groups.items()
        }


def _shown(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if key not in INTERNAL}


async def _read_arrays(store: CheckedStore, places: list[str]) -> list[np.ndarray]:
    async def read(place: str) -> np.ndarray:
        array = await zarr.api.asynchronous.open_array(store=store, path=place, mode="r", zarr_format=3)
        return np.asarray(await array.getitem(...))

    return list(await asyncio.gather(*map(read, places)))
