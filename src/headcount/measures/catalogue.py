"""All measures, by name: what can be asked."""

from __future__ import annotations

from collections.abc import Iterable

from headcount.core.options import no_repeats
from headcount.errors import InvalidOption
from headcount.measures.contract import Question
from headcount.measures.contribution import Contribution
from headcount.measures.copying import Copying
from headcount.measures.direct_effect import DirectEffect
from headcount.measures.distances import Distances
from headcount.measures.duplicate import Duplicate
from headcount.measures.entropy import Entropy
from headcount.measures.features import Features
from headcount.measures.gradients import Gradients
from headcount.measures.induction import Induction
from headcount.measures.links import WordLinks
from headcount.measures.patterns import Patterns
from headcount.measures.position import Position
from headcount.measures.rare import Rare
from headcount.measures.repeated import Repeated
from headcount.measures.retrieval import Retrieval
from headcount.measures.sentences import Sentences
from headcount.measures.special import Special
from headcount.measures.spread import Spread

MEASURES: dict[str, Question] = {
    measure.name: measure
    for measure in (
        Position(),
        Special(),
        Entropy(),
        Spread(),
        Sentences(),
        Patterns(),
        Features(),
        WordLinks(),
        Repeated(),
        Rare(),
        Induction(),
        Duplicate(),
        Retrieval(),
        Contribution(),
        Copying(),
        DirectEffect(),
        Gradients(),
        Distances(),
    )
}
ANNOTATED = ("features", "links")
"""Those that read what is known of words: their classes, and which belong together."""


def choose_measures(only: Iterable[str] | None) -> list[Question]:
    """The measures with these names, or all."""
    if only is None:
        return list(MEASURES.values())
    names = [name.strip() for part in only for name in part.split(",") if name.strip()]
    unknown = [name for name in names if name not in MEASURES]
    if unknown or not names:
        got = repr(unknown[0]) if unknown else "none"
        raise InvalidOption(f"got the measure {got}; expected some of {', '.join(MEASURES)}")
    no_repeats("only", names)
    return [MEASURES[name] for name in names]
