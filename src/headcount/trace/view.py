"""What one layer's attention did in one batch, asked for piece by piece, with as little of the map as a question needs.

The map is built at most once for a layer, unnormalised and in place (each row's largest entry is 1), and divided by its
row sums only after it has been reduced: sums over classes of keys are one matrix product, and so is the entropy, since
`H = logsumexp - scale * q . sum_k p_k k`. Where nothing but the entropy is asked for, no map is built at all.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from headcount.models.anatomy import Attention
from headcount.trace.allowed import allowed_keys, check_understood, hides_only, is_causal
from headcount.trace.attention import AttentionCall
from headcount.trace.precision import widened

CLOSED = torch.finfo(torch.float32).min / 4
"""The score of a key that a query may not attend to."""


class AttentionView:
    """One layer in one batch. B examples, H heads (those the layer has), Q queries, K keys.

    `weights` [B, H, Q, K]: given where the map is known already or was changed by an edit. `outputs`: [B, Q, H, D].
    `classes` [B, K, C]: the classes of keys that attention is summed over.
    """

    def __init__(
        self,
        call: AttentionCall,
        classes: Tensor | None = None,
        weights: Tensor | None = None,
        outputs: Tensor | None = None,
    ) -> None:
        self.call, self.classes, self.outputs = call, classes, outputs
        self.chosen = list(range(len(call.block.heads)))
        """The places of its heads in `outputs`, which is that of all heads of the layer."""
        self._weights = call.weights if weights is None else weights

    def of_heads(self, places: list[int]) -> AttentionView | None:
        """The same layer for some of its heads; what was computed for all of them is forgotten."""
        call = self.call.of_heads(places)
        if call is None:
            return None
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            delattr(self, name)
        view = AttentionView(
            call, self.classes, None if self._weights is None else self._weights[:, places], self.outputs
        )
        view.chosen = [self.chosen[place] for place in places]
        return view

    @property
    def block(self) -> Attention:
        return self.call.block

    @cached_property
    def values(self) -> Tensor:
        """[B, H, K, D], as each head reads them."""
        groups = self.call.reads
        return self.call.value if len(set(groups)) == len(groups) else self.call.value[:, groups]

    @cached_property
    def _rows(self) -> tuple[Tensor, Tensor, Tensor]:
        """The unnormalised map, the places of the largest entries, and the values of these."""
        if self._weights is not None:
            weights = widened(self._weights)
            largest, places = weights.max(-1)
            return weights, places, largest
        scores = _scores(self.call)
        largest, places = scores.max(-1)
        weights = scores.sub_(largest[..., None]).exp_()
        if self.call.mask is not None and bool((closed := largest < CLOSED / 2).any()):
            weights.masked_fill_(closed[..., None], 0)  # a query that may attend to nothing
        return weights, places, torch.ones_like(largest)

    @property
    def unnormalised(self) -> Tensor:
        """[B, H, Q, K]: the map times the sum of its row."""
        return self._rows[0]

    @cached_property
    def total(self) -> Tensor:
        """The row sums [B, H, Q]; 1 where a query may attend to nothing, so that its row stays zero."""
        total = self._products[..., -1]
        return torch.where(total > 0, total, torch.ones_like(total))

    @cached_property
    def _products(self) -> Tensor:
        """The unnormalised map times (classes, keys, ones): all its sums in one product."""
        weights = self.unnormalised
        batch, heads, _, keys = weights.shape
        columns = [weights.new_ones(batch, 1, keys, 1).expand(-1, heads, -1, -1)]
        if self._linear:
            columns.insert(0, widened(_keys(self.call)))
        if self.classes is not None:
            columns.insert(0, self.classes.to(weights.dtype)[:, None].expand(batch, heads, -1, -1))
        return weights @ torch.cat(columns, -1)

    @property
    def _linear(self) -> bool:
        """Whether the scores are queries times keys and nothing else but a mask."""
        options = self.call.options
        return (
            self._weights is None
            and self.call.query is not None
            and options.get("softcap") is None
            and options.get("position_bias") is None
            and hides_only(self.call.mask)
        )

    @cached_property
    def mass(self) -> Tensor:
        """Attention to each class of keys [B, H, Q, C]."""
        assert self.classes is not None
        return self._products[..., : self.classes.shape[-1]] / self.total[..., None]

    @cached_property
    def map(self) -> Tensor:
        """The attention map [B, H, Q, K]: for questions that no reduction answers."""
        return self.unnormalised / self.total[..., None]

    @cached_property
    def largest(self) -> Tensor:
        """The largest weight of each row [B, H, Q]."""
        return self._rows[2] / self.total

    @property
    def places(self) -> Tensor:
        """Where it is: a key's number [B, H, Q]."""
        return self._rows[1]

    def mass_on(self, chosen: Tensor) -> Tensor:
        """Attention [B, H, Q] to keys that each head chooses for itself [B, H, K]."""
        return (self.unnormalised @ chosen[..., None].to(self.unnormalised.dtype))[..., 0] / self.total

    def received(self, queries: Tensor) -> Tensor:
        """What each key gets from the queries [B, Q] that count: column sums [B, H, K]."""
        share = queries[:, None].to(self.total.dtype) / self.total
        return (share[..., None, :] @ self.unnormalised)[..., 0, :]

    def diagonal(self, offset: int) -> Tensor:
        """The weight of the key `offset` places after each query that has one [B, H, Q - |offset|]."""
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
        return "_rows" in self.__dict__

    def entropy(self) -> Tensor:
        """The entropy of each row in nats [B, H, Q]."""
        if not self.built and self._linear:
            found = entropy_without_map(self.call)
            if found is not None:
                return found
        if not self._linear:
            # With w the unnormalised row and z its sum: H = log z + sum(-w log w) / z.
            entropies: Tensor = torch.special.entr(self.unnormalised).sum(-1)
            return self.total.log() + entropies / self.total
        query = self.call.query
        assert query is not None
        keys = self._products[..., -1 - query.shape[-1] : -1]
        mean: Tensor = (widened(query) * keys).sum(-1) * _scale(self.call) / self.total
        # Each row was shifted by its largest score, which the entropy does not see: H = log z + largest - mean.
        entropy: Tensor = self.total.log() + self._largest_score() - mean
        return entropy.clamp(min=0)

    def _largest_score(self) -> Tensor:
        query, key = self.call.query, _keys(self.call)
        assert query is not None
        index = self.places[..., None].expand(-1, -1, -1, key.shape[-1])
        chosen: Tensor = (widened(query) * widened(key).gather(2, index)).sum(-1) * _scale(self.call)
        return chosen


