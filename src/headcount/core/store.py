"""A study: a folder with a zarr tree, one group for each result, written so that a kill at any moment loses little.

A group is written under a temporary name and moved to its own. Its units of work are then written one by one, each in
chunks of its own, and marked as done after their last chunk. The summary of all units comes next, and the mark that the
group is complete comes last, after everything was read back.
"""

from __future__ import annotations

import os
import re
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import zarr

from headcount.core.arrays import plan_array, put_array
from headcount.core.damage import describe_damage, examine, find_results
from headcount.core.group import DONE, Group
from headcount.core.leftovers import scratch
from headcount.core.lock import finishing
from headcount.core.manifest import (
    COMPLETE,
    DIGEST,
    MANIFEST,
    NODE,
    Damaged,
    array_nodes,
    group_node,
    read_node,
    write_sealed,
)
from headcount.core.provenance import current_command, fingerprint
from headcount.core.read_study import check_study
from headcount.core.results import ArrayPlan, Labelled
from headcount.core.study_errors import clear_errors
from headcount.core.study_model import models_of
from headcount.core.study_root import (
    admit_models,
    create_root,
    list_entry,
    list_result,
    listed_results,
    restore_root,
)
from headcount.errors import HeadcountWarning, StudyProblem


class Study:
    """A study folder, opened for adding to it; it is created if it does not exist."""

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

    def existing(self, name: str, identity: Mapping[str, Any]) -> Group | None:
        """The group with this name, if it exists undamaged; a damaged one is removed, to be computed again."""
        _check_name(name)
        with finishing(self.path):
            return self._existing(name, identity)

    def _existing(self, name: str, identity: Mapping[str, Any]) -> Group | None:
        folder = self.path / name
        with clear_errors(self.path):
            listed = listed_results(self.path).get(name)
            if listed is None and not (folder / NODE).is_file() and not (folder.is_dir() and array_nodes(folder)):
                return None
            problems = examine(self.path, name, deep=True, expected=listed[DIGEST] if listed else None)
            if problems:
                self._remove(name, identity, problems, listed)
                return None
            self._check_parents(name)
            attributes = read_node(folder)["attributes"]
            if listed is None and attributes.get(COMPLETE) and DIGEST in attributes:  # killed before it was listed
                list_result(self.path, name, list_entry(attributes))
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
        """The group with this name: the existing one, if it was made with the same options, or a new one."""
        _check_name(name)
        with finishing(self.path):
            existing = self._existing(name, identity)
            if existing is not None:
                return existing
            with clear_errors(self.path):
                admit_models(self.path, name, models_of(identity, attributes))
                attributes = {**attributes, "identity": identity, "command": current_command(), COMPLETE: False}
                self._create(name, attributes, arrays, fixed, units)
        return Group(self.path, name, identity)

    def announce(self, name: str, identity: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        """Refuse a result before anything is computed if it is about other models than the study's."""
        with finishing(self.path), clear_errors(self.path):
            admit_models(self.path, name, models_of(identity, attributes))

    def _create(
        self,
        name: str,
        attributes: dict[str, Any],
        arrays: Mapping[str, ArrayPlan],
        fixed: Labelled,
        units: list[tuple[int, int]],
    ) -> None:
        self._check_parents(name)
        with scratch(self.path) as temporary:
            folder = temporary / "group"
            group = zarr.open_group(folder, mode="w", zarr_format=3, attributes=attributes)
            # Units are all of one size but the last, so that each has chunks of its own.
            examples = max(1, units[0][1] - units[0][0])
            by_unit = {**arrays, DONE: ArrayPlan(("work_unit",), (len(units),), "bool")}
            for key, plan in by_unit.items():
                plan_array(group, key, plan, examples)
            for key, labelled in fixed.items():
                put_array(group, key, labelled)
            node = read_node(folder)
            node["attributes"][MANIFEST] = {"arrays": array_nodes(folder), "by_unit": list(by_unit)}
            write_sealed(self.path, folder, node)
            _move(folder, self.path / name)

    def _check_parents(self, name: str) -> None:
        """Create the folders above a result, or restore their metadata, which says only that they are groups."""
        for parent in reversed(Path(name).parents[:-1]):
            folder = self.path / parent
            if folder.is_dir():
                try:
                    read_node(folder)
                    continue
                except Damaged as error:
                    warnings.warn(f"{folder}/{NODE} {error}; it was restored", HeadcountWarning, stacklevel=2)
            else:
                folder.mkdir()
            write_sealed(self.path, folder, group_node({}))

    def _remove(
        self, name: str, identity: Mapping[str, Any], problems: list[str], listed: Mapping[str, str] | None
    ) -> None:
        """Remove a damaged result, unless it was made with other options; results of deeper names inside it stay."""
        folder = self.path / name
        try:
            stored = fingerprint([read_node(folder)["attributes"].get("identity", {})])
        except Damaged:
            stored = listed["identity"] if listed else ""
        if stored and stored != fingerprint([identity]):
            raise StudyProblem(
                f"{describe_damage(self.path, {name: problems})} (it was made with other options than these)"
            )
        list_result(self.path, name, None)
        if folder.is_dir():
            (folder / NODE).unlink(missing_ok=True)
            deeper = [other for other in find_results(self.path)[0] if other.startswith(f"{name}/")]
            for child in folder.iterdir():
                if child.is_dir() and not any(f"{other}/".startswith(f"{name}/{child.name}/") for other in deeper):
                    shutil.rmtree(child)
            if not deeper:
                shutil.rmtree(folder)
        warnings.warn(
            f"{self.path}: {name} was damaged ({problems[0]}) and is computed again", HeadcountWarning, stacklevel=2
        )


def _move(folder: Path, target: Path) -> None:
    """Move a new group to its name: part by part, metadata last, if that folder holds results of deeper names."""
    if not target.exists():
        os.replace(folder, target)
        return
    for child in sorted(folder.iterdir(), key=lambda path: path.name == NODE):
        if (target / child.name).is_dir():
            shutil.rmtree(target / child.name)
        os.replace(child, target / child.name)


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[\w.@-]+(/[\w.@-]+)*", name) or ".." in name:
        raise StudyProblem(f"got {name!r} for the name of a result; expected letters, digits, '.', '-' and '_'")
