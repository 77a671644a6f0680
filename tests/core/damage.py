"""Ways to damage a file, and a small study to damage: of units, written as a whole, with a deeper name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import xarray as xr

from headcount.core.provenance import command
from headcount.core.results import ArrayPlan
from headcount.core.store import Study
from tests.study_results import write_result

UNITS = [(0, 4), (4, 8), (8, 9)]
SMALL = xr.Dataset(
    {
        "score": (("order", "removed"), np.array([[0.5, np.nan]])),
        "baseline": ((), 0.7),
        "nothing": (("none",), np.zeros(0)),
        "heads": (("order", "rank"), np.array([["L0H1", ""]], dtype=object)),
    },
    coords={"order": ["importance"], "removed": [3, 6]},
    attrs={"task": "sst2", "examples": 12},
)


Harm = Callable[[bytes], "bytes | None"]


def delete(content: bytes) -> bytes | None:
    return None


def empty(content: bytes) -> bytes:
    return b""


def halve(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip(bit: int) -> Callable[[bytes], bytes]:
    """One bit of the file is another one; `bit` counts from its beginning, and round again."""

    def flipped(content: bytes) -> bytes:
        place, which = divmod(bit % (8 * len(content)), 8)
        return content[:place] + bytes([content[place] ^ 1 << which]) + content[place + 1 :]

    return flipped


def harm(file: Path, how: Harm) -> None:
    changed = how(file.read_bytes())
    if changed is None:
        file.unlink()
    else:
        file.write_bytes(changed)


def files(study: Path) -> dict[str, bytes]:
    return {str(one.relative_to(study)): one.read_bytes() for one in sorted(study.rglob("*")) if one.is_file()}


def write_units(path: Path, complete: bool = True, first: int = 0) -> int:
    """The result of units, or what it lacks; how many units were computed."""
    arrays = {
        "logits": ArrayPlan(("set", "example"), (2, 9), "float32"),
        "texts": ArrayPlan(("set", "example"), (2, 9), "string"),
        "unknown": ArrayPlan(("example",), (9,), "float32"),  # nothing but the fill value
    }
    fixed = {"set": (("set",), np.array(["L0H1", "L2"], dtype=object))}
    identity = {"seed": 1, "model": "aaaa"}
    with command("headcount sweep A --out study"):
        group = Study(path).group("sweep/sets-zero", identity, {"model": "A"}, arrays, fixed, UNITS)
    if group.complete:
        return 0
    missing = [unit for unit, there in enumerate(group.done()) if not there and unit >= first]
    for unit in missing:
        start, stop = UNITS[unit]
        values = np.arange(2 * (stop - start), dtype="float32").reshape(2, -1) + unit
        nothing = np.full(stop - start, np.nan, dtype="float32")
        group.write_unit(
            unit, start, stop, {"logits": values, "texts": values.astype(str).astype(object), "unknown": nothing}
        )
    if complete:
        group.finish({"score": (("set",), np.array([0.5, np.nan]))}, {"note": "x"})
    return len(missing)


def write_all(path: Path) -> Path:
    write_units(path)
    with command("headcount prune A --study study"):
        write_result(path, "pruning/curve@a/b", {"model": "aaaa"}, SMALL)
        write_result(path, "cost/models", {}, xr.Dataset({"ms": ("row", [1.5, 2.5])}))
    return path
