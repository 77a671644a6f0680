"""What an output holds, in a form in which two of them can be compared bit for bit."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

TIMES = {"ms", "ms_low", "ms_high", "per_second", "peak_bytes", "seconds"}
"""What is never the same twice."""


def describe(folder: Path) -> dict[str, str]:
    """By name, a digest of everything in a folder: arrays and attributes of studies, all other files byte by byte.

    Runs in a child of its own, as zarr starts a thread.
    """
    found: dict[str, str] = {}
    for place in sorted(one for one in folder.iterdir() if not one.name.startswith(".")):
        if (place / "zarr.json").is_file():
            found |= {f"{place.name}: {name}": digest for name, digest in _study(place).items()}
        elif place.is_dir():
            found |= {str(one.relative_to(folder)): _file(one) for one in sorted(place.rglob("*")) if one.is_file()}
        else:
            found[place.name] = _file(place)
    return found


def _study(place: Path) -> dict[str, str]:
    from headcount.core.read_study import open_study

    found = {}
    tree = open_study(place)
    for name in ("model", "beside"):  # which of two results came first
        tree.attrs.pop(name, None)
    for node in tree.subtree:
        found[f"{node.path} attributes"] = _digest(
            json.dumps(_timeless(node.attrs), sort_keys=True, default=str).encode()
        )
        for name, array in node.to_dataset().variables.items():
            if name not in TIMES:
                values = array.values
                content = json.dumps(values.tolist()).encode() if values.dtype.kind in "UOT" else values.tobytes()
                found[f"{node.path}/{name}"] = _digest(str((array.dims, values.shape, values.dtype)).encode() + content)
    return found


def _file(place: Path) -> str:
    if place.suffix == ".csv":
        import pandas as pd

        table = pd.read_csv(place)
        return _digest(table[[name for name in table if name not in TIMES]].to_csv().encode())
    if place.name == "result.json":
        return _digest(json.dumps(_timeless(json.loads(place.read_text())), sort_keys=True).encode())
    return _digest(place.read_bytes())


def _timeless(entries: Any) -> Any:
    if not isinstance(entries, dict):
        return entries
    return {key: _timeless(value) for key, value in entries.items() if key not in TIMES}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def differing(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The names whose content differs, or that only one of the two has."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def hidden(folder: Path) -> list[str]:
    """Names of files and folders that were meant to be there for a moment alone."""
    return sorted(
        str(one.relative_to(folder))
        for one in folder.rglob("*")
        if one.name.startswith(".") or one.name.endswith(".partial")
    )
