"""The kinds of annotations by name, each with the options that it takes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from headcount.core.options import one_of, without_effect
from headcount.probing.classifiers.tree_classifiers import TreeClassifiers
from headcount.probing.coreference.coreference import CoreferentMentions
from headcount.probing.dependencies.dependencies import DependencyTrees
from headcount.probing.frames.frames import FrameLinks
from headcount.probing.words.contract import Kind

AnyKind = Kind | TreeClassifiers
"""All but the classifiers ask about single heads."""
KINDS: dict[str, type[AnyKind]] = {
    kind.name: kind for kind in (DependencyTrees, CoreferentMentions, FrameLinks, TreeClassifiers)
}


def find_kind(name: str, options: dict[str, Any]) -> AnyKind:
    """A kind with those of the options that were given (not None); one that it does not have is refused."""
    own = _options(KINDS[one_of("kind", name, KINDS)])
    for option, value in options.items():
        if option not in own:
            having = ", ".join(other for other, kind in KINDS.items() if option in _options(kind))
            without_effect(option, value, because=f"it belongs to kind={having}, not {name}")
    return KINDS[name](**{option: value for option, value in options.items() if option in own and value is not None})


def _options(kind: type[AnyKind]) -> set[str]:
    return {field.name for field in fields(kind)}
