"""Sentences whose dependencies a planted head follows at varying distance, and a slow but plain way to probe heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import headcount as hc

FILLERS = ("he", "she", "it", "quickly", "near", "with", "some", "red")
RIGHT = 0.75
"""The share of determiners whose head is the noun, which the planted head L0H3 attends to; else it is the verb."""


def sentences(count: int = 200, seed: int = 0) -> pd.DataFrame:
    """One noun, one verb (the root), one determiner and some other words, in any order."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        words = ["dog", "saw", "the", *generator.choice(FILLERS, generator.integers(2, 9)).tolist()]
        order = generator.permutation(len(words))
        at = {int(old): new + 1 for new, old in enumerate(order)}
        noun, verb = at[0], at[1]
        heads, deprels = [], []
        for old in order:
            wrong = number % 4 == 3
            heads.append({0: verb, 1: 0, 2: verb if wrong else noun}.get(int(old), verb))
            deprels.append({0: "obj", 1: "root", 2: "det"}.get(int(old), "dep"))
        rows.append(([words[old] for old in order], ["X"] * len(words), heads, deprels))
    return pd.DataFrame(rows, columns=["tokens", "upos", "heads", "deprels"])


def naive_hits(model: Any, tokenizer: Any, row: pd.Series, relation: str, source: str = "mean") -> np.ndarray:
    """[layer, head, direction]: how many words of a relation the most attended word is right for; in float64."""
    words = list(row["tokens"])
    encoded = tokenizer([words], is_split_into_words=True, return_tensors="pt")
    numbers = encoded.word_ids(0)
    maps = hc.observe(model, dict(encoded)).maps["encoder"].double().numpy()[:, :, 0]
    layers, heads = maps.shape[:2]
    hits = np.zeros((layers, heads, 2))
    pieces = [[token for token, number in enumerate(numbers) if number == word] for word in range(len(words))]
    for layer in range(layers):
        for head in range(heads):
            table = np.zeros((len(words), len(words)))
            for one in range(len(words)):
                for other in range(len(words)):
                    sums = [sum(maps[layer, head, a, b] for b in pieces[other]) for a in pieces[one]]
                    table[one, other] = sums[0] if source == "first" else sum(sums) / len(sums)
                table[one, one] = -1
            for word, (gold, deprel) in enumerate(zip(row["heads"], row["deprels"], strict=True)):
                if gold and deprel in (relation, f"{relation}:pass"):
                    hits[layer, head, 0] += table[word].argmax() == gold - 1
                    hits[layer, head, 1] += table[:, word].argmax() == gold - 1
    return hits
