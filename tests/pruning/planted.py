"""A classifier in which each head's part is written down: what it reads of the words, where it writes it, how strongly.

Attention is uniform, feed-forward layers do nothing, and every word has the same two large entries in its hidden
state, so that layer norms leave the small ones nearly as they are. All texts have the same length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers as tf

from tests import planted

SIGNAL, NOISE, VERDICT, ASIDE = 0, 1, 4, 5
LAYERS, HEADS = 2, 4
Parts = Mapping[str, tuple[int, int, float]]
AMOUNTS = {
    "L0H0": 0.06,
    "L0H1": 1.0,
    "L0H2": 0.12,
    "L0H3": 0.03,
    "L1H0": 0.004,
    "L1H1": 0.25,
    "L1H2": 0.5,
    "L1H3": 0.01,
}
GRADED: Parts = {head: (SIGNAL, VERDICT, amount) for head, amount in AMOUNTS.items()}
"""Every head carries the label, each more strongly than the one before it in `GRADED_ORDER`."""
GRADED_ORDER = sorted(AMOUNTS, key=lambda head: AMOUNTS[head])
BACKED: Parts = {"L0H0": (SIGNAL, VERDICT, 1.0), "L0H1": (SIGNAL, VERDICT, 1.0), "L0H2": (NOISE, ASIDE, 1.0)}
"""L0H0 and L0H1 back each other up, L0H2 disturbs a little, all others do nothing."""
STEEP = 24.0
"""With this slope of the verdict one of the two heads is enough, and both together leave no gradient."""
NEEDED: Parts = {"L0H1": (SIGNAL, VERDICT, 2.0)}


@torch.no_grad()
def classifier(parts: Parts, slope: float = 1.0, loud: float = 1.0) -> Any:
    """`slope`: of the verdict, in front of the pooler's tanh; `loud`: of what it says, in the logits."""
    config = tf.BertConfig(
        vocab_size=len(planted.WORDS),
        hidden_size=8,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=8,
        max_position_embeddings=64,
        id2label=planted.NAMES,
        label2id={name: number for number, name in planted.NAMES.items()},
    )
    model = tf.BertForSequenceClassification(config).eval()
    for name, parameter in model.named_parameters():
        if "LayerNorm.weight" not in name:
            parameter.zero_()
    words = model.bert.embeddings.word_embeddings.weight
    words[:, 6], words[:, 7] = 2, -2
    for first, second, place in (("good", "bad", SIGNAL), ("up", "down", NOISE)):
        words[planted.WORDS.index(first), place], words[planted.WORDS.index(second), place] = 1, -1
    for spelled, (source, target, amount) in parts.items():
        layer, head = map(int, spelled[1:].split("H"))
        attention = model.bert.encoder.layer[layer].attention
        attention.self.value.weight[2 * head, source] = 1
        attention.output.dense.weight[target, 2 * head] = amount
    model.bert.pooler.dense.weight[VERDICT, VERDICT] = slope
    model.bert.pooler.dense.weight[ASIDE, ASIDE] = 1
    model.classifier.weight[0, VERDICT], model.classifier.weight[1, VERDICT] = -loud, loud
    model.classifier.weight[0, ASIDE], model.classifier.weight[1, ASIDE] = -0.5, 0.5
    return model


def texts(count: int = 80, seed: int = 0) -> pd.DataFrame:
    """Six words each: the one that decides, one of noise, four others; both labels and both noises alike often."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        label, noise = number % 2, number // 2 % 2
        words = [*generator.choice(planted.WORDS[9:], 4), "good" if label else "bad", "up" if noise else "down"]
        rows.append({"sentence": " ".join(generator.permutation(words)), "label": label})
    return pd.DataFrame(rows)
