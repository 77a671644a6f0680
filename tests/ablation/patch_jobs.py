"""Small models with pairs of inputs: an encoder, a decoder with key/value groups, an encoder-decoder."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from tests import planted
from tests.contracts.zoo import exact
from tests.pruning.jobs import random_model

SWAPPED = {"good": "bad", "bad": "good", "up": "down", "down": "up", "the": "a", "a": "the"}


def swapped(text: str) -> str:
    """The same number of words, about half of them others."""
    return " ".join(SWAPPED.get(word, word) for word in text.split())


def pairs(kind: str, count: int = 6) -> pd.DataFrame:
    """Texts of unlike length with counterparts of the same length, answers, wrong answers and a named span."""
    texts = planted.texts(count, seed=2)
    sentences = texts["sentence"]
    others = sentences.map(swapped)
    # Of every text the words 1 and 2 (one special token precedes them where the tokenizer adds one).
    spans = [json.dumps({"middle": [1, 3], "start": [0, 1]})] * count
    shared: dict[str, Any] = {"counterpart": others, "spans": spans}
    if kind == "bert":
        return pd.DataFrame({"sentence": sentences, "label": texts["label"], **shared})
    if kind == "llama":
        answers = np.array([" good", " it"])[np.arange(count) % 2]
        wrong = np.array([" bad", " is"])[np.arange(count) % 2]
        return pd.DataFrame({"prompt": sentences, "completion": answers, "wrong": wrong, **shared})
    return pd.DataFrame({"source": sentences, "target": sentences.values[::-1], **shared})


def model_of(kind: str) -> Any:
    if kind == "bert":
        return random_model(attn_implementation="eager")
    head = "AutoModelForCausalLM" if kind == "llama" else "AutoModelForSeq2SeqLM"
    return exact(kind, kernel="eager", head=head)


TASKS = {"bert": "sst2", "llama": "completion", "t5": "translation"}
