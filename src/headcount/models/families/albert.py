"""ALBERT: all layers share the weights of one module, so that a layer is a use of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headcount.models.families.plan import Family, FeedForwardPlan, SharedLayers
from headcount.models.families.regular import BERT


def _order(config: Any) -> list[tuple[int, ...]]:
    """For each layer in the order of the pass: its group and its number inside the group."""
    groups, layers = config.num_hidden_groups, config.num_hidden_layers
    return [
        (int(number / (layers / groups)), inner) for number in range(layers) for inner in range(config.inner_group_num)
    ]


ALBERT = Family(
    ("albert",),
    (
        replace(
            BERT,
            layer="encoder.albert_layer_groups.*.albert_layers.*",
            attention="attention",
            output="attention.dense",
            counts=(),
            widths=(),
            feed_forward=FeedForwardPlan(("ffn",), "ffn_output"),
        ),
    ),
    shared=SharedLayers(entry="encoder", order=_order),
)
