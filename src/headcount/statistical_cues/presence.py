"""Which text has which cue: unigrams and bigrams of its tokens, as a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, hstack

from headcount.statistical_cues.tokenize import Tokens


@dataclass(frozen=True)
class Presence:
    """[text, cue]: 1 where a text has a cue, with the names of the cues and how many tokens each has."""

    matrix: csr_matrix
    names: np.ndarray
    sizes: np.ndarray


def find_cues(tokens: Tokens, bigrams: bool = True, least: int = 1) -> Presence:
    """The unigrams, and bigrams of neighbouring tokens, that are in at least `least` texts.

    >>> from headcount.statistical_cues.tokenize import split_texts
    >>> find_cues(split_texts(["it is not", "it is"], "words"), least=2).names.tolist()
    ['is', 'it', 'it is']
    """
    texts = len(tokens.starts) - 1
    owners = np.repeat(np.arange(texts, dtype=np.int32), np.diff(tokens.starts))
    matrix, codes = _frequent(owners, tokens.codes, texts, least)
    matrices, names = [matrix], [tokens.names[codes]]
    if bigrams:
        inside = owners[:-1] == owners[1:]  # no bigram reaches from one text into the next
        pairs = tokens.codes[:-1][inside].astype(np.int64) * len(tokens.names) + tokens.codes[1:][inside]
        matrix, codes = _frequent(owners[:-1][inside], pairs, texts, least)
        first, second = np.divmod(codes, max(1, len(tokens.names)))
        matrices.append(matrix)
        names.append(tokens.names[first] + np.full(len(codes), " ", dtype=object) + tokens.names[second])
    sizes = np.repeat(np.arange(1, len(names) + 1), [len(part) for part in names])
    joined = np.concatenate(names)
    order = np.lexsort((joined.astype(str), sizes))
    return Presence(hstack(matrices, format="csr")[:, order], joined[order], sizes[order])


def _frequent(owners: np.ndarray, codes: np.ndarray, texts: int, least: int) -> tuple[csr_matrix, np.ndarray]:
    """[text, code] for the codes that are in at least `least` texts, and these codes."""
    numbers, known = pd.factorize(codes)
    # Most bigrams are rare: those that cannot reach `least` are left out before the matrix is built.
    often = np.bincount(numbers, minlength=len(known)) >= least
    numbers, owners, known = (np.cumsum(often) - 1)[numbers[often[numbers]]], owners[often[numbers]], known[often]
    matrix = csr_matrix((np.ones(len(numbers), dtype=np.int16), (owners, numbers)), shape=(texts, len(known)))
    matrix.data[:] = 1  # a cue that a text has twice was added up
    enough = matrix.getnnz(axis=0) >= least
    return matrix[:, enough], known[enough]
