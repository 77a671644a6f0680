"""A small result of a study, written in one step: what the tests of stores and pages read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import xarray as xr

from headcount.core.store import Study


def write_result(path: str | Path, name: str, identity: dict[str, Any], result: xr.Dataset) -> None:
    """The group that is there must have been made with the same options."""
    fixed = {str(key): (tuple(map(str, one.dims)), one.values, one.attrs) for key, one in result.variables.items()}
    group = Study(path).group(name, identity, result.attrs, {}, fixed, [(0, 1)])
    if not group.complete:
        group.finish({}, {})
