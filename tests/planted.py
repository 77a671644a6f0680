"""A model whose heads are known by construction: L0H0 carries the label, L0H1 misleads, all others do nothing.

A text is a few words. `good` and `bad` decide the label; `up` and `down` are noise that a wrong head follows,
more strongly than the right one. Attention is uniform, feed-forward layers do nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers as tf

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "up", "down", "the", "a", "so", "it", "is"]
SIGNAL, NOISE, VERDICT = 0, 1, 4
NAMES = {0: "negative", 1: "positive"}


def tokenizer(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    return tf.BertTokenizer(vocab=str(folder / "vocab.txt"), model_max_length=64)


@torch.no_grad()
def classifier(layers: int = 2) -> Any:
    config = tf.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=64,
        id2label=NAMES,
        label2id={name: number for number, name in NAMES.items()},
    )
    model = tf.BertForSequenceClassification(config).eval()
    for name, parameter in model.named_parameters():
        if "LayerNorm.weight" not in name:
            parameter.zero_()
    words = model.bert.embeddings.word_embeddings.weight
    words[WORDS.index("good"), SIGNAL], words[WORDS.index("bad"), SIGNAL] = 1, -1
    words[WORDS.index("up"), NOISE], words[WORDS.index("down"), NOISE] = 1, -1
    attention = model.bert.encoder.layer[0].attention
    attention.self.value.weight[0, SIGNAL] = 1  # head 0 has the rows 0 to 3
    attention.self.value.weight[4, NOISE] = 1  # head 1 has the rows 4 to 7
    attention.output.dense.weight[VERDICT, 0] = 1
    attention.output.dense.weight[VERDICT, 4] = 2
    model.bert.pooler.dense.weight.copy_(torch.eye(8))
    model.classifier.weight[0, VERDICT], model.classifier.weight[1, VERDICT] = -1, 1
    return model


def texts(count: int = 120, seed: int = 0) -> pd.DataFrame:
    """Balanced texts; three in ten hold noise against their label, so that the model gets them wrong."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        label = number % 2
        words = list(generator.choice(WORDS[9:], generator.integers(2, 9)))
        words.append("good" if label else "bad")
        if number % 10 < 3:
            words.append("down" if label else "up")
        rows.append({"sentence": " ".join(generator.permutation(words)), "label": label})
    return pd.DataFrame(rows)


def save(folder: Path) -> Path:
    classifier().save_pretrained(folder)
    tokenizer(folder).save_pretrained(folder)
    return folder


@torch.no_grad()
def too_large_for_float16(model: Any) -> Any:
    """The model with a feed-forward layer in L1 that only `up` wakes: its numbers are beyond float16, not float32."""
    layer = model.bert.encoder.layer[1]
    layer.intermediate.dense.weight.zero_()
    layer.intermediate.dense.weight[:, NOISE] = 1
    layer.intermediate.dense.bias.fill_(-1)
    layer.output.dense.weight.fill_(20_000)
    return model
