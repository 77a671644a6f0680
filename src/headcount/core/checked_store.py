"""A study's chunks as zarr reads them, each checked on the way: a lost or changed one is an error, never a number."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from zarr.storage import LocalStore

from headcount.core.damage import refuse_damaged
from headcount.core.manifest import COMPLETE, NODE, Damaged, check_chunk, has_checksum


class CheckedStore(LocalStore):  # type: ignore[misc]
    """Reads a study; an error names the result, the file and the command that computes it again."""

    def __init__(self, root: Path | str, *, read_only: bool = True) -> None:
        super().__init__(root, read_only=read_only)
        self.known: dict[str, tuple[bool, bool]] = {}

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        found = await super().get(key, prototype, byte_range)
        self._check(key, found, byte_range)
        return found

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
        found = super().get_sync(key, prototype=prototype, byte_range=byte_range)
        self._check(key, found, byte_range)
        return found

    def _check(self, key: str, found: Any, byte_range: Any) -> None:
        match = re.fullmatch(r"((?:.*/)?([^/]+))/c(?:/\d+)*", key)
        if match is None or byte_range is not None:
            return
        array = match[1]
        if array not in self.known:
            self.known[array] = _kind(Path(self.root), array)
        checked, complete = self.known[array]
        if not checked:
            return
        try:
            if found is not None:
                check_chunk(found.to_bytes())
            elif complete:
                raise Damaged("is missing")
        except Damaged as error:
            refuse_damaged(self.root, {array.rpartition("/")[0]: [f"{key} {error}"]})


def _kind(root: Path, array: str) -> tuple[bool, bool]:
    """Whether an array has checksums, and whether its result is complete: then no chunk may be missing."""
    try:
        node = json.loads((root / array / NODE).read_bytes())
        group = json.loads((root / array).parent.joinpath(NODE).read_bytes())
        return has_checksum(node), bool(group["attributes"].get(COMPLETE, False))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False, False
