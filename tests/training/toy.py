"""A tiny checkpoint and toy tasks: one word of a text decides its label, so that a few steps learn it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers as tf
from safetensors.torch import load_file

from headcount.training.trainer import Settings

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
FILLERS = [f"w{number}" for number in range(51)]
WORDS = [*SPECIAL, "good", "bad", "up", "down", *FILLERS]  # 60
QUICK = Settings(per_device_train_batch_size=8, num_train_epochs=20, learning_rate=5e-3, save_steps=1000)
"""80 steps for 32 examples: enough to learn them all."""
SHORT = Settings(per_device_train_batch_size=8, num_train_epochs=1, learning_rate=1e-3)
"""4 steps for 32 examples."""


def save_checkpoint(folder: Path, kind: Any = tf.BertModel, **options: Any) -> str:
    """A BERT of 2 layers without a single weight as BERT is initialised, and its tokenizer."""
    config = tf.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.05,
        **options,
    )
    torch.manual_seed(11)
    model = kind(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return str(folder)


def save_tokenizer(folder: Path) -> Any:
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    tokenizer = tf.BertTokenizer(vocab=str(folder / "vocab.txt"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    return tokenizer


def _words(generator: np.random.Generator) -> list[str]:
    return [str(word) for word in generator.choice(FILLERS, generator.integers(2, 8))]


def pairs(count: int = 32, seed: int = 0, noise: bool = False) -> pd.DataFrame:
    """Pairs for MRPC: the second sentence has `good` or `bad`. With `noise` the labels know nothing of it."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        label = number % 2
        known = int(generator.integers(2)) if noise else label
        rows.append((" ".join(_words(generator)), " ".join([*_words(generator), "good" if known else "bad"]), label))
    return pd.DataFrame(rows, columns=["sentence1", "sentence2", "label"])


def numbers(count: int = 32, seed: int = 0) -> pd.DataFrame:
    """Pairs for STS-B: the label goes with the number of `good` words."""
    generator = np.random.default_rng(seed)
    rows = [
        (" ".join(_words(generator)), " ".join(["good"] * (row % 4) + ["bad"] * (3 - row % 4)), (row % 4) / 3 * 5)
        for row in range(count)
    ]
    return pd.DataFrame(rows, columns=["sentence1", "sentence2", "label"])


def choices(count: int = 32, seed: int = 0) -> pd.DataFrame:
    """Arguments with two warrants: the right one has `good`, the other `bad`; claim and reason say nothing."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        warrants = [" ".join([*_words(generator), "good" if number % 2 == choice else "bad"]) for choice in range(2)]
        rows.append((" ".join(_words(generator)), " ".join(_words(generator)), *warrants, number % 2))
    return pd.DataFrame(rows, columns=["claim", "reason", "warrant0", "warrant1", "label"])


def tagged(count: int = 32, seed: int = 0) -> pd.DataFrame:
    """Words with tags: `good` and `bad` are A, everything else is O."""
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        words = [*_words(generator), "good", *_words(generator), "bad"]
        rows.append((words, ["A" if word in ("good", "bad") else "O" for word in words]))
    return pd.DataFrame(rows, columns=["tokens", "tags"])


def save_splits(folder: Path, train: pd.DataFrame, validation: pd.DataFrame | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    train.to_parquet(folder / "train.parquet")
    (train if validation is None else validation).to_parquet(folder / "validation.parquet")
    return folder


def weights(folder: Path | str) -> dict[str, torch.Tensor]:
    """The weights in a saved model's folder."""
    return load_file(Path(folder) / "model.safetensors")


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[key], right[key]) for key in left)
