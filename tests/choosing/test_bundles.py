"""What is removed together: single heads, or the query heads of a key/value group, and which sizes are refused?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.choosing.bundles import Bundles
from headcount.choosing.choose_heads import Target
from headcount.choosing.estimators import estimate_bundles
from headcount.choosing.halves import read_halves
from headcount.choosing.orders import ORDERS, at_random, read_order, removals, spare
from headcount.core.heads import Head
from headcount.errors import DataProblem, InvalidOption
from tests import planted
from tests.closeness import ROUNDED, assert_same
from tests.contracts.zoo import tiny
from tests.pruning import planted_groups as groups

TEXTS = groups.texts()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def importance(tokenizer: Any) -> Any:
    return hc.importance(groups.llama().double(), tokenizer, TEXTS, task="causal-lm")


def bundles_of(model: Any, by: str = "group") -> Bundles:
    return Bundles.of(hc.read_anatomy(model), by)


def test_the_groups_of_a_llama() -> None:
    bundles = bundles_of(groups.llama())
    expected = [[(layer, 2 * group), (layer, 2 * group + 1)] for layer in range(3) for group in range(2)]
    assert [[(head.layer, head.head) for head in bundle] for bundle in bundles.sets] == expected
    assert bundles.size == 2


@pytest.mark.parametrize("name", ["bert", "gpt2", "bart"])
def test_without_groups_a_group_is_one_head(name: str) -> None:
    model = tiny(name)
    assert bundles_of(model).sets == bundles_of(model, "head").sets
    assert bundles_of(model).size == 1


def test_groups_after_a_cut_keep_the_numbers_of_their_heads() -> None:
    model = hc.prune(groups.llama(), ["L0H0-1", "L2"])
    assert bundles_of(model).sets == (
        (Head("decoder", 0, 2), Head("decoder", 0, 3)),
        (Head("decoder", 1, 0), Head("decoder", 1, 1)),
        (Head("decoder", 1, 2), Head("decoder", 1, 3)),
    )


def test_groups_of_unequal_size_are_refused() -> None:
    with pytest.raises(InvalidOption, match="have 1 to 2 query heads; expected groups of one size"):
        bundles_of(hc.prune(groups.llama(), ["L0H0"]))
    with pytest.raises(InvalidOption, match="got by='layer'; expected one of head, group"):
        bundles_of(groups.llama(), "layer")


def test_importance_of_a_group_is_that_of_a_shared_gate(importance: Any) -> None:
    """One gate for both heads: the slope is the sum of the slopes, so that heads which cancel are worth nothing."""
    model = groups.llama()
    layout, bundles = hc.read_anatomy(model).layout, bundles_of(model)
    slopes = importance["values_taylor"].values[:, 0].reshape(len(TEXTS), 3, 2, 2)
    found = estimate_bundles(importance, "michel", bundles, layout)[0].reshape(3, 2, 2)
    assert_same(found, np.abs(slopes.sum(-1)).mean(0)[..., None].repeat(2, -1), ROUNDED)
    assert_same(
        estimate_bundles(importance, "taylor", bundles, layout)[0].reshape(3, 2, 2)[..., 0],
        slopes.sum(-1).mean(0),
        ROUNDED,
    )
    assert found[1, 0, 0] < 1e-6 * found.max(), "they cancel each other out"
    assert importance["michel"].values[0, 1, 0] > 0.05 * importance["michel"].values.max(), "each alone is needed"
    normed = estimate_bundles(importance, "michel_normed", bundles, layout)[0].reshape(3, 2, 2)[..., 0]
    by_layer = found[..., 0] / np.linalg.norm(found[..., 0], axis=1, keepdims=True)
    assert_same(normed / normed.max(), by_layer / by_layer.max(), ROUNDED)
    alone = estimate_bundles(importance, "michel", bundles_of(model, "head"), layout)
    assert_same(alone, importance["michel"].values)


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_removes_whole_groups(tokenizer: Any, order: str) -> None:
    model = groups.llama()
    choice = hc.choose(model, tokenizer, TEXTS, task="causal-lm", by="group", order=order, drop=4, steps=3)
    assert len(choice.heads) == 4
    bundle_of = {head: number for number, bundle in enumerate(bundles_of(model).sets) for head in bundle}
    sequence = [bundle_of[head] for head in choice.heads]
    assert sequence[0] == sequence[1] != sequence[2] == sequence[3]
    assert choice.held_out["removed"].values.tolist() == [4, 8, 12]
    assert choice.held_out.attrs["heads_per_group"] == 2
    layout = hc.read_anatomy(hc.prune(model, choice.heads)).layout
    assert layout.count == 8


@pytest.mark.parametrize("options", [{}, {"anew": True}])
def test_the_planted_groups_go_first(tokenizer: Any, options: dict[str, Any]) -> None:
    model = groups.llama()
    given = {"order": "importance", "normed": False, **options}
    choice = hc.choose(model, tokenizer, TEXTS, task="causal-lm", by="group", drop=4, steps=6, **given)
    assert {f"L{head.layer}H{head.head}" for head in choice.heads} == {*groups.SILENT, *groups.CANCELLING}
    assert float(choice.step(choice.held_out)["delta"]) == pytest.approx(0, abs=1e-4)
    alone = hc.choose(model, tokenizer, TEXTS, task="causal-lm", by="head", drop=4, steps=6, **given)
    assert not set(groups.CANCELLING) & {f"L{head.layer}H{head.head}" for head in alone.heads[:2]}


def test_ablation_leaves_out_whole_groups(tokenizer: Any) -> None:
    """The least harm first, as a sweep over the groups on the same half says."""
    model = groups.llama()
    choice = hc.choose(model, tokenizer, TEXTS, task="causal-lm", by="group", order="ablation", drop=10, steps=1)
    first, _ = read_halves(TEXTS, hc.find_task("causal-lm"), None, 0, tokenizer)
    bundles = bundles_of(model).sets
    swept = hc.sweep(model, tokenizer, first, task="causal-lm", by=bundles, how="zero")
    expected = [head for number in np.argsort(swept["delta"].values) for head in bundles[number]]
    assert list(choice.heads) == expected[:10]


def test_only_whole_groups_shrink_the_cache() -> None:
    attention = hc.prune(groups.llama(), ["L0H0", "L1H0-1"]).model.layers
    assert attention[0].self_attn.k_proj.weight.shape[0] == 2 * groups.SIZE, "one of two heads is left to read it"
    assert attention[1].self_attn.k_proj.weight.shape[0] == groups.SIZE


@pytest.mark.parametrize(
    ("given", "keep"),
    [((4, None), 8), (("40%", None), 8), (("10%", None), 10), ((None, 6), 6), ((None, "80%"), 10)],
)
def test_shares_are_rounded_to_whole_groups(given: tuple[Any, Any], keep: int) -> None:
    assert Target.parse(12, *given, None, bundles_of(groups.llama())).keep == keep


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((3, None), "got drop=3; the groups have 2 heads, so that a multiple of 2 can go: give drop=4"),
        ((None, 7), "got keep=7; the groups have 2 heads, so that a multiple of 2 can go: give keep=8"),
    ],
)
def test_parts_of_groups_are_refused(given: tuple[Any, Any], expected: str) -> None:
    with pytest.raises(InvalidOption, match=expected):
        Target.parse(12, *given, None, bundles_of(groups.llama()))


def test_steps_of_a_curve(tokenizer: Any) -> None:
    model = groups.llama()
    with pytest.raises(InvalidOption, match=r"got steps of \[2, 3\] heads; .* multiples of 2"):
        hc.curve(model, tokenizer, TEXTS, "random", task="causal-lm", by="group", steps=[2, 3])
    order = list(hc.read_anatomy(model).layout)
    with pytest.raises(DataProblem, match="the order mine separates L0H0, L0H1, which share keys and values"):
        hc.curve(model, tokenizer, TEXTS, {"mine": order[1:] + order[:1]}, task="causal-lm", by="group")
    assert removals(12, 4, together=4) == [4, 8, 12]


def test_files_and_what_layers_keep(tmp_path: Path) -> None:
    model = groups.llama()
    layout, bundles = hc.read_anatomy(model).layout, bundles_of(model)
    (tmp_path / "order").write_text("L2H2-3 L0 L1H3 L1H2 L1H0-1 L2H0-1")
    order = read_order(tmp_path / "order", layout, None, bundles)
    assert [layout.spell(head) for head in spare(order, layout, 2, 2)] == [
        *("L2H2", "L2H3", "L0H0", "L0H1", "L1H3", "L1H2"),
    ]
    assert [layout.spell(head) for head in spare(order, layout, 3, 2)] == []
    (tmp_path / "order").write_text("L2H2 L0 L1H3 L1H2 L1H0-1 L2H0-1 L2H3")
    with pytest.raises(DataProblem, match="separates L2H2, L2H3, which share keys and values"):
        read_order(tmp_path / "order", layout, None, bundles)
    assert sorted(at_random(layout, 3, None, bundles)) == sorted(layout)
