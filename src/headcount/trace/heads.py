"""The heads of a model."""

from __future__ import annotations

from transformers import PreTrainedModel

from headcount.core.heads import Heads, HeadSet
from headcount.errors import UnknownHead
from headcount.models.compiled import takes_compiled
from headcount.trace.anatomy import read_anatomy


@takes_compiled
def heads(model: PreTrainedModel, pick: Heads | None = None) -> HeadSet:
    """All heads of a model, or those that `pick` names ("L3H7,L5"), in order; an error for one that it does not have.

    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9))
    >>> len(heads(model)), str(heads(model, "L0H1, L1"))
    (8, 'L0H1, L1')
    """
    layout = read_anatomy(model).layout
    if pick is None:
        return HeadSet.all(layout)
    picked = HeadSet.of(pick, layout)
    if not picked:
        raise UnknownHead("got no heads to pick; expected at least one, such as 'L3H7'")
    return picked
