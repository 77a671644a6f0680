"""Is a budget kept by the model that is really made, in every family and currency, and said what can be reached?"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from transformers import BertConfig, BertModel

import headcount as hc
from headcount.budgets.budget import Budget
from headcount.budgets.options import PartOptions
from headcount.budgets.planner import Planner, find_multiple, make_planner
from headcount.choosing.importance import importance
from headcount.costs.layer_times import LayerTimes
from headcount.errors import InvalidOption
from tests.budgets import planted, small

FAMILIES = ("bert", "gpt2", "llama", "t5")


def planner_of(model: Any, currency: str, **options: Any) -> Planner:
    """A planner with random scores; the costs are those that a budget in this currency gets."""
    budget = Budget.parse(**{currency: 0.5})
    asked = PartOptions("both", budget, batch=1, length=small.LENGTH, **options)
    estimates = _estimates(hc.read_anatomy(model))
    return make_planner(model, asked, estimates, None, None, None)


def _estimates(anatomy: Any) -> Any:
    """A result of importance with random numbers."""
    import xarray as xr

    generator, stacks = np.random.default_rng(0), list(anatomy.stacks)
    layers = max(anatomy.layout.layers(stack) for stack in stacks)
    heads = max(anatomy.layout.width(stack) for stack in stacks)
    units = max(anatomy.units.width(stack) for stack in anatomy.units.stacks)
    return xr.Dataset(
        {
            "fisher": (("stack", "layer", "head"), generator.random((len(stacks), layers, heads))),
            "unit_fisher": (("stack", "layer", "unit"), generator.random((len(stacks), layers, units))),
        },
        coords={"stack": stacks},
    )


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("currency", ["operations", "weights"])
@pytest.mark.parametrize("what", ["heads", "units", "both"])
def test_the_budget_is_kept(name: str, currency: str, what: str) -> None:
    """By the best set and by a random one, and not by much more than one part."""
    model, _ = small.family(name)
    planner = planner_of(model, currency)
    least = planner.least(what)
    measured = small.operations_left if currency == "operations" else small.weights_left
    largest = max(float(np.diff(block.costs).max()) for block in planner.blocks(what)) / planner.whole
    for left in (1 - 0.1 * (1 - least), (1 + least) / 2, least + 0.1 * (1 - least)):
        for removed in (planner.best(what, left), planner.random(what, left, seed=3)):
            smaller = hc.prune(copy.deepcopy(model), removed)
            assert measured(smaller, model) <= left * (1 + 1e-9)
            assert measured(smaller, model) > left - 2 * largest
            assert bool(removed.heads) <= (what != "units")
            assert bool(removed.units) <= (what != "heads")


@pytest.mark.parametrize("name", FAMILIES)
def test_the_whole_and_the_least_are_what_is_measured(name: str) -> None:
    model, _ = small.family(name)
    for currency, measured in (("operations", small.operations_left), ("weights", small.weights_left)):
        planner = planner_of(model, currency)
        for what in ("heads", "units", "both"):
            removed = planner.best(what, planner.least(what) + 1e-9)
            smaller = hc.prune(copy.deepcopy(model), removed)
            assert measured(smaller, model) == pytest.approx(planner.least(what), abs=1e-6)


def test_key_value_groups_go_as_a_whole() -> None:
    model, _ = small.family("llama")
    removed = planner_of(model, "weights").best("heads", 0.9)
    found = {(head.layer, head.head) for head in removed.heads}
    assert found
    assert all({(layer, head), (layer, head ^ 1)} <= found for layer, head in found)


@pytest.mark.parametrize("multiple", [8, 16])
def test_multiples(multiple: int) -> None:
    model = small.classifier()
    planner = planner_of(model, "operations", multiple=multiple)
    assert planner.multiple == multiple
    for left in (0.8, 0.5, 0.3):
        for removed in (planner.best("both", left), planner.random("both", left, 0)):
            smaller = hc.read_anatomy(hc.prune(copy.deepcopy(model), removed))
            counts = {len(units) for units in smaller.units.stacks["encoder"]}
            assert counts <= {0, 40, *range(multiple, 40, multiple)}


def test_wide_layers_are_rounded_to_what_kernels_like() -> None:
    config = BertConfig(num_hidden_layers=1, hidden_size=12, num_attention_heads=4, intermediate_size=512, vocab_size=9)
    assert find_multiple(hc.read_anatomy(BertModel(config)), None) == 32
    assert find_multiple(hc.read_anatomy(BertModel(config)), 7) == 7
    assert find_multiple(planted.anatomy(), None) == 1


def test_every_layer_keeps_some_heads() -> None:
    model = small.classifier()
    planner = planner_of(model, "operations", at_least=2)
    smaller = hc.read_anatomy(hc.prune(copy.deepcopy(model), planner.best("both", planner.least("both") + 1e-9)))
    assert [len(heads) for heads in smaller.layout.stacks["encoder"]] == [2, 2, 2]


def test_a_table_of_times_is_respected() -> None:
    """Heads take all of the time in one layer and units in the other, in steps: nothing else goes to be faster."""
    model = planted.anatomy(6)
    steps = {"heads": np.array([0.0, 0, 4, 4, 4]), "units": np.array([0.0, 0, 0, 3, 3, 3, 3])}
    times = LayerTimes(
        {"encoder": np.arange(5), "encoder.units": np.arange(7)},
        {"encoder": steps["heads"], "encoder.units": steps["units"]},
        {block.layer_key: block.count for block in model.blocks()},
        rest=2.0,
        batch=1,
        length=8,
    )
    costs = {
        block.layer_key: np.array([times.seconds(block.layer_key, count) for count in range(block.count + 1)])
        for block in model.blocks()
    }
    planner = Planner(model, "time", planted.scores(model), None, costs, times.rest)
    assert planner.whole == pytest.approx(times.predict({})) == 16
    for left in (0.9, 0.7, 0.5, 0.3, 0.13):
        smaller = hc.read_anatomy(hc.prune(_whole(), planner.best("both", left)))
        counts = {block.layer_key: block.count for block in smaller.blocks()}
        kept = {key: counts.get(key, 0) for key in times.whole}
        assert times.predict(kept) <= left * 16 * (1 + 1e-9)
        assert set(kept.values()) <= {4, 1, 6, 2}, "a step that saves no time takes nothing away"


def _whole() -> Any:
    config = BertConfig(num_hidden_layers=2, hidden_size=12, num_attention_heads=4, intermediate_size=6, vocab_size=9)
    return BertModel(config)


@pytest.mark.parametrize(
    ("what", "currency", "left", "expected"),
    [
        ("both", "operations", 0.01, r"got asked; with as few heads and units as can stay 9\.1% .* operations=9\.1%"),
        ("heads", "operations", 0.1, r"as few heads as can stay .*% or more, or what='both'"),
        ("units", "weights", 0.1, r"as few units as can stay .* of the model's weights .* weights=.*% or more, or"),
        ("both", "time", 0.01, r"of the model's time would be left: expected faster=11 or less$"),
    ],
)
def test_what_cannot_be_reached(what: str, currency: Any, left: float, expected: str) -> None:
    model = planted.anatomy()
    planner = Planner(model, currency, planted.scores(model), None, planted.costs(model), fixed=0.3)
    with pytest.raises(InvalidOption, match=expected) as caught:
        planner.check(what, left, "asked")
    assert "\n" not in str(caught.value)
    planner.check(what, planner.least(what), "asked")


def test_the_least_that_is_said_can_be_reached() -> None:
    model = planted.anatomy()
    planner = Planner(model, "operations", planted.scores(model), None, planted.costs(model), fixed=0.3)
    with pytest.raises(InvalidOption) as caught:
        planner.check("both", 0.01, "asked")
    said = str(caught.value).split("operations=")[1].removesuffix("% or more")
    planner.check("both", float(said) / 100, "asked")
    assert planner.best("both", float(said) / 100)


def test_parts_that_take_no_time() -> None:
    model = planted.anatomy()
    planner = Planner(model, "time", planted.scores(model), None, planted.costs(model, 0.0, 0.0), fixed=1.0)
    with pytest.raises(InvalidOption, match=r"100\.0% of the model's time .* expected operations= or weights= instead"):
        planner.check("both", 0.5, "faster=2")


def test_rearranged_sets_cost_the_same(tokenizer: Any) -> None:
    model, data = small.family("bert")
    estimates = importance(model, tokenizer, data, task="sst2", what="both")
    plain, swapped = (
        make_planner(
            model,
            PartOptions("both", Budget.parse(weights=0.5), rearrange=rearrange, length=small.LENGTH),
            estimates,
            None,
            None,
            None,
        ).best("both", 0.5)
        for rearrange in (False, True)
    )
    assert str(plain) != str(swapped)
    assert (len(plain.heads), len(plain.units)) == (len(swapped.heads), len(swapped.units))
