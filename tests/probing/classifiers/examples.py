"""Sentences for classifiers whose attention is given: one head attends along the tree, the others anywhere."""

from __future__ import annotations

import numpy as np
import torch

from headcount.probing.classifiers.cases import NO_CASE, Case

HEADS, WIDTH, PLANTED = 5, 6, 2


def cases(count: int, seed: int = 0, planted: bool = True) -> list[Case]:
    """Random trees; where `planted`, head 2 attends from each word to its syntactic head with weight 0.6 or more."""
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        size = int(generator.integers(4, 9))
        attention = generator.dirichlet(np.ones(size), (size, HEADS)).transpose(0, 2, 1)
        gold = np.full(size, NO_CASE, dtype=np.int64)
        for word in range(1, size):
            gold[word] = generator.choice([other for other in range(size) if other != word])
            if planted:
                attention[word, :, PLANTED] *= 0.4
                attention[word, gold[word], PLANTED] += 0.6
        vectors = generator.normal(size=(size, WIDTH))
        vectors[0] = 0
        made.append(
            Case(
                torch.from_numpy(gold),
                torch.ones(size, dtype=torch.bool),
                torch.from_numpy(vectors).float(),
                torch.from_numpy(attention).half(),
            )
        )
    return made
