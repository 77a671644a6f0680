"""A small model with four blocks, and costs for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from transformers import BertConfig, BertModel

import headcount as hc


def anatomy(units: int = 6) -> Any:
    config = BertConfig(
        num_hidden_layers=2, hidden_size=12, num_attention_heads=4, intermediate_size=units, vocab_size=9
    )
    return hc.read_anatomy(BertModel(config))


def costs(model: Any, head: Any = 3.0, unit: Any = 1.0) -> dict[Any, Any]:
    return {block.layer_key: unit if block.layer_key[0].endswith(".units") else head for block in model.blocks()}


def scores(model: Any, seed: int = 0) -> dict[Any, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {block.layer_key: generator.random(block.count) for block in model.blocks()}
