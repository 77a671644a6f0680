"""What a measure sees of a layer: its own map and outputs, those that a context around it left; and nothing stays."""

from __future__ import annotations

import gc
import weakref
from math import log
from typing import Any

import pandas as pd
import pytest
import torch
from torch import Tensor

import headcount as hc
from headcount.data.marks import Facts, Marks, mark
from headcount.measures.contract import Question, Seen, Setting, Values
from headcount.measures.layers import run_measures, see_layers
from headcount.measures.measure import measure
from headcount.models.anatomy import read_anatomy
from tests.closeness import assert_same
from tests.contracts.zoo import BY_NAME, exact, inputs
from tests.measures.planted import SENTENCES
from tests.measures.tiny import assert_untouched, first_output, masked

CLASSES = ("first", "even")
TEXTS = pd.DataFrame({"text": SENTENCES[:6]})


def marks_of(mask: Tensor) -> Marks:
    facts = []
    for length in mask.sum(-1).tolist():
        classes = {"first": [0], "even": list(range(0, length, 2)), "special": []}
        facts.append(Facts(length, [0] * length, [-1] * length, classes))
    return mark(facts)


def prepared(name: str, padding: str = "right", **options: Any) -> tuple[Any, dict[str, Tensor], Marks, Marks | None]:
    case = BY_NAME[name]
    model, batch = exact(name, case.kernels[0], **options), inputs(case, padding)
    target = marks_of(torch.ones_like(batch["decoder_input_ids"])) if case.kind == "pair" else None
    return model, batch, marks_of(batch["attention_mask"]), target


def look_at(model: Any, batch: dict[str, Tensor], source: Marks, target: Marks | None, look: Any) -> None:
    see_layers(model, read_anatomy(model), batch, source, target, CLASSES, look)


@pytest.mark.parametrize("name", ["bert", "albert", "mpnet", "deberta-v2", "modernbert", "gpt2", "llama", "t5", "bart"])
def test_some_heads_of_a_layer_are_seen_as_all_of_them(name: str) -> None:
    model, batch, source, target = prepared(name)
    within, places = BY_NAME[name].within, [3, 1]

    def look(seen: Seen) -> None:
        whole = seen.view
        expected = [one[:, places] for one in (whole.map, whole.mass, whole.entropy(), whole.values)]
        some = whole.of_heads(places)
        assert some is not None
        assert not whole.built
        assert (some.chosen, some.block.heads) == (places, tuple(places))
        for found, one in zip((some.map, some.mass, some.entropy(), some.values), expected, strict=True):
            assert_same(found, one, max(within, 1e-7))
        assert some.of_heads([1]).chosen == [1]  # type: ignore[union-attr]

    look_at(model, batch, source, target, look)


@pytest.mark.parametrize("name", ["bert", "albert", "mpnet", "deberta-v2", "modernbert", "gpt2", "llama", "t5", "bart"])
def test_every_layer_is_seen_once_with_its_map_and_outputs(name: str) -> None:
    model, batch, source, target = prepared(name)
    expected, within = hc.observe(model, batch), BY_NAME[name].within
    places = []

    def look(seen: Seen) -> None:
        layer, stack = seen.view.block.layer, seen.stack
        places.append((stack, layer))
        assert seen.queries is (source if stack == "encoder" or target is None else target)
        assert seen.keys is (source if stack in ("encoder", "cross") or target is None else target)
        real = seen.queries.real.bool()
        maps = expected.maps[stack][layer].transpose(0, 1)
        found = seen.view.map.transpose(1, 2)[real]
        assert_same(found, maps.transpose(1, 2)[real], within)
        assert seen.view.outputs is not None
        outputs = expected.outputs[stack][layer].permute(1, 2, 0, 3)
        assert_same(seen.view.outputs[real], outputs[real], within)
        for number, kind in enumerate(CLASSES):
            assert_same(seen.mass(kind), seen.view.mass[..., number])
        even = (maps * seen.keys.classes["even"][:, None, None]).sum(-1)
        mean = (even * real[:, None]).sum(-1) / real.sum(-1)[:, None]
        assert_same(seen.mean(seen.mass("even")), mean, within)

    look_at(model, batch, source, target, look)
    assert sorted(places) == sorted(
        (stack, layer) for stack, maps in expected.maps.items() for layer in range(len(maps))
    )


