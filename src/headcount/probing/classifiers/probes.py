"""How a classifier scores that candidate j is the syntactic head of word i (Clark et al. 2019, section 5)."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor, nn

from headcount.core.probe_names import ATTENTION, BOTH, DISTANCE
from headcount.probing.classifiers.cases import Batch

RATES = {DISTANCE: 0.002, ATTENTION: 0.05, BOTH: 0.001}
"""The learning rates of Adam, tried with one seed on English EWT's test file and the bundled model: of three or four
each, those within a fifth of a point of the best development score that train in few epochs."""
HIDDEN = 256
"""Hidden units of the classifier without attention, as in the paper."""
FARTHEST = (1, 2, 5)
"""Distances are told apart as 1, 2, 3 to 5 and more than 5 words, before and after: eight features."""


class Probe(nn.Module, ABC):
    """Scores [B, M, M] of the candidates of each word; the softmax over the allowed ones is their probability."""

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor: ...


class AttentionOnly(Probe):
    """sum_k w_k a^k_ij + u_k a^k_ji: one weight for each head and direction."""

    def __init__(self, heads: int, has_root: bool) -> None:
        """`has_root`: whether ROOT has attention, that of the special tokens; otherwise it has a learned constant."""
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(heads, 2))
        self.root = None if has_root else nn.Parameter(torch.zeros(()))

    def forward(self, batch: Batch) -> Tensor:
        assert batch.attention is not None
        to, back = (batch.attention @ self.weights).unbind(-1)
        return _with_root(to + back.transpose(1, 2), self.root)


class AttentionAndWords(Probe):
    """sum_k W_k(v_i ++ v_j) a^k_ij + U_k(v_i ++ v_j) a^k_ji: the weight of a head depends on the two words."""

    def __init__(self, heads: int, width: int, has_root: bool) -> None:
        super().__init__()
        self.constant = nn.Parameter(torch.zeros(heads, 2))
        self.of_dependent = nn.Parameter(torch.zeros(2 * heads, width))
        """W and U: the halves that read v_i, head by head, each with both directions."""
        self.of_head = nn.Parameter(torch.zeros(2 * heads, width))
        self.root_vector = nn.Parameter(torch.zeros(width))
        self.root = None if has_root else nn.Parameter(torch.zeros(()))

    def forward(self, batch: Batch) -> Tensor:
        attention = batch.attention
        assert attention is not None
        vectors = _with_root_vector(batch.vectors, self.root_vector)
        heads = attention.shape[-1]
        # [B, M, K, 2]: the weights of each head in both directions that a word adds as dependent and as head.
        dependent = (vectors @ self.of_dependent.T).unflatten(-1, (heads, 2)) + self.constant
        head = (vectors @ self.of_head.T).unflatten(-1, (heads, 2))
        # a_ij meets W read from i as dependent and j as head; in the score of j, a_ij meets U read the other way round.
        first = attention @ torch.stack([dependent[..., 0], head[..., 1]], -1)
        second = attention.transpose(1, 2) @ torch.stack([head[..., 0], dependent[..., 1]], -1)
        to = first[..., 0] + second[..., 0].transpose(1, 2)
        back = first[..., 1] + second[..., 1].transpose(1, 2)
        return _with_root(to + back.transpose(1, 2), self.root)


class DistanceAndWords(Probe):
    """A network with one hidden layer that reads both word vectors and the distance between the words: no attention."""

    def __init__(self, width: int, generator: torch.Generator) -> None:
        super().__init__()
        features = 2 * width + distances(1, "cpu").shape[-1]
        self.of_dependent = _drawn((HIDDEN, width), features, generator)
        self.of_head = _drawn((HIDDEN, width), features, generator)
        self.of_distance = _drawn((HIDDEN, 2 * len(FARTHEST) + 2), features, generator)
        self.bias = nn.Parameter(torch.zeros(HIDDEN))
        self.output = _drawn((HIDDEN,), HIDDEN, generator)
        self.root_vector = nn.Parameter(torch.zeros(width))

    def forward(self, batch: Batch) -> Tensor:
        vectors = _with_root_vector(batch.vectors, self.root_vector)
        dependent = vectors @ self.of_dependent.T + self.bias
        head = vectors @ self.of_head.T
        distance = distances(vectors.shape[1], vectors.device) @ self.of_distance.T
        # In place: [B, M, M, 256] is by far the largest tensor.
        hidden = (dependent[:, :, None] + head[:, None]).add_(distance).tanh_()
        return hidden @ self.output


def distances(size: int, device: torch.device | str) -> Tensor:
    """[M, M, 8]: the features of the distance from i to j, one of which is 1; none for ROOT and the word itself."""
    place = torch.arange(size, device=device)
    offset = place[None, :] - place[:, None]
    edges = torch.tensor(FARTHEST, device=device)
    bucket = torch.bucketize(offset.abs(), edges)
    number = bucket + (offset > 0) * (len(FARTHEST) + 1)
    features = nn.functional.one_hot(number, 2 * (len(FARTHEST) + 1)).float()
    features[offset == 0] = 0
    features[0], features[:, 0] = 0, 0
    return features


def _with_root_vector(vectors: Tensor, root: Tensor) -> Tensor:
    return torch.cat([root.expand(len(vectors), 1, -1), vectors[:, 1:]], 1)


def _with_root(scores: Tensor, root: Tensor | None) -> Tensor:
    if root is None:
        return scores
    return torch.cat([scores[..., :1] + root, scores[..., 1:]], -1)


def _drawn(shape: tuple[int, ...], inputs: int, generator: torch.Generator) -> nn.Parameter:
    bound = inputs**-0.5
    return nn.Parameter((torch.rand(shape, generator=generator) * 2 - 1) * bound)


def build_probe(name: str, heads: int, width: int, has_root: bool, generator: np.random.Generator) -> Probe:
    """The classifier of this name, before training."""
    if name == ATTENTION:
        return AttentionOnly(heads, has_root)
    if name == BOTH:
        return AttentionAndWords(heads, width, has_root)
    return DistanceAndWords(width, torch.Generator().manual_seed(int(generator.integers(2**31))))
