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
from headcount.measures.own import check_own
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


Only = str | Question | Iterable[str | Question]
"""Names of measures, measures of one's own, or both."""


def choose_measures(only: Only | None) -> list[Question]:
    """The measures with these names and those of one's own, or all that have a name."""
    if only is None:
        return list(MEASURES.values())
    chosen: list[Question] = []
    for part in only if isinstance(only, Iterable) and not isinstance(only, str) else [only]:
        if isinstance(part, str):
            chosen += [_known(name.strip()) for name in part.split(",") if name.strip()]
        else:
            check_own(part, MEASURES)
            chosen.append(part)
    if not chosen:
        raise _unknown("none")
    no_repeats("only", [one.name for one in chosen])
    return chosen


def _known(name: str) -> Question:
    if name not in MEASURES:
        raise _unknown(repr(name))
    return MEASURES[name]


def _unknown(got: str) -> InvalidOption:
    return InvalidOption(f"got the measure {got}; expected some of {', '.join(MEASURES)}")