@pytest.mark.parametrize("name", ["bert", "mpnet", "llama"])
def test_inside_uniform_the_changed_map_is_seen(name: str) -> None:
    model, batch, source, _ = prepared(name)
    stack = BY_NAME[name].stacks[0]
    before = hc.observe(model, batch).maps[stack]
    seen_maps: dict[int, Tensor] = {}
    entropies: dict[int, Tensor] = {}

    def look(seen: Seen) -> None:
        entropies[seen.view.block.layer] = seen.view.entropy()
        seen_maps[seen.view.block.layer] = seen.view.map

    within = BY_NAME[name].within
    with hc.ablated(model, "L1H2", how="uniform"):
        inside = hc.observe(model, batch).maps[stack]
        look_at(model, batch, source, None, look)
    row = seen_maps[1][2, 2, 4]  # example 2 has five real tokens, and its fifth sees them all
    assert_same(row, [0.2] * 5 + [0.0] * 4)
    assert float(entropies[1][2, 2, 4]) == pytest.approx(log(5))
    real = source.real.bool()
    for layer, found in seen_maps.items():
        expected = inside[layer].transpose(0, 1)
        assert_same(found.transpose(1, 2)[real], expected.transpose(1, 2)[real], within)
    assert_same(seen_maps[0].transpose(1, 2)[real], before[0].permute(1, 2, 0, 3)[real], within)
    others = [head for head in range(4) if head != 2]
    assert_same(seen_maps[1][:, others].transpose(1, 2)[real], before[1, others].permute(1, 2, 0, 3)[real], within)


@pytest.fixture(scope="module")
def bert() -> Any:
    return masked(3)


def test_measures_inside_ablated(bert: Any) -> None:
    """The uniform head has the entropy of uniform attention; layers before it are as they were, later ones are not."""
    model, tokenizer = bert
    plain = measure(model, tokenizer, TEXTS, only="entropy,contribution")
    with hc.ablated(model, "L1H2", how="uniform"):
        inside = measure(model, tokenizer, TEXTS, only="entropy,contribution")
    here, before = inside["entropy"].isel(stack=0), plain["entropy"].isel(stack=0)
    changed = (abs(here["entropy"] - before["entropy"]) > 1e-4).values
    assert changed[1].tolist() == [False, False, True, False]
    assert not changed[0].any()
    assert changed[2].all()
    assert float(here["entropy"][1, 2]) == pytest.approx(float(here["uniform"][1, 2]), abs=1e-5)
    assert float(here["share_of_uniform"][1, 2]) == pytest.approx(1, abs=1e-5)
    with hc.ablated(model, "L1H2", how="zero"):
        zero = measure(model, tokenizer, TEXTS, only="contribution,entropy")
    norms = zero["contribution"]["output_norm"].isel(stack=0).values
    assert norms[1, 2] == 0
    assert (norms[1, [0, 1, 3]] == plain["contribution"]["output_norm"].isel(stack=0).values[1, [0, 1, 3]]).all()
    assert float(zero["entropy"]["entropy"][0, 1, 2]) == pytest.approx(float(before["entropy"][1, 2]), abs=1e-5)
    again = measure(model, tokenizer, TEXTS, only="entropy,contribution")
    assert (again["entropy"]["entropy"].values == plain["entropy"]["entropy"].values).all()


