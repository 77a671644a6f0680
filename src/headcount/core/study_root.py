"""What a study's root stores: the complete results, each with its digest, and the study's model."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount.core.damage import describe_damage, examine, find_results
from headcount.core.manifest import (
    COMPLETE,
    DIGEST,
    MARK,
    NODE,
    RESULTS,
    VERSION,
    Damaged,
    group_node,
    read_root,
    write_sealed,
)
from headcount.core.provenance import fingerprint
from headcount.core.study_model import StudyModels, admit, models_of_results
from headcount.errors import HeadcountWarning, StudyProblem


def create_root(study: Path) -> None:
    study.mkdir(parents=True, exist_ok=True)
    write_sealed(study, study, group_node({MARK: VERSION, "model": None, "beside": {}, RESULTS: {}}))


def check_root(study: Path) -> None:
    """An error if the folder is not a study, is damaged, or has a version that this program does not know."""
    if not study.is_dir():
        raise StudyProblem(f"there is no study folder {study}")
    newer = _newer_version(study)
    if newer:
        raise StudyProblem(
            f"{study} is a study of version {newer}; this headcount reads up to {VERSION}: update headcount"
        )
    try:
        attributes = read_root(study)
    except Damaged as error:
        if is_restorable(study):
            raise StudyProblem(describe_damage(study, {"": [f"{NODE} {error}"]})) from error
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


def _newer_version(study: Path) -> int | None:
    """The study's version if it is newer than this program's."""
    try:
        version = json.loads((study / NODE).read_bytes())["attributes"][MARK]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return version if isinstance(version, int) and version > VERSION else None


def is_restorable(study: Path) -> bool:
    """Whether the folder contains an undamaged result of Headcount: then it is a study."""
    return any(
        DIGEST in attributes and not examine(study, name) for name, attributes in _result_attributes(study).items()
    )


def _result_attributes(study: Path) -> dict[str, dict[str, Any]]:
    return {name: node["attributes"] for name, node in find_results(study)[0].items() if node is not None}


def restore_root(study: Path) -> None:
    """Write the study's own metadata again, from its results, if it was lost or changed."""
    try:
        read_root(study)
        return
    except Damaged as error:
        if _newer_version(study) or not is_restorable(study):
            return
        reason = str(error)
    results = _result_attributes(study)
    listed = {
        name: list_entry(attributes)
        for name, attributes in sorted(results.items())
        if attributes.get(COMPLETE) and DIGEST in attributes and not examine(study, name)
    }
    write_sealed(study, study, group_node({MARK: VERSION, **models_of_results(results), RESULTS: listed}))
    warnings.warn(f"{study}/{NODE} {reason}; it was restored from the results", HeadcountWarning, stacklevel=2)


def list_entry(attributes: Mapping[str, Any]) -> dict[str, str]:
    """The entry of a complete result in the study's list."""
    return {
        DIGEST: attributes[DIGEST],
        "command": str(attributes.get("command") or ""),
        "identity": fingerprint([attributes.get("identity", {})]),
    }


def listed_results(study: Path) -> dict[str, dict[str, str]]:
    results: dict[str, dict[str, str]] = _read(study).get(RESULTS, {})
    return results


def list_result(study: Path, name: str, entry: Mapping[str, str] | None) -> None:
    """Add a complete result to the study's list, or remove it (None); to be called inside `finishing`."""
    attributes = _upgraded(study)
    results = {key: value for key, value in attributes[RESULTS].items() if key != name}
    if entry is not None:
        results[name] = dict(entry)
    if results != attributes[RESULTS]:
        write_sealed(study, study, group_node({**attributes, RESULTS: dict(sorted(results.items()))}))


def admit_models(study: Path, result: str, models: Mapping[str, dict[str, str]]) -> None:
    """Store the models of a result that is about to be added, or refuse it; to be called inside `finishing`."""
    if not models:
        return
    attributes = _upgraded(study)
    before: StudyModels = {"model": attributes.get("model"), "beside": attributes.get("beside", {})}
    try:
        after = admit(study, before, result, models)
    except StudyProblem:
        if find_results(study)[0]:
            raise
        after = admit(study, {}, result, models)  # what was announced was never written
    if after != before:
        write_sealed(study, study, group_node({**attributes, **after}))


def _read(study: Path) -> dict[str, Any]:
    try:
        return read_root(study)
    except Damaged as error:
        raise StudyProblem(describe_damage(study, {"": [f"{NODE} {error}"]})) from error


def _upgraded(study: Path) -> dict[str, Any]:
    """The study's attributes as this version stores them, also of a study that an earlier version wrote."""
    attributes = _read(study)
    if DIGEST in attributes:
        return attributes
    return {**attributes, MARK: VERSION, **models_of_results(_result_attributes(study)), RESULTS: {}}
