"""Reading a study: as an xarray.DataTree, or many small arrays of it at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
import zarr.api.asynchronous

from headcount.core.arrays import open_result
from headcount.core.checked_store import CheckedStore
from headcount.core.damage import damages, find_results, refuse_damaged
from headcount.core.manifest import COMPLETE, NODE, RESULTS, Damaged, read_node, visible
from headcount.core.study_errors import clear_errors
from headcount.core.study_root import check_root, is_restorable
from headcount.errors import InvalidOption

StudyLike = str | Path | xr.DataTree
"""A study: its folder, or what `open_study` returns."""


def study_path(study: StudyLike) -> Path:
    """The folder of a study."""
    if not isinstance(study, xr.DataTree):
        return Path(study)
    if "source" not in study.root.encoding:
        raise InvalidOption("got a DataTree that open_study did not open; expected a study or its folder")
    return Path(study.root.encoding["source"])


def check_study(path: Path) -> None:
    """An error if the folder is not a study, is damaged, or has a version that this program does not know."""
    with clear_errors(path):
        check_root(path)


def check_whole(path: Path, asked: Callable[[str], bool]) -> None:
    """An error if the study's list, or one of the results that are `asked` for, is damaged; other results may be."""
    check_study(path)
    with clear_errors(path):
        refuse_damaged(path, {name: problems for name, problems in damages(path).items() if asked(name)})


def open_study(path: str | Path, *, damaged: Literal["raise", "skip"] = "raise") -> xr.DataTree:
    """A study as an xarray.DataTree: `open_study("runs/mrpc")["sweep/head-uniform"]["score"]`.

    A damaged result is an error that says which command computes it again; with `damaged="skip"` it is left out.
    Chunks are checked when they are read.
    """
    path = Path(path)
    with clear_errors(path):
        if damaged != "skip" or not path.is_dir() or not is_restorable(path):
            check_study(path)
        problems = damages(path)
        if damaged != "skip":
            refuse_damaged(path, problems)
        store = CheckedStore(path)
        results = {f"/{name}": open_result(store, name) for name in find_results(path)[0] if name not in problems}
        tree = xr.DataTree.from_dict({"/": xr.Dataset(attrs=_root_attributes(path)), **results})
        tree.encoding = {"source": str(path)}
        return tree


def _root_attributes(path: Path) -> dict[str, Any]:
    try:
        attributes = visible(read_node(path)["attributes"])
    except Damaged:
        return {}
    return {key: value for key, value in attributes.items() if key != RESULTS}


def read_results(
    path: str | Path, wanted: Callable[[str, str, tuple[int, ...]], bool]
) -> dict[str, tuple[bool, xr.Dataset]]:
    """By name, whether a result is complete, and those of its arrays that are `wanted` (result, array, shape).

    All arrays are read concurrently, which for hundreds of small ones is several times as fast as `open_study`.
    """
    path = Path(path)
    with clear_errors(path):
        check_study(path)
        refuse_damaged(path, damages(path))
        nodes = {
            file.parent.relative_to(path).as_posix(): json.loads(file.read_text(encoding="utf-8"))
            for file in sorted(path.rglob(NODE))
        }
        groups = {
            name: node["attributes"]
            for name, node in nodes.items()
            if node["node_type"] == "group" and COMPLETE in node["attributes"]
        }
        asked = []
        for key, node in nodes.items():
            name, _, array = key.rpartition("/")
            if node["node_type"] == "array" and name in groups and wanted(name, array, tuple(node["shape"])):
                asked.append(key)
        # In a thread of its own: an event loop may be running already, as in a notebook, and cannot be nested.
        with ThreadPoolExecutor(1) as pool:
            arrays = pool.submit(asyncio.run, _read_arrays(CheckedStore(path), asked)).result()
        variables: dict[str, dict[str, tuple[Any, ...]]] = {name: {} for name in groups}
        for key, values in zip(asked, arrays, strict=True):
            name, _, array = key.rpartition("/")
            dims = tuple(nodes[key].get("dimension_names") or ())
            variables[name][array] = (dims, values, nodes[key].get("attributes", {}))
        return {
            name: (bool(attributes[COMPLETE]), xr.Dataset(variables[name], attrs=visible(attributes)))
            for name, attributes in groups.items()
        }


async def _read_arrays(store: CheckedStore, keys: list[str]) -> list[np.ndarray]:
    async def read(key: str) -> np.ndarray:
        array = await zarr.api.asynchronous.open_array(store=store, path=key, mode="r", zarr_format=3)
        return np.asarray(await array.getitem(...))

    return list(await asyncio.gather(*map(read, keys)))
