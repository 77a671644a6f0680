"""A tiny Llama with key/value groups: in group L1H0-1 the two heads cancel each other out, L0H2-3 is silent.

Each of L1H0 and L1H1 alone matters to the loss, both together do not: they read the same keys and values with the same
queries, and their outputs have opposite signs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers as tf

from tests import planted

LAYERS, HEADS, GROUPS, SIZE = 3, 4, 2, 8
SILENT, CANCELLING = ("L0H2", "L0H3"), ("L1H0", "L1H1")


@torch.no_grad()
def llama(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    config = tf.LlamaConfig(
        vocab_size=len(planted.WORDS),
        hidden_size=32,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=GROUPS,
        head_dim=SIZE,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.3,
        bos_token_id=2,
        eos_token_id=3,
        pad_token_id=0,
    )
    model = tf.LlamaForCausalLM(config).eval()
    model.model.layers[0].self_attn.o_proj.weight[:, 2 * SIZE :] = 0
    attention = model.model.layers[1].self_attn
    attention.q_proj.weight[SIZE : 2 * SIZE] = attention.q_proj.weight[:SIZE]
    attention.o_proj.weight[:, SIZE : 2 * SIZE] = -attention.o_proj.weight[:, :SIZE]
    return model


def texts(count: int = 48, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    words = planted.WORDS[5:]
    return pd.DataFrame({"text": [" ".join(generator.choice(words, generator.integers(5, 12))) for _ in range(count)]})


def save(folder: Path) -> Path:
    """The model and its tokenizer in `folder/llama`, texts in `folder/texts.csv`."""
    llama().save_pretrained(folder / "llama")
    planted.tokenizer(folder / "llama").save_pretrained(folder / "llama")
    texts().to_csv(folder / "texts.csv", index=False)
    return folder