def entropy_without_map(call: AttentionCall) -> Tensor | None:
    """The entropy of each row [B, H, Q] by one more call of the kernel; None where it gives no logsumexp."""
    query, key = call.query, _keys(call)
    if query is None or query.device.type != "cpu" or query.dtype not in (torch.float32, torch.float64):
        return None
    mask = call.mask
    if mask is not None and not isinstance(mask, Tensor):
        return None
    if mask is not None and (mask.ndim != 4 or bool((~_open(mask)).all(-1).any())):
        return None  # a row that may attend to nothing has no entropy here
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(~mask, float("-inf"))
    mean: Tensor
    total: Tensor
    mean, total = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, key, 0.0, is_causal(call), attn_mask=mask, scale=_scale(call)
    )
    return (total - (query * mean).sum(-1) * _scale(call)).clamp(min=0)


def _open(mask: Tensor) -> Tensor:
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def _scale(call: AttentionCall) -> float:
    scale = call.options.get("scaling")
    assert call.query is not None
    return float(call.query.shape[-1] ** -0.5 if scale is None else scale)


def _keys(call: AttentionCall) -> Tensor:
    assert call.key is not None
    groups = call.reads
    return call.key if len(set(groups)) == len(groups) else call.key[:, groups]


def _scores(call: AttentionCall) -> Tensor:
    """Scores before the softmax, float32 or better, minus infinity's stand-in where a query may not look."""
    check_understood(call)
    query = call.query
    assert query is not None
    scores = widened((query * _scale(call)) @ _keys(call).transpose(2, 3))
    if call.options.get("softcap") is not None:
        scores.div_(call.options["softcap"]).tanh_().mul_(call.options["softcap"])
    bias = call.options.get("position_bias")
    if bias is not None:
        scores = scores + bias[..., : scores.shape[-1]]
    if isinstance(call.mask, Tensor) and call.mask.dtype.is_floating_point and call.mask.ndim == 4:
        return scores.add_(call.mask.to(scores.dtype).clamp(min=CLOSED))
    allowed = allowed_keys(call)
    return scores if allowed is None else scores.masked_fill_(~allowed, CLOSED)
