"""The model that a run starts from: pre-trained, or with random weights, with or without pre-trained embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headcount.errors import InvalidOption, UnsuitableModel
from headcount.models.load import load_config, load_model, load_tokenizer
from headcount.models.matching_weights import NEW_WEIGHTS
from headcount.models.random_weights import SPREAD
from headcount.training.splits import Splits

INITS = ("none", "random", "pretrained")


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

    `none` and `pretrained` give the same model: only the second is trained. `random`: all weights from N(0, 0.02); with
    `keep_embeddings` the embeddings are the pre-trained ones. New weights depend on the seed.
    """
    if init not in INITS:
        raise InvalidOption(f"got the initialisation {init!r}; expected some of {', '.join(INITS)}")
    kind = splits.task.kind
    options = kind.config_changes(splits.names)
    torch.manual_seed(seed)
    loaded_tokenizer = load_tokenizer(tokenizer or name, trust_remote_code=trust_remote_code)
    if init != "random":
        return _pretrained(name, kind.name, options, seed, trust_remote_code), loaded_tokenizer
    config = load_config(name, trust_remote_code=trust_remote_code)
    for key, value in (options | {"initializer_range": SPREAD}).items():
        setattr(config, key, value)
    model = getattr(transformers, kind.auto_class).from_config(config, dtype=torch.float32)
    if keep_embeddings:
        pretrained = load_model(name, trust_remote_code=trust_remote_code, dtype=torch.float32)
        _embeddings(model).load_state_dict(_embeddings(pretrained).state_dict())
    return model, loaded_tokenizer


def load_text_tokenizer(
    model: str | Path, tokenizer: str | Path | None = None, trust_remote_code: bool = False
) -> PreTrainedTokenizerBase:
    """The named tokenizer, or the model's own; a model of images has none and is refused."""
    load_config(model, trust_remote_code=trust_remote_code)  # a wrong name is that of the model, not of a tokenizer
    loaded = load_tokenizer(tokenizer or model, trust_remote_code=trust_remote_code)
    if not isinstance(loaded, PreTrainedTokenizerBase):
        raise UnsuitableModel(f"{model} is a model of images ({type(loaded).__name__}); expected one that reads texts")
    return loaded


def _embeddings(model: PreTrainedModel) -> torch.nn.Module:
    """The module of word, position and segment embeddings where there is one, else that of the words."""
    embeddings: torch.nn.Module | None = getattr(model.base_model, "embeddings", None)
    return model.get_input_embeddings() if embeddings is None else embeddings


def _pretrained(name: str | Path, kind: str, options: dict[str, Any], seed: int, trust: bool) -> PreTrainedModel:
    """The checkpoint; weights that it lacks for the task are drawn with the seed."""
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
