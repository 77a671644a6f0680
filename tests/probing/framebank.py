"""Sentences with a frame whose links a planted head follows at varying distance, and a slow but plain way to look."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

import headcount as hc

FILLERS = ("he", "they", "it", "quickly", "near", "with", "some", "red", "old", "we", "you", "this")


def annotation(words: list[str], elements: list[tuple[str, int, int]], target: tuple[int, int]) -> dict[str, Any]:
    """A row of a table: elements by name and words from the first to before the second, and the words of the target."""
    starts = [len(" ".join(words[:number])) + (number > 0) for number in range(len(words))]

    def span(first: int, end: int) -> list[int]:
        return [starts[first], starts[end - 1] + len(words[end - 1])]

    found = []
    for name, first, end in elements:
        start, stop = span(first, end)
        found.append({"name": name, "start": start, "end": stop, "itype": None, "rank": 1, "core": "Core"})
    return {"text": " ".join(words), "target": json.dumps([span(*target)]), "fes": json.dumps(found)}


def frames(count: int = 120, seed: int = 0) -> pd.DataFrame:
    """The predicate is the only noun of a sentence, which L0H3 attends to; the element is anywhere but near it."""
    generator = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    while len(rows) < count:
        words = generator.choice(FILLERS, generator.integers(7, 12), replace=False).tolist()
        element, target = (int(at) for at in generator.permutation(len(words))[:2])
        if abs(element - target) > 2:
            words[target], words[element] = "dog", "she"
            name = "Agent" if len(rows) % 2 else "Theme"
            rows.append(annotation(words, [(name, element, element + 1)], (target, target + 1)))
    return pd.DataFrame(rows)


def naive_weights(
    model: Any, tokenizer: Any, words: list[str], element: list[int], target: list[int], linked: set[frozenset[int]]
) -> np.ndarray:
    """[layer, head, direction, 2]: the weight of a link and the mean over its unlinked shifts; in float64."""
    encoded = tokenizer([words], is_split_into_words=True, return_tensors="pt")
    numbers = encoded.word_ids(0)
    pieces = [[token for token, number in enumerate(numbers) if number == word] for word in range(len(words))]
    maps = hc.observe(model, dict(encoded)).maps["encoder"].double().numpy()[:, :, 0]
    found = np.full((*maps.shape[:2], 2, 2), np.nan)
    for layer in range(maps.shape[0]):
        for head in range(maps.shape[1]):
            for direction in range(2):
                nulls = []
                for shift in range(-len(words), len(words)):
                    sources, keys = (element, target) if direction == 0 else (target, element)
                    moved = [[word + shift for word in part] for part in (sources, keys)]
                    if any(not 0 <= word < len(words) for part in moved for word in part):
                        continue
                    largest = max(
                        np.mean([sum(maps[layer, head, a, b] for b in pieces[key]) for a in pieces[source]])
                        for source in moved[0]
                        for key in moved[1]
                    )
                    if shift == 0:
                        found[layer, head, direction, 0] = largest
                        continue
                    if any(frozenset((source, key)) in linked for source in moved[0] for key in moved[1]):
                        continue
                    if any(words[word] in ".,;" for part in moved for word in part):
                        continue
                    if max(len(pieces[key]) for key in moved[1]) == max(len(pieces[key]) for key in keys):
                        nulls.append(largest)
                if nulls:
                    found[layer, head, direction, 1] = np.mean(nulls)
    return found
