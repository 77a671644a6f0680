"""The model that a run begins with: pre-trained, with random weights, or with random weights but its own embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import PreTrainedModel

from headcount.errors import InvalidOption
from headcount.models.load import load_config, load_model, load_tokenizer
from headcount.models.matching_weights import NEW_WEIGHTS
from headcount.training.splits import Splits

INITS = ("none", "random", "pretrained")
SPREAD = 0.02
"""Standard deviation of random weights, BERT's own."""


def build_model(
    name: str | Path,
    splits: Splits,
    init: str,
    seed: int,
    keep_embeddings: bool = False,
    trust_remote_code: bool = False,
    tokenizer: str | None = None,
) -> tuple[PreTrainedModel, Any]:
    """A model with the head that the task needs, its classes named, and its tokenizer.

    `none` and `pretrained` are the same model: only the second is trained. `random`: all weights anew, N(0, 0.02),
    from the config; with `keep_embeddings` the embeddings are the pre-trained ones. New weights depend on the seed.
    """
    if init not in INITS:
        raise InvalidOption(f"got the initialisation {init!r}; expected some of {', '.join(INITS)}")
    kind = splits.task.kind
    options = kind.config_changes(splits.names)
    torch.manual_seed(seed)
    words = load_tokenizer(tokenizer or name, trust_remote_code=trust_remote_code)
    if init != "random":
        return _pretrained(name, kind.name, options, seed, trust_remote_code), words
    config = load_config(name, trust_remote_code=trust_remote_code)
    for key, value in (options | {"initializer_range": SPREAD}).items():
        setattr(config, key, value)
    model = getattr(transformers, kind.auto_class).from_config(config, dtype=torch.float32)
    if keep_embeddings:
        own = load_model(name, trust_remote_code=trust_remote_code, dtype=torch.float32)
        for ours, theirs in zip(_embeddings(model), _embeddings(own), strict=True):
            ours.load_state_dict(theirs.state_dict())
    return model, words


def _embeddings(model: PreTrainedModel) -> list[torch.nn.Module]:
    """All that turns tokens into the first hidden state: words, places and segments where they stand together."""
    whole = getattr(model.base_model, "embeddings", None)
    return [whole if whole is not None else model.get_input_embeddings()]


def _pretrained(name: str | Path, kind: str, options: dict[str, Any], seed: int, trust: bool) -> PreTrainedModel:
    """The checkpoint; what it lacks for the task is drawn by the seed."""
    model = load_model(
        name, head=kind, trust_remote_code=trust, dtype=torch.float32, ignore_mismatched_sizes=True, changes=options
    )
    generator = torch.Generator().manual_seed(seed)
    spread = getattr(model.config, "initializer_range", SPREAD)
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for key in getattr(model, NEW_WEIGHTS):
            weight = parameters.get(key)
            if weight is not None and weight.ndim > 1:
                weight.copy_(torch.randn(weight.shape, generator=generator) * spread)
    return model
