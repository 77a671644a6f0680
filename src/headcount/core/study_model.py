"""Which model a study is about, and which others its comparisons compare it with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount.errors import StudyProblem

StudyModels = dict[str, Any]
"""`model`: the study's own (None until it has a result of a single model); `beside`: the others, by fingerprint."""


def models_of(identity: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """By fingerprint, the name, dtype and class of the models that a result is about; {} if it names none."""
    description = {"dtype": str(identity.get("dtype", "")), "class": str(attributes.get("model_class", ""))}
    models: dict[str, dict[str, str]] = {}
    several = identity.get("models")
    if isinstance(several, Mapping):
        models |= {str(fingerprint): {"name": str(name)} for name, fingerprint in several.items()}
    elif several is not None:
        models |= {str(fingerprint): {"name": str(attributes.get("model", ""))} for fingerprint in several}
    if identity.get("model"):
        models[str(identity["model"])] = {"name": str(attributes.get("model", "")), **description}
    if identity.get("other"):
        models.setdefault(str(identity["other"]), {"name": str(attributes.get("other_model", "")), **description})
    return models


def admit(path: Any, known: StudyModels, result: str, models: Mapping[str, dict[str, str]]) -> StudyModels:
    """The study's models after adding a result; a result of another model is refused.

    A result of several models must include the study's own. The others are known from then on, and a result of one of
    them alone may be added under a name of its own, so that nobody takes it for the study's model.
    """
    own, beside = known.get("model"), dict(known.get("beside", {}))
    candidates = {own["fingerprint"]} if own else set(beside)
    if len(models) > 1:
        if candidates and not candidates & set(models):
            raise StudyProblem(_refusal(path, known, models))
        beside |= {fingerprint: model for fingerprint, model in models.items() if fingerprint not in candidates}
    elif models:
        ((fingerprint, model),) = models.items()
        named = "@" in result or result.startswith("maps/")
        if candidates and fingerprint not in candidates and not (fingerprint in beside and named):
            advice = "; give it a name of its own with name=" if fingerprint in beside else ""
            raise StudyProblem(_refusal(path, known, models) + advice)
        # A result with a name of its own may be of any of several models: it does not decide which is the study's.
        if own is None and not (beside and named):
            own = {"fingerprint": fingerprint, **model}
    if own:
        beside.pop(own["fingerprint"], None)
    return {"model": own, "beside": beside}


def models_of_results(results: Mapping[str, Mapping[str, Any]]) -> StudyModels:
    """The models of a study, from the attributes of all its results by name."""
    known: StudyModels = {"model": None, "beside": {}}
    for name, attributes in sorted(results.items(), key=lambda result: ("@" in result[0], result[0])):
        models = models_of(attributes.get("identity", {}), attributes)
        try:
            known = admit("", known, name, models)
        except StudyProblem:  # written by an earlier version, which accepted any model
            known["beside"] |= models
    return known


def _refusal(path: Any, known: StudyModels, models: Mapping[str, dict[str, str]]) -> str:
    own = known.get("model")
    ours = {own["fingerprint"]: own} if own else known["beside"]
    same_name = ""
    if _values(ours, "name") & _values(models, "name"):
        differ = [
            f"{key} {'/'.join(sorted(before))} -> {'/'.join(sorted(after))}"
            for key in ("dtype", "class")
            if (before := _values(ours, key)) != (after := _values(models, key)) and before and after
        ]
        same_name = f" (the same name, but {', '.join(differ) or 'other weights'})"
    return (
        f"{path} is a study of the model {_spell(ours)}, this result is of {_spell(models)}{same_name}; "
        "give another study folder"
    )


def _values(models: Mapping[str, dict[str, str]], key: str) -> set[str]:
    return {model[key] for model in models.values() if model.get(key)}


def _spell(models: Mapping[str, Mapping[str, str]]) -> str:
    return " and ".join(
        f"{model['name'] or model.get('class') or 'a model'} [{fingerprint[:8]}]"
        for fingerprint, model in models.items()
    )
