"""A zarr store that verifies every chunk it reads: a lost or changed one is an error, never a number."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from zarr.storage import LocalStore

from headcount.core.damage import refuse_damaged
from headcount.core.manifest import COMPLETE, NODE, Damaged, check_chunk, has_checksum


class CheckedStore(LocalStore):  # type: ignore[misc]
    """Reads a study; errors name the result, the file and the command that computes it again."""

    def __init__(self, root: Path | str, *, read_only: bool = True) -> None:
        super().__init__(root, read_only=read_only)
        self.known: dict[str, tuple[bool, bool]] = {}

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        chunk = await super().get(key, prototype, byte_range)
        self._check(key, chunk, byte_range)
        return chunk

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
        chunk = super().get_sync(key, prototype=prototype, byte_range=byte_range)
        self._check(key, chunk, byte_range)
        return chunk

    def _check(self, key: str, chunk: Any, byte_range: Any) -> None:
        match = re.fullmatch(r"((?:.*/)?([^/]+))/c(?:/\d+)*", key)
        if match is None or byte_range is not None:
            return
        array = match[1]
        if array not in self.known:
            self.known[array] = _promises(Path(self.root), array)
        checked, complete = self.known[array]
        if not checked:
            return
        try:
            if chunk is not None:
                check_chunk(chunk.to_bytes())
            elif complete:
                raise Damaged("is missing")
        except Damaged as error:
            refuse_damaged(self.root, {array.rpartition("/")[0]: [f"{key} {error}"]})


def _promises(root: Path, array: str) -> tuple[bool, bool]:
    """Whether an array has checksums, and whether its result is complete, so that no chunk may be missing."""
    try:
        node = json.loads((root / array / NODE).read_bytes())
        group = json.loads((root / array).parent.joinpath(NODE).read_bytes())
        return has_checksum(node), bool(group["attributes"].get(COMPLETE, False))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False, False
