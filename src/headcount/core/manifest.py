"""The metadata files of a study, each with a digest, and the checksums of its chunks.

A chunk carries its own checksum (zarr's crc32c). A group stores the digests of its arrays' metadata and its own digest,
which the study's root lists again, so that nothing can be changed or lost unnoticed. Results of earlier versions have
no digests and are not checked.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

from headcount.core.leftovers import scratch

VERSION = 2
"""Studies have digests since version 2."""
MARK = "headcount_study"
NODE = "zarr.json"
DIGEST, MANIFEST, RESULTS, COMPLETE = "digest", "manifest", "results", "complete"
INTERNAL = (DIGEST, MANIFEST)
"""Attributes that only the checks need; results are shown without them."""
Node = dict[str, Any]


class Damaged(Exception):
    """A file of a study is not what was written."""


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def group_node(attributes: Mapping[str, Any]) -> Node:
    return {"zarr_format": 3, "node_type": "group", "attributes": dict(attributes)}


def write_sealed(study: Path, folder: Path, node: Node) -> None:
    """Write a group's metadata with its digest, atomically."""
    # The digest is the last attribute, so that its position is known; it covers everything around it.
    blank = "0" * 16
    attributes = {key: value for key, value in node["attributes"].items() if key != DIGEST} | {DIGEST: blank}
    sealed = {key: value for key, value in node.items() if key != "attributes"} | {"attributes": attributes}
    before, _, after = json.dumps(sealed, indent=2).rpartition(blank)
    with scratch(study) as temporary:
        (temporary / NODE).write_text(f"{before}{digest((before + after).encode())}{after}", encoding="utf-8")
        os.replace(temporary / NODE, folder / NODE)


def read_node(folder: Path, expected: str | None = None) -> Node:
    """A group's metadata, checked against its own digest if it has one, and against the `expected` one."""
    with _as_damage():
        content = (folder / NODE).read_bytes()
    try:
        node = json.loads(content)
    except ValueError:
        raise Damaged("is not readable") from None
    if not isinstance(node, dict) or not isinstance(node.get("attributes"), dict) or "node_type" not in node:
        raise Damaged("is not readable")
    sealed = node["attributes"].get(DIGEST)
    if sealed is not None:
        before, mark, after = content.rpartition(str(sealed).encode())
        if not mark or digest(before + after) != sealed:
            raise Damaged("was changed")
    elif MANIFEST in node["attributes"]:
        raise Damaged("was changed")
    if expected is not None and sealed != expected:
        raise Damaged("was changed")
    return node


@contextmanager
def _as_damage() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise Damaged("is missing") from None
    except OSError as error:
        raise Damaged(f"cannot be read ({error.strerror})") from None


def read_root(study: Path) -> dict[str, Any]:
    """The attributes of the study itself."""
    attributes: dict[str, Any] = read_node(study)["attributes"]
    if attributes.get(MARK) == VERSION and DIGEST not in attributes:
        raise Damaged("was changed")
    return attributes


def is_study(folder: Path) -> bool:
    """Whether the folder's metadata says that Headcount wrote it."""
    try:
        return MARK in read_root(folder)
    except Damaged:
        return False


def visible(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that a reader sees."""
    return {key: value for key, value in attributes.items() if key not in INTERNAL}


def has_checksum(array: Node) -> bool:
    return any(codec.get("name") == "crc32c" for codec in array["codecs"])


def chunk_files(array: Node) -> Iterator[str]:
    """The names of all chunks of an array, from its metadata."""
    sizes = array["chunk_grid"]["configuration"]["chunk_shape"]
    counts = [math.ceil(length / size) for length, size in zip(array["shape"], sizes, strict=True)]
    for index in product(*map(range, counts)):
        yield "/".join(("c", *map(str, index)))


def check_chunk(content: bytes) -> None:
    """Compare a chunk with its checksum, the last four bytes."""
    import google_crc32c  # a dependency of zarr

    if len(content) < 4:
        raise Damaged("is cut off")
    if struct.unpack("<I", content[-4:])[0] != google_crc32c.value(content[:-4]):
        raise Damaged("was changed")


def check_file(file: Path, deep: bool) -> int:
    """The size in bytes of a chunk that must be there; with `deep` its checksum is verified."""
    with _as_damage():
        if not deep:
            return file.stat().st_size
        content = file.read_bytes()
    check_chunk(content)
    return len(content)


def array_nodes(folder: Path) -> dict[str, str]:
    """By name, the digests of the metadata of all arrays in a group."""
    digests = {}
    for child in sorted(folder.iterdir()):
        with suppress(OSError, ValueError, KeyError, TypeError):
            content = (child / NODE).read_bytes()
            if json.loads(content)["node_type"] == "array":
                digests[child.name] = digest(content)
    return digests


def chunk_bytes(folder: Path, arrays: Iterable[str]) -> dict[str, int]:
    """By name, the bytes of all chunks of the arrays with checksums: a truncated file is noticed without reading it."""
    sizes = {}
    for array in arrays:
        node = json.loads((folder / array / NODE).read_bytes())
        if has_checksum(node):
            sizes[array] = sum((folder / array / file).stat().st_size for file in chunk_files(node))
    return sizes
