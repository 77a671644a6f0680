"""Is a study what was written? Every group says what it holds, with digests, and the study lists its complete results.

A chunk carries its own checksum (zarr's crc32c). The digest of each array's metadata stands in its group, the group's
own digest in its attributes, and again in the study's root, so that nothing can be changed or lost without a trace.
Results of earlier versions have no digests; of them nothing is checked.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

from headcount.core.leftovers import scratch
from headcount.errors import StudyProblem

VERSION = 2
"""From 2 on a study has digests."""
MARK = "headcount_study"
NODE = "zarr.json"
DIGEST, MANIFEST, RESULTS, COMPLETE = "digest", "manifest", "results", "complete"
INTERNAL = (DIGEST, MANIFEST)
"""Attributes that are for this file alone."""
Node = dict[str, Any]


class Damaged(Exception):
    """A file of a study is not what was written."""


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def group_node(attributes: Mapping[str, Any]) -> Node:
    return {"zarr_format": 3, "node_type": "group", "attributes": dict(attributes)}


def write_sealed(study: Path, folder: Path, node: Node) -> None:
    """Write a group's metadata with its own digest, all or nothing."""
    attributes = {key: value for key, value in node["attributes"].items() if key != DIGEST}
    blank = "0" * 16
    # The digest is the last entry, so that its place is known; it is taken of all that stands around it.
    whole = {
        **{key: value for key, value in node.items() if key != "attributes"},
        "attributes": {**attributes, DIGEST: blank},
    }
    before, _, after = json.dumps(whole, indent=2).rpartition(blank)
    found = digest((before + after).encode())
    with scratch(study) as place:
        (place / NODE).write_text(f"{before}{found}{after}", encoding="utf-8")
        os.replace(place / NODE, folder / NODE)


def read_node(folder: Path, expected: str | None = None) -> Node:
    """A group's metadata, checked against its own digest where it has one, and against the one that is `expected`."""
    try:
        content = (folder / NODE).read_bytes()
    except FileNotFoundError:
        raise Damaged("is missing") from None
    except OSError as error:
        raise Damaged(f"cannot be read ({error.strerror})") from None
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


def read_root(study: Path) -> dict[str, Any]:
    """The attributes of the study itself."""
    attributes: dict[str, Any] = read_node(study)["attributes"]
    if attributes.get(MARK) == VERSION and DIGEST not in attributes:
        raise Damaged("was changed")
    return attributes


def is_study(folder: Path) -> bool:
    """Whether the folder says of itself that Headcount wrote it."""
    try:
        return MARK in read_root(folder)
    except Damaged:
        return False


def has_checksum(array: Node) -> bool:
    return any(codec.get("name") == "crc32c" for codec in array["codecs"])


def chunk_files(array: Node) -> Iterator[str]:
    """The names of all chunks of an array, from its metadata."""
    sizes = array["chunk_grid"]["configuration"]["chunk_shape"]
    counts = [math.ceil(length / size) for length, size in zip(array["shape"], sizes, strict=True)]
    for place in product(*map(range, counts)):
        yield "/".join(("c", *map(str, place)))


def check_chunk(content: bytes) -> None:
    """The last four bytes are the checksum of those before."""
    import google_crc32c  # zarr brings it

    if len(content) < 4 or struct.unpack("<I", content[-4:])[0] != google_crc32c.value(content[:-4]):
        raise Damaged("was changed" if len(content) >= 4 else "is cut off")


def check_file(file: Path, deep: bool) -> int:
    """A chunk that must be there; `deep`: also what is in it. Its bytes."""
    try:
        if deep:
            content = file.read_bytes()
            check_chunk(content)
            return len(content)
        return file.stat().st_size
    except FileNotFoundError:
        raise Damaged("is missing") from None
    except OSError as error:
        raise Damaged(f"cannot be read ({error.strerror})") from None


def array_nodes(folder: Path) -> dict[str, str]:
    """By name, the digests of the metadata of all arrays in a group."""
    found = {}
    for place in sorted(folder.iterdir()):
        with suppress(OSError, ValueError, KeyError, TypeError):
            content = (place / NODE).read_bytes()
            if json.loads(content)["node_type"] == "array":
                found[place.name] = digest(content)
    return found


def examine(
    study: Path, name: str, deep: bool = False, expected: str | None = None, as_if: Node | None = None
) -> list[str]:
    """What is wrong with a result, a file each: [] where it is what was written.

    Without `deep` the contents of chunks are not read: that is done when somebody reads them. `expected`: the digest
    that the study's list has of it. `as_if`: the metadata that it will have.
    """
    folder = study / name
    try:
        node = as_if or read_node(folder, expected)
    except Damaged as error:
        return [f"{name}/{NODE} {error}"]
    manifest = node["attributes"].get(MANIFEST)
    if manifest is None:
        return []
    wrong = []
    for array, known in manifest["arrays"].items():
        try:
            content = (folder / array / NODE).read_bytes()
        except OSError:
            wrong.append(f"{name}/{array}/{NODE} is missing")
            continue
        if digest(content) != known:
            wrong.append(f"{name}/{array}/{NODE} was changed")
            continue
        found = json.loads(content)
        if not has_checksum(found) or (array in manifest["by_unit"] and not node["attributes"].get(COMPLETE)):
            continue
        size, lost = _check_chunks(f"{name}/{array}/", folder / array, found, deep)
        if not lost and not deep and size != manifest.get("bytes", {}).get(array, size):
            lost = _check_chunks(f"{name}/{array}/", folder / array, found, True)[1]  # which one it is
        wrong += lost
    return wrong


