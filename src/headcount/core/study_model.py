"""Whose heads a study speaks of: one model, and those that a comparison has put beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headcount.errors import StudyProblem

Known = dict[str, Any]
"""`model`: the study's own (None until a result of one model alone is there); `beside`: by fingerprint, the others."""


def models_of(identity: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """By fingerprint, what is known of the models that a result speaks of; {} where it says nothing of models."""
    said = {"dtype": str(identity.get("dtype", "")), "class": str(attributes.get("model_class", ""))}
    found: dict[str, dict[str, str]] = {}
    several = identity.get("models")
    if isinstance(several, Mapping):
        found |= {str(mark): {"name": str(name)} for name, mark in several.items()}
    elif several is not None:
        found |= {str(mark): {"name": str(attributes.get("model", ""))} for mark in several}
    if identity.get("model"):
        found[str(identity["model"])] = {"name": str(attributes.get("model", "")), **said}
    if identity.get("other"):
        found.setdefault(str(identity["other"]), {"name": str(attributes.get("other_model", "")), **said})
    return found


def admit(path: Any, known: Known, result: str, models: Mapping[str, dict[str, str]]) -> Known:
    """What is known of the study's models with one more result; one of another model is refused.

    A result of several models must speak of the study's own; those beside it are known from then on, and a result of
    one of them alone may be added under a name of its own, so that nobody takes it for the study's model.
    """
    own, beside = known.get("model"), dict(known.get("beside", {}))
    mine = {own["fingerprint"]} if own else set(beside)
    if len(models) > 1:
        if mine and not mine & set(models):
            raise StudyProblem(_refusal(path, known, models))
        beside |= {mark: one for mark, one in models.items() if mark not in mine}
    elif models:
        ((mark, one),) = models.items()
        named = "@" in result or result.startswith("maps/")
        if mine and mark not in mine and not (mark in beside and named):
            advice = "; give it a name of its own with name=" if mark in beside else ""
            raise StudyProblem(_refusal(path, known, models) + advice)
        # A result with a name of its own may be of any of several models: it does not say whose study this is.
        if own is None and not (beside and named):
            own = {"fingerprint": mark, **one}
    if own:
        beside.pop(own["fingerprint"], None)
    return {"model": own, "beside": beside}


def known_from(results: Iterable[tuple[str, Mapping[str, Any]]]) -> Known:
    """The same from the names and attributes of results that are there already, whatever they are."""
    known: Known = {"model": None, "beside": {}}
    for name, attributes in sorted(results, key=lambda one: ("@" in one[0], one[0])):
        models = models_of(attributes.get("identity", {}), attributes)
        try:
            known = admit("", known, name, models)
        except StudyProblem:  # of an earlier version, which took anything
            known["beside"] |= models
    return known


def _refusal(path: Any, known: Known, models: Mapping[str, dict[str, str]]) -> str:
    own = known.get("model")
    mine = {own["fingerprint"]: own} if own else known["beside"]
    ours, theirs = (" and ".join(_spell(mark, one) for mark, one in some.items()) for some in (mine, models))
    names = [{one["name"] for one in some.values()} for some in (mine, models)]
    alike = ""
    if names[0] & names[1]:
        differ = [
            f"{what} {'/'.join(sorted(before))} -> {'/'.join(sorted(after))}"
            for what in ("dtype", "class")
            if (before := _all(mine, what)) != (after := _all(models, what)) and before and after
        ]
        alike = f" (the same name, but {', '.join(differ) or 'other weights'})"
    return f"{path} is a study of the model {ours}, this result is of {theirs}{alike}; give another study folder"


def _all(some: Mapping[str, dict[str, str]], what: str) -> set[str]:
    return {one[what] for one in some.values() if one.get(what)}


def _spell(mark: str, one: Mapping[str, str]) -> str:
    return f"{one['name'] or one.get('class') or 'a model'} [{mark[:8]}]"
