"""All kinds of tasks, by name."""

from __future__ import annotations

from headcount.data.kinds.causal_lm import CausalLM
from headcount.data.kinds.classification import Classification
from headcount.data.kinds.completion import Completion
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.masked_lm import MaskedLM
from headcount.data.kinds.multiple_choice import MultipleChoice
from headcount.data.kinds.regression import Regression
from headcount.data.kinds.reranking import Reranking
from headcount.data.kinds.retrieval import Retrieval
from headcount.data.kinds.similarity import Similarity
from headcount.data.kinds.token_classification import TokenClassification
from headcount.data.kinds.translation import Translation
from headcount.errors import InvalidOption, short

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Classification(),
        Regression(),
        Similarity(),
        Retrieval(),
        Reranking(),
        TokenClassification(),
        MultipleChoice(),
        MaskedLM(),
        CausalLM(),
        Completion(),
        Translation(),
    )
}


def find_kind(name: str) -> Kind:
    """The kind of task with this name."""
    if name not in KINDS:
        raise InvalidOption(f"got the kind of task {short(name)}; expected one of {', '.join(KINDS)}")
    return KINDS[name]
