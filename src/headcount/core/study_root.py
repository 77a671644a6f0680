"""What a study says of itself: its complete results, each with its digest, and its model."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount.core.manifest import (
    COMPLETE,
    DIGEST,
    MARK,
    NODE,
    RESULTS,
    VERSION,
    Damaged,
    examine,
    find_results,
    group_node,
    read_root,
    tell_damage,
    write_sealed,
)
from headcount.core.provenance import fingerprint
from headcount.core.study_model import Known, admit, known_from
from headcount.errors import HeadcountWarning, StudyProblem


def create_root(study: Path) -> None:
    study.mkdir(parents=True, exist_ok=True)
    write_sealed(study, study, group_node({MARK: VERSION, "model": None, "beside": {}, RESULTS: {}}))


def check_root(study: Path) -> None:
    """An error if the folder is not a study, is damaged, or is of a version that this program does not know."""
    if not study.is_dir():
        raise StudyProblem(f"there is no study folder {study}")
    mark = _mark(study)
    if isinstance(mark, int) and mark > VERSION:
        raise StudyProblem(
            f"{study} is a study of version {mark}; this headcount reads up to {VERSION}: update headcount"
        )
    try:
        attributes = read_root(study)
    except Damaged as error:
        if is_restorable(study):
            raise StudyProblem(tell_damage(study, {"": [f"{NODE} {error}"]})) from error
        if not (study / NODE).is_file():
            raise StudyProblem(
                f"{study} is not a study: it has no {NODE}; give a folder that a headcount verb has written"
            ) from error
        raise StudyProblem(
            f"the study {study} is damaged ({NODE} {error}); restore it or give another folder"
        ) from error
    if MARK not in attributes:
        raise StudyProblem(
            f"{study} is a zarr folder, but not a study; give a folder that a headcount verb has written"
        )
    if not isinstance(attributes[MARK], int) or attributes[MARK] < 1:
        raise StudyProblem(f"the study {study} is damaged (version {attributes[MARK]!r}); restore it or give another")


def _mark(study: Path) -> Any:
    try:
        return json.loads((study / NODE).read_bytes())["attributes"][MARK]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_restorable(study: Path) -> bool:
    """Whether the folder holds a result of Headcount that is what was written: then it is a study."""
    return any(
        node is not None and DIGEST in node["attributes"] and not examine(study, name)
        for name, node in find_results(study)[0].items()
    )


def restore_root(study: Path) -> None:
    """Write the study's own metadata anew, from the results that are there, where it was lost or changed."""
    try:
        read_root(study)
        return
    except Damaged as error:
        mark = _mark(study)
        if (isinstance(mark, int) and mark > VERSION) or not is_restorable(study):
            return
        reason = str(error)
    there = {name: node["attributes"] for name, node in find_results(study)[0].items() if node is not None}
    listed = {
        name: entry(said)
        for name, said in there.items()
        if said.get(COMPLETE) and DIGEST in said and not examine(study, name)
    }
    attributes = {MARK: VERSION, **known_from(there.items()), RESULTS: dict(sorted(listed.items()))}
    write_sealed(study, study, group_node(attributes))
    warnings.warn(f"{study}/{NODE} {reason}; it was restored from the results", HeadcountWarning, stacklevel=2)


def entry(attributes: Mapping[str, Any]) -> dict[str, str]:
    """What the study's list says of a complete result."""
    return {
        DIGEST: attributes[DIGEST],
        "command": str(attributes.get("command") or ""),
        "identity": fingerprint([attributes.get("identity", {})]),
    }


def listed_results(study: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = _read(study).get(RESULTS, {})
    return found


def list_result(study: Path, name: str, said: Mapping[str, str] | None) -> None:
    """Enter a complete result into the study's list, or strike it (None); to be called alone (`finishing`)."""
    attributes = _upgraded(study)
    results = {key: value for key, value in attributes[RESULTS].items() if key != name}
    if said is not None:
        results[name] = dict(said)
    if results != attributes[RESULTS]:
        write_sealed(study, study, group_node({**attributes, RESULTS: dict(sorted(results.items()))}))


def admit_models(study: Path, result: str, models: Mapping[str, dict[str, str]]) -> None:
    """Remember the models of a result that is about to be added, or refuse it; to be called alone (`finishing`)."""
    if not models:
        return
    attributes = _upgraded(study)
    before: Known = {"model": attributes.get("model"), "beside": attributes.get("beside", {})}
    try:
        known = admit(study, before, result, models)
    except StudyProblem:
        if find_results(study)[0]:
            raise
        known = admit(study, {}, result, models)  # what was announced was never written
    if known != before:
        write_sealed(study, study, group_node({**attributes, **known}))


def _read(study: Path) -> dict[str, Any]:
    try:
        return read_root(study)
    except Damaged as error:
        raise StudyProblem(tell_damage(study, {"": [f"{NODE} {error}"]})) from error


def _upgraded(study: Path) -> dict[str, Any]:
    """The study's attributes, with all that this version keeps there: of one that an earlier version wrote, too."""
    attributes = _read(study)
    if DIGEST in attributes:
        return attributes
    there = {name: node["attributes"] for name, node in find_results(study)[0].items() if node is not None}
    return {**attributes, MARK: VERSION, **known_from(there.items()), RESULTS: {}}
