"""Do the costs of heads and units add up to those of the model, and does a cut take away exactly what they say?"""

from __future__ import annotations

from typing import Any

import pytest

import headcount as hc
from headcount.core.units import Selection
from headcount.costs.cost import flops, make_inputs, size
from headcount.costs.operations import PartCosts, part_costs
from headcount.errors import InvalidOption
from headcount.models.anatomy import read_anatomy
from tests.contracts.pruned import PRUNABLE
from tests.contracts.zoo import CASES, Case, tiny

LENGTH = 8
ANY_FAMILY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
FAMILY = pytest.mark.parametrize("case", PRUNABLE, ids=lambda case: case.name)


def removed(case: Case, model: Any) -> list[str]:
    """Some heads and units, all heads of a layer, all units of a layer; whole key/value groups."""
    each = read_anatomy(model).attention(case.stacks[0], 0).kv_heads
    group = {1: "L0", 2: "L0H2-3", 4: "L0H1"}[each]
    names = [group, "L1", "L0U1-7", "L0U30", "L1U", "L2U0"]
    if case.kind == "pair":
        return [
            *(f"encoder.{name}" for name in names),
            *("decoder.L0U", "decoder.L2U3-9", "decoder.L1", "cross.L0H0", "cross.L2"),
        ]
    return names


def left(model: Any) -> dict[tuple[str, int], int]:
    anatomy = read_anatomy(model)
    attention = {block.layer_key: block.count for layers in anatomy.stacks.values() for block in layers}
    units = {block.layer_key: block.count for blocks in anatomy.feed_forwards.values() for block in blocks}
    return attention | units


@ANY_FAMILY
def test_the_parts_and_the_rest_are_the_model(case: Case) -> None:
    model = tiny(case.name, case.kernels[0])
    costs = part_costs(model, LENGTH, batch=2)
    assert costs.whole_operations == pytest.approx(flops(model, make_inputs(model, 2, LENGTH)), abs=1e-3)
    assert costs.whole_weights == pytest.approx(model.num_parameters(), abs=1e-3)
    assert costs.counts == left(model)
    assert costs.fixed_operations >= -1e-3
    assert costs.fixed_weights > 0
    assert min(costs.operations.values()) > 0
    assert min(costs.weights.values()) > 0


@FAMILY
def test_a_cut_takes_away_what_its_parts_cost(case: Case) -> None:
    model = tiny(case.name, case.kernels[0])
    costs, before = part_costs(model, LENGTH), size(model)["parameters"]
    hc.prune(model, removed(case, model))
    counts = left(model)
    assert 0 in counts.values()
    assert flops(model, make_inputs(model, 1, LENGTH)) == pytest.approx(costs.operations_left(counts), abs=1e-3)
    assert size(model)["parameters"] == pytest.approx(costs.weights_left(counts), abs=1e-3)
    assert size(model)["parameters"] < before
    again = part_costs(model, LENGTH)
    assert again.fixed_operations == pytest.approx(costs.fixed_operations, abs=1e-3)
    assert again.fixed_weights == pytest.approx(costs.fixed_weights, abs=1e-3)
    assert again.operations == pytest.approx({key: costs.operations[key] for key in again.operations})


@pytest.mark.parametrize("name", ["bert", "bart", "llama", "t5"])
def test_without_all_units_only_attention_and_the_rest_count(name: str) -> None:
    model = tiny(name)
    costs = part_costs(model, LENGTH)
    units = read_anatomy(model).units
    selection = Selection.of(
        [f"{stack}.L{layer}U" for stack in units.stacks for layer in range(units.layers(stack))],
        read_anatomy(model).layout,
        units,
    )
    hc.prune(model, selection)
    heads = sum(costs.operations[key] * count for key, count in costs.counts.items() if not key[0].endswith(".units"))
    assert flops(model, make_inputs(model, 1, LENGTH)) == pytest.approx(costs.fixed_operations + heads)


def test_bert_by_hand() -> None:
    """Width 32, heads of size 8: four projections, scores and sums; a row and a column for each unit."""
    costs = part_costs(tiny("bert"), LENGTH, batch=3)
    tokens = 3 * LENGTH
    assert costs.operations["encoder", 1] == 2 * (tokens * 4 * 32 * 8 + 2 * tokens * LENGTH * 8)
    assert costs.operations["encoder.units", 1] == 2 * tokens * 2 * 32
    assert costs.weights["encoder", 1] == 4 * 32 * 8 + 3 * 8
    assert costs.weights["encoder.units", 1] == 2 * 32 + 1
    assert costs.fixed_operations == 2 * 3 * 32 * 32, "the pooler"


def test_readers_share_a_group() -> None:
    """Of two heads that read one key/value head, one alone takes its query and its share of the output with it."""
    model = tiny("llama")
    costs = part_costs(model, LENGTH)
    assert (
        costs.weights["decoder", 0] == 32 * 8 * (2 + 2 / 2) == read_anatomy(model).attention("decoder", 0).parameters(0)
    )
    projections = 2 * LENGTH * 32 * 8 * (2 + 2 / 2)
    assert costs.operations["decoder", 0] == projections + 2 * 2 * LENGTH * LENGTH * 8


def test_the_lengths_of_an_image_and_of_a_text() -> None:
    model = tiny("vit")
    assert part_costs(model, 0) == part_costs(model, LENGTH)
    with pytest.raises(InvalidOption, match="got the length 65; the model takes at most 64 tokens"):
        part_costs(tiny("bert"), 65)
    with pytest.raises(InvalidOption, match="got lengths=0"):
        part_costs(tiny("bert"), 0)


def test_blocks_that_are_not_named_keep_their_parts() -> None:
    costs = PartCosts(
        {("encoder", 0): 2.0, ("encoder.units", 0): 0.5}, {}, {("encoder", 0): 4, ("encoder.units", 0): 8}, 1.0, 0.0
    )
    assert costs.whole_operations == 13.0
    assert costs.operations_left({("encoder", 0): 1}) == 7.0
