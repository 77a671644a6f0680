"""A multiple-choice model that knows one cue: it prefers the choice with `good`, and never looks at the claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers as tf

from tests import planted

CHOICES = ["first", "second"]


@torch.no_grad()
def follows_good() -> Any:
    """The planted classifier's body, with a score for each choice."""
    classifier = planted.classifier()
    model = tf.BertForMultipleChoice(classifier.config).eval()
    model.bert.load_state_dict(classifier.bert.state_dict())
    model.classifier.weight.zero_()
    model.classifier.bias.zero_()
    model.classifier.weight[0, planted.VERDICT] = 1
    return model


def arguments(rows: int = 40, misleading: int = 0, seed: int = 0) -> pd.DataFrame:
    """Two choices a row, `good` in the correct one and `bad` in the other; in `misleading` rows the reverse."""
    generator = np.random.default_rng(seed)
    table = []
    for row in range(rows):
        label = row % 2
        fillers = [" ".join(generator.choice(["the", "a", "so", "it", "is"], 4)) for _ in range(3)]
        good = label if row >= misleading else 1 - label
        texts = [f"{filler} {'good' if side == good else 'bad'}" for side, filler in enumerate(fillers[:2])]
        table.append({"claim": f"{fillers[2]} {row}", "first": texts[0], "second": texts[1], "label": label})
    return pd.DataFrame(table)


def negations(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"original": table["claim"], "negated": "it is so " + table["claim"]}).drop_duplicates()
