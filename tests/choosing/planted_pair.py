"""A classifier in which two heads do everything: L0H0 follows `good` and `bad`, L1H1 follows `up` and `down`.

A text holds one of the four words, so that each head decides one half of the texts. Without the head the logits are
equal, and the model answers `negative`: of its texts, it then gets those right that are negative.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from tests import planted

HEADS = "L0H0, L1H1"
FIRST, SECOND = ("bad", "good"), ("down", "up")


@torch.no_grad()
def classifier() -> Any:
    """Every number stands in two places with opposite signs, so that no layer norm carries one over into others."""
    model = planted.classifier()
    words = model.bert.embeddings.word_embeddings.weight
    words.zero_()
    for place, (negative, positive) in ((0, FIRST), (2, SECOND)):
        for word, sign in ((negative, -1), (positive, 1)):
            words[planted.WORDS.index(word), place], words[planted.WORDS.index(word), place + 1] = sign, -sign
    verdict = planted.VERDICT
    for layer, row, place in ((0, 0, 0), (1, 4, 2)):  # head 0 has the rows 0 to 3, head 1 the rows 4 to 7
        attention = model.bert.encoder.layer[layer].attention
        attention.self.value.weight.zero_()
        attention.output.dense.weight.zero_()
        attention.self.value.weight[row, place] = 1
        attention.output.dense.weight[verdict, row], attention.output.dense.weight[verdict + 1, row] = 1, -1
    return model


def texts(count: int = 120, seed: int = 0) -> pd.DataFrame:
    """Of four texts each, one of every kind; `kind` says which head decides, and each has a counterpart."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        label, kind = number % 2, number // 2 % 2
        words = [str(word) for word in generator.choice(planted.WORDS[9:], generator.integers(2, 9))]
        place = int(generator.integers(len(words) + 1))
        pair = (FIRST, SECOND)[kind]
        sentence, other = (" ".join([*words[:place], pair[side], *words[place:]]) for side in (label, 1 - label))
        rows.append({"sentence": sentence, "label": label, "kind": kind, "counterpart": other})
    return pd.DataFrame(rows)


def saved_command(folder: Path) -> list[str]:
    """Model and texts on disk, as the command line names them."""
    classifier().save_pretrained(folder / "model")
    planted.tokenizer(folder / "model").save_pretrained(folder / "model")
    texts(80).to_csv(folder / "texts.csv", index=False)
    return [str(folder / "model"), "--data", str(folder / "texts.csv"), "--task", "sst2"]
