"""The model without the heads of a request, for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from torch import Tensor
from transformers import PreTrainedModel

from headcount.ablation.faded import Faded
from headcount.ablation.replacements import REPLACEMENTS, make_edit
from headcount.live_server.asked import Off
from headcount.models.anatomy import Anatomy
from headcount.trace.edits import Edit, LayerKey
from headcount.trace.session import session


def needs_means(off: Sequence[Off]) -> bool:
    """Whether a replacement among these needs mean outputs."""
    return any(REPLACEMENTS[one.how].needs_reference for one in off)


@contextmanager
def without(
    model: PreTrainedModel,
    anatomy: Anatomy,
    off: Sequence[Off],
    means: Mapping[str, Tensor] | None,
    stacks: Collection[str] | None = None,
) -> Iterator[None]:
    """Replace these heads in every pass inside; `stacks`: those that the passes go through, all by default."""
    with ExitStack() as opened:
        for one in off:
            edits: dict[LayerKey, Edit] = {}
            for key, heads in one.heads.by_layer().items():
                if stacks is None or key[0] in stacks:
                    edit = make_edit(one.how, anatomy.attention(*key), heads, None if means is None else dict(means))
                    edits[key] = edit if one.strength == 1 else Faded(edit, one.strength)
            if edits:
                opened.enter_context(session(model, edits, purpose=f"switching off {one.heads}"))
        yield
