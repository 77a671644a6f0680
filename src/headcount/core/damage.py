"""Which results of a study are damaged, by which file, and which command computes them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount.core.manifest import (
    COMPLETE,
    DIGEST,
    MANIFEST,
    NODE,
    RESULTS,
    Damaged,
    Node,
    check_file,
    chunk_files,
    digest,
    has_checksum,
    read_node,
    read_root,
)
from headcount.errors import StudyProblem


def examine(
    study: Path, name: str, deep: bool = False, expected: str | None = None, node: Node | None = None
) -> list[str]:
    """What is wrong with a result, one entry for each file: [] if it is what was written.

    Without `deep` the contents of chunks are not read: they are checked when somebody reads them. `expected`: the
    digest in the study's list. `node`: the metadata that the result will have, instead of what it has now.
    """
    folder = study / name
    try:
        attributes = (node or read_node(folder, expected))["attributes"]
    except Damaged as error:
        return [f"{name}/{NODE} {error}"]
    manifest = attributes.get(MANIFEST, {"arrays": {}})
    problems = []
    for array, known_digest in manifest["arrays"].items():
        try:
            content = (folder / array / NODE).read_bytes()
        except OSError:
            problems.append(f"{name}/{array}/{NODE} is missing")
            continue
        if digest(content) != known_digest:
            problems.append(f"{name}/{array}/{NODE} was changed")
            continue
        array_node = json.loads(content)
        if not has_checksum(array_node) or (array in manifest["by_unit"] and not attributes.get(COMPLETE)):
            continue
        size, damaged = _check_chunks(study, f"{name}/{array}", array_node, deep)
        if not damaged and not deep and size != manifest.get("bytes", {}).get(array, size):
            damaged = _check_chunks(study, f"{name}/{array}", array_node, deep=True)[1]  # find out which chunk it is
        problems += damaged
    return problems


def _check_chunks(study: Path, array: str, node: Node, deep: bool) -> tuple[int, list[str]]:
    """The bytes of all chunks of an array, and what is wrong with them."""
    size, problems = 0, []
    for file in chunk_files(node):
        try:
            size += check_file(study / array / file, deep)
        except Damaged as error:
            problems.append(f"{array}/{file} {error}")
    return size, problems


def find_results(study: Path) -> tuple[dict[str, Node | None], list[str]]:
    """By name, the metadata of all results (None: not readable), and what is wrong with the folders above them."""
    results: dict[str, Node | None] = {}
    problems: list[str] = []

    def visit(folder: Path) -> bool:
        """Whether the folder is, or contains, a result."""
        name = folder.relative_to(study).as_posix()
        problem, attributes = None, {}
        try:
            node = read_node(folder)
        except Damaged as error:
            problem = str(error)
        else:
            if node["node_type"] != "group":
                return False
            attributes = node["attributes"]
        arrays = attributes.get(MANIFEST, {}).get("arrays", {})
        children = [child for child in sorted(folder.iterdir()) if child.is_dir() and child.name not in arrays]
        inside = [visit(child) for child in children]
        if COMPLETE in attributes:
            results[name] = node
            return True
        if attributes and DIGEST not in attributes:
            problem = "was changed"
        if problem is not None:
            if any(inside):
                problems.append(f"{name}/{NODE} {problem}")
            elif any((child / NODE).is_file() for child in children):  # arrays alone: a result that lost its metadata
                results[name] = None
                return True
        return any(inside)

    for folder in sorted(study.iterdir()):
        if folder.is_dir():
            visit(folder)
    return results, problems


def damages(path: str | Path, deep: bool = False) -> dict[str, list[str]]:
    """By name, what is wrong with each damaged result of a study, with the file; the study itself is named "".

    `deep`: every chunk is read and its checksum compared.
    """
    study = Path(path)
    damaged: dict[str, list[str]] = {}
    listed: Mapping[str, Any] = {}
    try:
        listed = read_root(study).get(RESULTS, {})
    except Damaged as error:
        damaged[""] = [f"{NODE} {error}"]
    results, above = find_results(study)
    for name in sorted({*results, *listed}):
        problems = examine(study, name, deep, listed[name][DIGEST] if name in listed else None)
        problems += [problem for problem in above if f"{name}/".startswith(problem.partition(NODE)[0])]
        if problems:
            damaged[name] = problems
    return damaged


def _commands(study: Path) -> dict[str, str]:
    """By name of a result, the command that computed it, from the study's list or from the result itself."""
    commands = {
        name: str(node["attributes"].get("command") or "")
        for name, node in find_results(study)[0].items()
        if node is not None
    }
    try:
        listed = read_root(study).get(RESULTS, {})
    except Damaged:
        return commands
    return commands | {name: str(entry.get("command") or "") for name, entry in listed.items()}


def describe_damage(path: str | Path, damaged: Mapping[str, list[str]]) -> str:
    """One line: which results are damaged, by which file, and the commands that compute them again."""
    commands = _commands(Path(path))
    if "" in damaged:
        command = next((text for text in commands.values() if text), "")
        hint = f", such as {command}" if command else ""
        return f"the study {path} is damaged ({damaged[''][0]}); a command that writes into it restores it{hint}"
    parts = []
    for name, problems in list(damaged.items())[:3]:
        more = f" and {len(problems) - 1} more files" if len(problems) > 1 else ""
        command = commands.get(name) or "the call that made it"
        parts.append(f"{name} is damaged ({problems[0]}{more}); compute it again with: {command}")
    rest = f"; and {len(damaged) - 3} more results" if len(damaged) > 3 else ""
    return f"{path}: {'; '.join(parts)}{rest}"


def refuse_damaged(path: str | Path, damaged: Mapping[str, list[str]]) -> None:
    if damaged:
        raise StudyProblem(describe_damage(path, damaged))
