"""Sessions: edits and observers that apply to every forward pass inside a context.

`ablated`, `gated`, `observe`, the measures and the sweep are all sessions; `edits.py` says what an edit and an observer
are, `wiring.py` how they reach the pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from transformers import PreTrainedModel

from headcount.errors import InvalidOption
from headcount.models.anatomy import read_anatomy
from headcount.models.compiled import takes_compiled
from headcount.trace.edits import Edit, LayerKey, Observer
from headcount.trace.layer_events import LOCK
from headcount.trace.open_sessions import Session, add, drop
from headcount.trace.uncompiled import warn_of_no_pass
from headcount.trace.wiring import Wiring

_wirings: WeakKeyDictionary[PreTrainedModel, Wiring] = WeakKeyDictionary()


@contextmanager
def session(
    model: PreTrainedModel,
    edits: Mapping[LayerKey, Edit] | None = None,
    observers: Mapping[LayerKey, Observer] | None = None,
    *,
    purpose: str,
    outputs_only: bool = False,
) -> Iterator[Wiring]:
    """Apply edits to every forward pass that this thread or task runs inside the context, and show it to observers.

    Each observer is called once a pass with its layer's `LayerRun`, when the layer has run and all edits have been
    made; what it is shown is not kept. With `outputs_only` it sees the head outputs and no attention. `purpose` begins
    the error for a layer that is not reached. Afterwards nothing of the session is left in the model.

    >>> import torch
    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9)).eval()
    >>> def look(run):
    ...     print(run.layer_key, tuple(run.outputs.shape), tuple(run.attention().map.shape))
    >>> with torch.no_grad(), session(model, observers={("encoder", 1): look}, purpose="looking"):
    ...     _ = model(input_ids=torch.tensor([[1, 2, 3]]))
    ('encoder', 1) (1, 3, 4, 6) (1, 4, 3, 3)
    """
    with LOCK:
        wiring = _wirings.get(model)
        if wiring is None:
            wiring = _wirings[model] = Wiring(model, read_anatomy(model))
        # A layer that has lost all of its heads has nothing to edit or to see.
        anatomy = wiring.anatomy
        edits = {key: edit for key, edit in (edits or {}).items() if anatomy.block(key).count}
        observers = {key: observer for key, observer in (observers or {}).items() if anatomy.block(key).count}
        opened = Session(edits, observers, purpose, outputs_only)
        opened.foreign_passes_before = wiring.foreign_passes
    try:
        opened.wiring = wiring
        wiring.enter(opened)
        add(opened)
        yield wiring
        opened.check_end(wiring.layout, wiring.foreign_passes)
        if opened.layers and not opened.passes:
            warn_of_no_pass(purpose)
    finally:
        opened.wiring = None
        drop(opened)
        with LOCK:
            wiring.leave(opened)
            if not wiring.sessions and _wirings.get(model) is wiring:
                del _wirings[model]


STUDIES = "a study holds what the model itself does; leave the context, or leave out="
"""Why results of an ablated or gated model are not stored: a study names its model by its fingerprint."""


@takes_compiled
def check_untouched(model: PreTrainedModel, why: str = STUDIES) -> None:
    """An error inside `ablated` or `gated`."""
    wiring = _wirings.get(model)
    if wiring is not None and wiring.active:
        raise InvalidOption(f"the model is inside ablated or gated, and {why}")