def _check_chunks(name: str, folder: Path, array: Node, deep: bool) -> tuple[int, list[str]]:
    """The bytes of all chunks of an array, and what is wrong with some."""
    size, wrong = 0, []
    for file in chunk_files(array):
        try:
            size += check_file(folder / file, deep)
        except Damaged as error:
            wrong.append(f"{name}{file} {error}")
    return size, wrong


def chunk_bytes(folder: Path, arrays: Iterable[str]) -> dict[str, int]:
    """By name, the bytes of all chunks of the arrays that have checksums: cut-off files are noticed without reading."""
    found = {}
    for array in arrays:
        node = json.loads((folder / array / NODE).read_bytes())
        if has_checksum(node):
            found[array] = sum((folder / array / file).stat().st_size for file in chunk_files(node))
    return found


def find_results(study: Path) -> tuple[dict[str, Node | None], list[str]]:
    """By name, the metadata of all results (None: not readable), and what is wrong with the folders above them."""
    results: dict[str, Node | None] = {}
    wrong: list[str] = []

    def visit(folder: Path) -> bool:
        """Whether the folder is, or holds, a result."""
        name = folder.relative_to(study).as_posix()
        problem, node = None, None
        try:
            node = read_node(folder)
        except Damaged as error:
            problem = str(error)
        if node is not None and node["node_type"] != "group":
            return False
        arrays = node["attributes"].get(MANIFEST, {}).get("arrays", {}) if node is not None else {}
        children = [one for one in sorted(folder.iterdir()) if one.is_dir() and one.name not in arrays]
        inside = [visit(one) for one in children]
        if node is not None and COMPLETE in node["attributes"]:
            results[name] = node
            return True
        if node is not None and DIGEST not in node["attributes"] and node["attributes"]:
            problem = "was changed"
        if problem is None:
            return any(inside)
        if any(inside):
            wrong.append(f"{name}/{NODE} {problem}")
        elif any((one / NODE).is_file() for one in children):  # arrays alone: a result that lost its metadata
            results[name] = None
            return True
        return any(inside)

    for folder in sorted(study.iterdir()):
        if folder.is_dir():
            visit(folder)
    return results, wrong


def damages(path: str | Path, deep: bool = False) -> dict[str, list[str]]:
    """By name, what is wrong with each damaged result of a study, with the file; the study itself is named "".

    `deep`: every chunk is read and its checksum compared.
    """
    study = Path(path)
    found: dict[str, list[str]] = {}
    listed: Mapping[str, Any] = {}
    try:
        listed = read_root(study).get(RESULTS, {})
    except Damaged as error:
        found[""] = [f"{NODE} {error}"]
    results, above = find_results(study)
    for name in sorted({*results, *listed}):
        wrong = examine(study, name, deep, listed[name][DIGEST] if name in listed else None)
        wrong += [one for one in above if f"{name}/".startswith(one.partition(NODE)[0])]
        if wrong:
            found[name] = wrong
    return found


def commands(path: Path) -> dict[str, str]:
    """By name of a result, the command that computed it, from the study's list or from the result itself."""
    found: dict[str, str] = {}
    for name, node in find_results(path)[0].items():
        if node is not None:
            found[name] = str(node["attributes"].get("command") or "")
    try:
        listed = read_root(path).get(RESULTS, {})
    except Damaged:
        return found
    return found | {name: str(one.get("command") or "") for name, one in listed.items()}


def tell_damage(path: str | Path, found: Mapping[str, list[str]]) -> str:
    """One line: which results are damaged, by which file, and what computes them again."""
    known = commands(Path(path))
    if "" in found:
        again = next((text for text in known.values() if text), "")
        hint = f", such as {again}" if again else ""
        return f"the study {path} is damaged ({found[''][0]}); a command that writes into it restores it{hint}"
    parts = []
    for name, wrong in list(found.items())[:3]:
        more = f" and {len(wrong) - 1} more files" if len(wrong) > 1 else ""
        again = known.get(name) or "the call that made it"
        parts.append(f"{name} is damaged ({wrong[0]}{more}); compute it again with: {again}")
    rest = f"; and {len(found) - 3} more results" if len(found) > 3 else ""
    return f"{path}: {'; '.join(parts)}{rest}"


def refuse_damaged(path: str | Path, found: Mapping[str, list[str]]) -> None:
    if found:
        raise StudyProblem(tell_damage(path, found))
