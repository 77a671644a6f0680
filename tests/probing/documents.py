"""Documents whose antecedents a planted head finds at varying distance, and a slow but plain way to ask a head."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import headcount as hc
from headcount.probing.coreference.antecedents import Case

FILLERS = ("quickly", "near", "with", "some", "red", "old", "because", "not")
OTHER_MENTIONS = ("it", "we", "him")
RIGHT = 0.75
"""The share of documents in which `she` is the dog, which the planted head L0H3 attends to; else it is `you`."""


def documents(count: int = 80, seed: int = 0) -> pd.DataFrame:
    """A noun and `you` in any order, other mentions and words, then `she` and other words; the columns of LitBank."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        before = ["dog", "you", *generator.choice(FILLERS, 2).tolist()]
        middle = [*OTHER_MENTIONS, *generator.choice(FILLERS, generator.integers(1, 9)).tolist()]
        words = [str(word) for part in (before, middle) for word in generator.permutation(part)]
        words += ["she", *generator.choice(FILLERS, 3).tolist(), "."]
        antecedent = "dog" if number % 4 != 3 else "you"
        other = "you" if antecedent == "dog" else "dog"
        span = {word: [words.index(word), words.index(word) + 1] for word in ("dog", "you", "she", *OTHER_MENTIONS)}
        clusters = [[span[antecedent], span["she"]], *([span[word]] for word in (other, *OTHER_MENTIONS))]
        rows.append((f"d{number}", words, [len(words)], clusters))
    return pd.DataFrame(rows, columns=["doc", "tokens", "sent_lens", "clusters"])


def naive_hits(model: Any, tokenizer: Any, words: list[str], case: Case, among: str) -> np.ndarray:
    """[layer, head, direction]: whether each head connects one mention with an antecedent; in float64."""
    encoded = tokenizer([words], is_split_into_words=True, return_tensors="pt")
    numbers = encoded.word_ids(0)
    maps = hc.observe(model, dict(encoded)).maps["encoder"].double().numpy()[:, :, 0]
    pieces = [[token for token, number in enumerate(numbers) if number == word] for word in range(len(words))]
    candidates = list(case.earlier) if among == "mentions" else [w for w in range(len(words)) if w != case.word]

    def between(layer: int, head: int, one: int, other: int) -> float:
        return float(np.mean([sum(maps[layer, head, a, b] for b in pieces[other]) for a in pieces[one]]))

    hits = np.zeros((*maps.shape[:2], 2))
    for layer, head in np.ndindex(maps.shape[:2]):
        there = [between(layer, head, case.word, other) for other in candidates]
        back = [between(layer, head, other, case.word) for other in candidates]
        for way, weights in enumerate((there, back)):
            hits[layer, head, way] = candidates[int(np.argmax(weights))] in case.antecedents
    return hits
