"""The attention of one layer in one batch, computed piece by piece, with as little of the map as a question needs.

The map is built at most once for a layer, unnormalised and in place (each row's largest entry is 1), and divided by its
row sums only after it has been reduced: sums over classes of keys are a matrix product, and so is the entropy, since
`H = logsumexp - scale * q . sum_k p_k k`. For the entropy alone, no map is built at all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor

from headcount.models.attention import Attention
from headcount.trace.call import AttentionCall
from headcount.trace.precision import widened
from headcount.trace.scores import Exponentials, entropy_without_map, exponentials, is_linear

ROWS = 128
"""Queries at a time, where a question needs one side of the diagonal."""
ENTRIES = 1 << 22
"""Single entries of maps that are read at a time."""
MapChange = Callable[[Tensor, AttentionCall], Tensor]
"""From a map [B, H, Q, K] and its call to the map under an edit."""


class AttentionView:
    """One layer in one batch. B examples, H heads (those the layer has), Q queries, K keys.

    `classes` [B, K, C]: the classes of keys that attention is summed over. `changes`: those that edits make to the map.
    `outputs`: [B, Q, H, D].
    """

    def __init__(
        self,
        call: AttentionCall,
        classes: Tensor | None = None,
        changes: tuple[MapChange, ...] = (),
        outputs: Tensor | None = None,
    ) -> None:
        self.call, self.classes, self.changes, self.outputs = call, classes, changes, outputs
        self.is_asking = False
        """Whether it only notes what is wanted, and gives zeros (`blocked_view.py`)."""
        self.chosen = list(range(len(call.block.heads)))
        """Which of the layer's heads these are: `outputs` has all of them."""

    def of_heads(self, chosen: list[int]) -> AttentionView | None:
        """The same layer for some of its heads, None where it cannot be taken apart; drops what is cached for all."""
        call = None if self.changes else self.call.of_heads(chosen)
        if call is None:
            return None
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            delattr(self, name)
        view = AttentionView(call, self.classes, outputs=self.outputs)
        view.chosen = [self.chosen[column] for column in chosen]
        return view

    @property
    def block(self) -> Attention:
        return self.call.block

    @cached_property
    def values(self) -> Tensor:
        """[B, H, K, D], as each head reads them."""
        return self.call.by_head(self.call.value)

    @cached_property
    def _rows(self) -> Exponentials:
        if not self.changes:
            return exponentials(self.call)
        weights = AttentionView(self.call).map
        for change in self.changes:
            weights = change(weights, self.call)
        sink = None if self.call.sinks is None else (1 - weights.sum(-1)).clamp(min=0)
        return Exponentials(weights, *weights.max(-1), sink)

    @property
    def unnormalised(self) -> Tensor:
        """[B, H, Q, K]: the map times the sum of its row."""
        return self._rows.weights

    @cached_property
    def total(self) -> Tensor:
        """The row sums [B, H, Q]; 1 for a query without an allowed key, so that its row stays zero."""
        return self.with_sink(self.unnormalised.sum(-1))

    def with_sink(self, total: Tensor) -> Tensor:
        """Row sums from sums over the keys."""
        if self._rows.sink is not None:
            total = total + self._rows.sink
        return torch.where(total > 0, total, torch.ones_like(total))

    @cached_property
    def mass(self) -> Tensor:
        """Attention to each class of keys [B, H, Q, C]."""
        assert self.classes is not None
        return self.unnormalised @ self.classes.to(self.unnormalised.dtype)[:, None] / self.total[..., None]

    @cached_property
    def map(self) -> Tensor:
        """The attention map [B, H, Q, K], for questions that need all of it."""
        return self.unnormalised / self.total[..., None]

    @cached_property
    def largest(self) -> Tensor:
        """The largest weight of each row [B, H, Q]."""
        return self._rows.largest / self.total

    @property
    def column_of_largest(self) -> Tensor:
        """The key of the largest weight of each row [B, H, Q]."""
        return self._rows.column

    def mass_on(self, chosen: Tensor) -> Tensor:
        """Attention [B, H, Q] to keys that each head chooses for itself [B, H, K]."""
        return (self.unnormalised @ chosen[..., None].to(self.unnormalised.dtype))[..., 0] / self.total

    def mass_before(self, chosen: Tensor) -> Tensor:
        """Attention [B, H, Q] of each query to those of the chosen keys [B, K] that stand before it."""
        weights, sums = self.unnormalised, torch.empty_like(self.total)
        chosen = chosen[:, None, :, None].to(weights.dtype)
        for start in range(0, weights.shape[2], ROWS):
            rows = slice(start, min(start + ROWS, weights.shape[2]))
            sums[:, :, rows] = (weights[:, :, rows, :start] @ chosen[:, :, :start])[..., 0]
            sums[:, :, rows] += (weights[:, :, rows, rows].tril(-1) @ chosen[:, :, rows])[..., 0]
        return sums / self.total

    def mass_on_equal(self, query_labels: Tensor, key_labels: Tensor, anywhere: bool = False) -> Tensor:
        """Attention [B, H, Q] of each query to the keys before it, or `anywhere`, with its label.

        Labels [B, Q] and [B, K] are whole numbers; negative ones are equal to nothing.
        """
        weights, sums = self.unnormalised, torch.empty_like(self.total)
        for start in range(0, weights.shape[2], ROWS):
            rows = slice(start, min(start + ROWS, weights.shape[2]))
            last = weights.shape[3] if anywhere else min(rows.stop, weights.shape[3])
            equal = equal_labels(query_labels[:, rows], key_labels[:, :last])
            chosen = (equal if anywhere else equal.tril(start - 1)).to(weights.dtype)
            sums[:, :, rows] = torch.einsum("bhqk,bqk->bhq", weights[:, :, rows, :last], chosen)
        return sums / self.total

    def distance(self) -> Tensor:
        """The mean distance in tokens that each query attends over [B, H, Q]."""
        weights, sums = self.unnormalised, torch.empty_like(self.total)
        key = torch.arange(weights.shape[3], device=weights.device)
        for start in range(0, weights.shape[2], ROWS):
            rows = slice(start, min(start + ROWS, weights.shape[2]))
            far = (key - torch.arange(rows.start, rows.stop, device=key.device)[:, None]).abs()
            sums[:, :, rows] = torch.einsum("bhqk,qk->bhq", weights[:, :, rows], far.to(weights.dtype))
        return sums / self.total

    def picture(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The map between stretches of a text [B, H, R, C]: its sums with weights of queries [B, Q, R] and of keys
        [B, K, C].
        """
        dtype = self.unnormalised.dtype
        on_columns = self.unnormalised @ columns[:, None].to(dtype) / self.total[..., None]
        picture: Tensor = rows.transpose(1, 2)[:, None].to(dtype) @ on_columns
        return picture

    def received(self, queries: Tensor) -> Tensor:
        """The attention that each key receives from some queries [B, Q]: column sums [B, H, K]."""
        share = queries[:, None].to(self.total.dtype) / self.total
        return (share[..., None, :] @ self.unnormalised)[..., 0, :]

    def diagonal(self, offset: int) -> Tensor:
        """The weight of the key `offset` positions after each query that has one [B, H, Q - |offset|]."""
        entries = self.unnormalised.diagonal(offset, -2, -1)
        start = max(0, -offset)
        return entries / self.total[..., start : start + entries.shape[-1]]

    def entries(self, example: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """The weights [entry, H] of single entries."""
        return self.unnormalised[example, :, query, key] / self.total[example, :, query]

    def row(self, query: int) -> Tensor:
        """The weights of one query [B, H, K]."""
        return self.unnormalised[:, :, query] / self.total[:, :, query, None]

    @property
    def built(self) -> bool:
        """Whether the map has been built."""
        return "_rows" in vars(self)

    def entropy(self) -> Tensor:
        """The entropy of each row in nats [B, H, Q]."""
        linear = not self.changes and is_linear(self.call)
        if linear and not self.built:
            entropy = entropy_without_map(self.call)
            if entropy is not None:
                return entropy
        if not linear:
            return self.entropy_of_weights()
        assert self.call.key is not None
        return self.entropy_from_means(self.unnormalised @ widened(self.call.by_head(self.call.key)))

    def entropy_of_weights(self) -> Tensor:
        """With w the unnormalised row and z its sum: H = log z + sum(-w log w) / z."""
        entropies: Tensor = torch.special.entr(self.unnormalised).sum(-1)
        if self._rows.sink is not None:  # one more entry of the row
            entropies = entropies + torch.special.entr(self._rows.sink)
        return self.total.log() + entropies / self.total

    def entropy_from_means(self, sums: Tensor) -> Tensor:
        """From the sums [B, H, Q, D] of the keys, weighted with the unnormalised map, where scores are linear.

        Each row was shifted by its largest score, which the entropy does not see: H = log z + largest - mean score.
        """
        query, key = self.call.query, self.call.key
        assert query is not None
        assert key is not None
        query = widened(query)
        mean: Tensor = (query * sums).sum(-1) * self.call.scale / self.total
        of_largest = widened(self.keys_of_heads(self.column_of_largest))
        largest: Tensor = (query * of_largest).sum(-1) * self.call.scale
        return (self.total.log() + largest - mean).clamp(min=0)

    def keys_of_heads(self, column: Tensor) -> Tensor:
        """The keys [B, H, Q, D] at positions [B, H, Q], as each head reads them."""
        key = self.call.key
        assert key is not None
        batch = torch.arange(len(key), device=key.device)[:, None, None]
        heads = len(self.call.block.heads)
        groups = torch.arange(heads, device=key.device)[None, :, None] * key.shape[1] // heads  # as in `call.reads`
        return key[batch, groups, column]


def equal_labels(query_labels: Tensor, key_labels: Tensor) -> Tensor:
    """Bool [B, Q, K]: where labels [B, Q] of queries and [B, K] of keys are the same, and not negative."""
    return (query_labels[:, :, None] == key_labels[:, None]) & (query_labels >= 0)[:, :, None]
