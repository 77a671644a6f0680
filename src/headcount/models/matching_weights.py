"""Do the weights of a checkpoint match the model? Missing ones would be random, unexpected ones would be ignored.

All of the body (embeddings, layers, norms) must be there, and nothing of it may be unexpected or of another shape. A
head (a task's, or the pooler) may be missing or unexpected: functions that do not use it go on, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from transformers import PreTrainedModel

from headcount.errors import ModelUnavailable

NEW_WEIGHTS = "headcount_new_weights"
"""Attribute of a loaded model: the names of weights that its checkpoint did not have, all of them of a head."""
UNUSED_WEIGHTS = "headcount_unused_weights"
"""Attribute of a loaded model: the names of the checkpoint's weights that the model does not have."""
BUFFERS = ("position_ids", "token_type_ids", "inv_freq", "masked_bias", "num_batches_tracked")
"""Endings of names that older checkpoints have and that are computed, not learned."""
HEADS = ("pooler", "lm_head")
"""Parts inside or beside the body that only a task reads."""
SHOWN = 3
WRITTEN = ("it would be written as random numbers", "fine-tune the model first, or give the checkpoint that has it")
"""`why` and `remedy` of `check_head` before a model is saved."""


def check_matching(model: PreTrainedModel, report: Mapping[str, Any], to: str, reshaped_head: bool = False) -> None:
    """An error where the body does not match; missing and unexpected weights of a head are stored in the model.

    `report`: transformers' loading info. `to`: what the weights must fit, for the error. `reshaped_head`: a head of
    another shape counts as missing.
    """
    missing = _learned(report["missing_keys"])
    left_over = _learned(report["unexpected_keys"])
    reshaped = {name: shapes for name, *shapes in report.get("mismatched_keys", ())}
    wrong = [name for name in missing if not _of_head(model, name)]
    extra = [name for name in left_over if _of_body(model, name)]
    other = sorted(name for name in reshaped if not (reshaped_head and _of_head(model, name)))
    problems = []
    if wrong:
        problems.append(f"{_named(wrong)} missing from the weights")
    if extra:
        problems.append(f"{_named(extra)} in the weights without a place in the model")
    if other:
        stored, expected = (list(shape) for shape in reshaped[other[0]])
        shapes = f"the first {stored} in the weights and {expected} in the model"
        problems.append(f"{_named(other)} of another shape, {shapes}")
    if problems:
        listed = "; ".join(problems)
        raise ModelUnavailable(f"its weights and its {to} disagree: {listed}; restore the one that is wrong")
    setattr(model, NEW_WEIGHTS, sorted({*missing, *reshaped}))
    setattr(model, UNUSED_WEIGHTS, sorted(name for name in left_over if name not in extra))


def new_head(model: PreTrainedModel) -> list[str]:
    """The weights that the checkpoint did not have and that an output depends on: not the pooler of a bare model."""
    bare = model.base_model is model
    return [
        name for name in getattr(model, NEW_WEIGHTS, []) if not (bare and _inside(model, name).startswith("pooler."))
    ]


def check_head(model: PreTrainedModel, why: str, remedy: str) -> None:
    """An error where the head is random: for functions that use or save it."""
    new = new_head(model)
    if new:
        raise ModelUnavailable(f"the checkpoint has no {_parts(model, new)}, so that {why}; {remedy}")


def matching_notes(model: PreTrainedModel, uses_head: bool = False) -> list[str]:
    """Notes for the user: which weights are random, and which were left out.

    Functions that use the head refuse a new one (`check_head`) and a bare model, so that neither needs a note.
    """
    new, unused = getattr(model, NEW_WEIGHTS, []), getattr(model, UNUSED_WEIGHTS, [])
    new = [name for name in new if not (uses_head and name in new_head(model))]
    notes = []
    if new:
        notes.append(f"the checkpoint has no {_parts(model, new)}: these weights are random, and are not used here")
    if unused and not (uses_head and model.base_model is model):
        notes.append(f"{type(model).__name__} has no {_parts(model, unused)}: these weights are left out")
    return notes


def _learned(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not name.endswith(BUFFERS))


def _named(names: list[str]) -> str:
    """The number of tensors and the names of the first few.

    >>> _named(["a.weight", "b.weight", "c.weight", "d.weight"])
    '4 tensors (a.weight, b.weight, c.weight, ...) are'
    """
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"1 tensor ({shown}) is" if len(names) == 1 else f"{len(names)} tensors ({shown}) are"


def _parts(model: PreTrainedModel, names: list[str]) -> str:
    """The modules that some weights belong to, such as `pooler, classifier`, and the number of tensors."""
    parts = dict.fromkeys(_inside(model, name).split(".")[0] for name in names)
    return f"{', '.join(parts)} ({len(names)} tensor{'s' if len(names) > 1 else ''})"


def _inside(model: PreTrainedModel, name: str) -> str:
    """The name without the prefix of the body, such as `bert.`."""
    return name.removeprefix(f"{model.base_model_prefix}.") if model.base_model_prefix else name


def _of_head(model: PreTrainedModel, name: str) -> bool:
    """Whether a weight of the model lies outside its body."""
    within = model.base_model is model or name.startswith(f"{model.base_model_prefix}.")
    return not within or _inside(model, name).split(".")[0] in HEADS


def _of_body(model: PreTrainedModel, name: str) -> bool:
    """Whether a weight of a checkpoint belongs to a part that the model's body has."""
    part = _inside(model, name).split(".")[0]
    within = part != name.split(".")[0]  # the name has the body's prefix
    return part not in HEADS and (within or part in dict(model.base_model.named_children()))
