"""Where a model keeps its heads: by the record of its type or, where it has none, by proof."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakKeyDictionary

from transformers import PreTrainedModel

from headcount.models import anatomy
from headcount.models.anatomy import Anatomy
from headcount.models.compiled import takes_compiled
from headcount.models.families.lookup import is_recorded, remember_proved
from headcount.trace.proof import Proof, prove

_lock = threading.RLock()
_proofs: WeakKeyDictionary[PreTrainedModel, tuple[str, Proof]] = WeakKeyDictionary()
"""By model, the attention implementation that it had and the proof."""


@takes_compiled
def read_anatomy(model: PreTrainedModel) -> Anatomy:
    """Where the model keeps its heads: by the record of its type, or by proof.

    A model of a type without a record runs on a few random inputs at the first call (`trace/proof.py`); `UnknownFamily`
    names the step that could not be proved.

    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9))
    >>> read_anatomy(model).layout.count
    8
    """
    proof_of(model)
    return anatomy.read_anatomy(model)


@takes_compiled
def proof_of(model: PreTrainedModel) -> Proof | None:
    """What was proved of a model whose type has no record; None where there is a record."""
    config: Any = getattr(model, "config", None)
    if not isinstance(model, PreTrainedModel) or is_recorded(config):
        return None
    with _lock:
        implementation, proof = _proofs.get(model, ("", None))
        if proof is None or implementation != config._attn_implementation:
            proof = prove(model)
            _proofs[model] = config._attn_implementation, proof
            remember_proved(model, proof.family)
        return proof