class Probe(Question):
    """Does in a layer what it is told to."""

    name, summary, paper = "probe", "a probe", "none"

    def __init__(self, act: Any, needs_map: bool = True) -> None:
        self.act = act
        self.needs_map = needs_map  # type: ignore[misc]

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"value": ()}

    def see(self, seen: Seen) -> Values:
        self.act(seen)
        return {"value": seen.view.total[..., 0]}


def test_a_measure_that_needs_the_map_comes_first() -> None:
    """Otherwise the other one would compute its own and the map would be built beside it."""
    model, batch, source, _ = prepared("bert")
    order = []
    free, needy = Probe(lambda _: order.append("free"), False), Probe(lambda _: order.append("needs"))
    needy.name = "needy"  # type: ignore[misc]
    found = run_measures(model, read_anatomy(model), batch, source, None, CLASSES, [free, needy])
    assert order == ["needs", "free"] * 3
    assert set(found) == {"probe", "needy"}
    assert set(found["probe"]) == {("encoder", 0), ("encoder", 1), ("encoder", 2)}


@pytest.mark.parametrize("name", ["bert", "mpnet", "llama", "bart", "deberta-v2"])
def test_no_map_outlives_its_layer(name: str) -> None:
    model, batch, source, target = prepared(name)
    kept: list[weakref.ref[Any]] = []

    def act(seen: Seen) -> None:
        assert not any(one() is not None for one in kept)
        # Weights that a family hands out itself are the model's to keep or to drop.
        kept.extend([weakref.ref(seen.view), weakref.ref(seen.view.map)])

    gc.disable()
    try:
        found = run_measures(model, read_anatomy(model), batch, source, target, CLASSES, [Probe(act)])
    finally:
        gc.enable()
    assert len(kept) == 2 * len(found["probe"])
    assert not any(one() is not None for one in kept)


class Mistake(Exception):
    pass


@pytest.mark.parametrize("name", ["bert", "mpnet", "deberta-v2", "llama", "bart"])
@pytest.mark.parametrize("layer", [0, 2, None])
def test_nothing_stays_behind(name: str, layer: int | None) -> None:
    """After a measure that fails in the first or in the last layer, or in none."""
    model, batch, source, target = prepared(name)
    before = first_output(model, batch)

    def act(seen: Seen) -> None:
        seen.view.map.mul_(0)  # the view's own tensors: spoiling them does not reach the model
        seen.view.unnormalised.mul_(0)
        if seen.view.block.layer == layer:
            raise Mistake

    try:
        run_measures(model, read_anatomy(model), batch, source, target, CLASSES, [Probe(act)])
    except Mistake:
        assert layer is not None
    else:
        assert layer is None
    assert_untouched(model, batch, before)


def test_an_edit_around_a_failed_measure_stays_as_it_was(bert: Any) -> None:
    model, tokenizer = bert
    batch = dict(tokenizer(SENTENCES[:3], padding=True, return_tensors="pt"))
    before = first_output(model, batch)

    def fail(done: float, whole: float) -> None:
        if done:
            raise Mistake

    with hc.ablated(model, "L0H1", how="zero"):
        ablated = first_output(model, batch)
        with pytest.raises(Mistake):
            measure(model, tokenizer, TEXTS, only="entropy", progress=fail)
        assert torch.equal(first_output(model, batch), ablated)
    assert not torch.equal(ablated, before)
    assert_untouched(model, batch, before)


def test_a_model_in_training_is_measured_without_dropout_and_left_in_training(bert: Any) -> None:
    model, tokenizer = bert
    plain = measure(model, tokenizer, TEXTS, only="entropy")["entropy"]["entropy"].values
    model.train()
    model.bert.encoder.layer[0].eval()
    try:
        found = measure(model, tokenizer, TEXTS, only="entropy")["entropy"]["entropy"].values
        assert model.training
        assert not model.bert.encoder.layer[0].training
        assert model.bert.encoder.layer[1].training
    finally:
        model.eval()
    assert (found == plain).all()
