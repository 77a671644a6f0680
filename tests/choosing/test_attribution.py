"""Is attribution the slope of patching, exact where the metric is linear, and wrong where a head is saturated?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.choosing import attribution as module
from headcount.choosing.attribution import attribution
from headcount.core.heads import Head
from headcount.core.schema import read_schema
from headcount.errors import DataProblem, InvalidOption, NotFinite
from headcount.models.anatomy import read_anatomy
from tests import planted
from tests.choosing import pairs
from tests.choosing.linear import linear_pair, saturated_pair
from tests.closeness import ROUNDED, assert_same

STEP = 1e-4


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def slope(moved: Callable[[Any], torch.Tensor]) -> float:
    """The slope of patching at a step of 0 of the way to the other input."""
    step = torch.zeros((), dtype=torch.float64, requires_grad=True)
    [found] = torch.autograd.grad(moved(step), step)
    return float(found)


def slopes(kind: str, tokenizer: Any, metric: str, direction: str) -> np.ndarray:
    """[example, stack, layer, head]: one head of one example at a time."""
    job = pairs.prepared(kind, tokenizer, metric)
    layout = read_anatomy(job.model).layout
    stacks = list(layout.stacks)
    shape = (len(stacks), *(max(count(stack) for stack in stacks) for count in (layout.layers, layout.width)))
    found = np.full((pairs.COUNT, *shape), np.nan)
    for example in range(pairs.COUNT):
        for head in layout:
            at = (stacks.index(head.stack), head.layer, head.head)
            found[(example, *at)] = slope(partial(pairs.patched, job, example, head, direction))
    return found


@pytest.mark.parametrize(
    ("kind", "metric", "direction"),
    [
        ("classification", "logit_difference", "denoise"),
        ("classification", "log_probability", "noise"),
        ("llama", "logit_difference", "noise"),
        ("llama", "log_probability", "denoise"),
        ("t5", "log_probability", "denoise"),
    ],
)
def test_the_slope_of_patching(kind: str, metric: str, direction: str, tokenizer: Any) -> None:
    model, table, task = pairs.make(kind)
    found = attribution(model, tokenizer, table, task=task, metric=metric, how=hc.Patch(direction=direction))
    expected = slopes(kind, tokenizer, metric, direction)
    assert_same(found["values_attribution"].values, expected, ROUNDED)
    assert np.nanmax(np.abs(expected)) > 1e-3
    assert_same(found["attribution"].values, np.nanmean(expected, 0), ROUNDED)
    known = np.isfinite(expected[0])
    assert (found["attribution_low"].values <= found["attribution"].values + 1e-6)[known].all()


def test_a_small_step_by_hand(tokenizer: Any) -> None:
    """A finite difference, in a model whose norms are in float64."""
    model, table, task = pairs.make("classification")
    found = attribution(model, tokenizer, table, task=task, metric="log_probability")
    job = pairs.prepared("classification", tokenizer, "log_probability")
    for example, head in ((0, Head("encoder", 0, 1)), (3, Head("encoder", 2, 3))):
        ends = [pairs.patched(job, example, head, "denoise", step).item() for step in (STEP, -STEP)]
        given = found["values_attribution"].sel(example=example, stack="encoder", layer=head.layer, head=head.head)
        assert float(given) == pytest.approx((ends[0] - ends[1]) / (2 * STEP), rel=ROUNDED)


def test_scores_of_both_inputs_are_those_of_the_sweep(tokenizer: Any) -> None:
    model, table, task = pairs.make("llama")
    for direction in ("denoise", "noise"):
        found = attribution(model, tokenizer, table, task=task, how=hc.Patch(direction=direction))
        swept = hc.sweep(model, tokenizer, table, task=task, how=hc.Patch(direction=direction))
        assert found.attrs["metric"] == swept.attrs["metric"] == "logit_difference"
        for side in ("clean", "corrupted"):
            assert float(found[side]) == pytest.approx(float(swept[side]), rel=1e-6)


def test_positions_add_up(tokenizer: Any) -> None:
    """Texts of one length: each token is a position, and a head's estimate is the sum of theirs."""
    model, table, task = pairs.make("llama")
    table = table.assign(prompt="so it is good", counterpart=["up it is bad", "the it is bad", *["a is so it"] * 4])
    by_head = attribution(model, tokenizer, table, task=task)
    found = attribution(model, tokenizer, table, task=task, by="position")
    assert found["at_position"].dims == ("stack", "layer", "head", "position")
    assert_same(found["at_position"].sum("position").values, by_head["attribution"].values, ROUNDED)
    assert_same(found["attribution"].values, by_head["attribution"].values, ROUNDED)
    last = attribution(model, tokenizer, table, task=task, how=hc.Patch(positions="last"))
    # [CLS] so it is good a [SEP]: the answer is predicted at "good".
    assert_same(last["attribution"].values, found["at_position"].sel(position="4").values, ROUNDED)


def test_named_spans_of_texts_of_unlike_length(tokenizer: Any) -> None:
    model, table, task = pairs.make("llama")
    table = table.assign(
        prompt="so it is good",
        counterpart="bad the a",
        spans=[{"first": [1, 2], "end": [3, 5]}] * pairs.COUNT,
        counterpart_spans=[{"first": [2, 3], "end": [1, 3]}] * pairs.COUNT,
    )
    spanned = hc.Patch(align="span")
    found = attribution(model, tokenizer, table, task=task, by="position", how=spanned)
    assert list(found["position"].values) == ["first", "end", "last"]
    swept = hc.sweep(model, tokenizer, table, task=task, by="position", how=spanned)
    job = module.prepare_job(model, tokenizer, table, task, spanned, None, None, 0, None)
    pair = (job.encodings.rows[0], job.counterparts.encodings.rows[0])  # type: ignore[union-attr]
    head = Head("decoder", 1, 2)
    given = pairs.outputs(job, pair[0])[head]

    def moved(step: Any) -> torch.Tensor:
        def move(one: Head, output: torch.Tensor) -> torch.Tensor:
            if one == head:
                output = output.clone()
                output[:, 1:3] += step * (given[3:5] - output[:, 1:3])
            return output

        return pairs.score(job, pair[1], move)

    at = {"stack": "decoder", "layer": 1, "head": 2, "position": "end"}
    assert float(found["at_position"].sel(at)) == pytest.approx(slope(moved), rel=1e-4)
    assert float(swept["delta"].sel(at)) == pytest.approx((moved(1) - moved(0)).item(), rel=1e-4)


def test_exact_where_the_metric_is_linear(tokenizer: Any) -> None:
    model, table = linear_pair()
    found = attribution(model, tokenizer, table, task="sst2")
    swept = hc.sweep(model, tokenizer, table, task="sst2", how="patch")
    assert_same(found["attribution"].values, swept["delta"].values, ROUNDED)
    carrying = found["attribution"].sel(stack="encoder", layer=0, head=0)
    assert float(carrying) > 0.1
    assert float(np.abs(found["attribution"].sel(stack="encoder", layer=1)).max()) == 0


def test_a_saturated_head_is_missed(tokenizer: Any) -> None:
    model, table = saturated_pair()
    found = attribution(model, tokenizer, table, task="sst2").sel(stack="encoder", layer=0)
    swept = hc.sweep(model, tokenizer, table, task="sst2", how="patch").sel(stack="encoder", layer=0)
    assert float(swept["delta"].sel(head=0)) > 1
    assert abs(float(found["attribution"].sel(head=0))) < 1e-3


def test_one_stack_of_several(tokenizer: Any) -> None:
    model, table, task = pairs.make("t5")
    options: dict[str, Any] = {"task": task, "metric": "log_probability"}
    whole = attribution(model, tokenizer, table, **options)
    cross = attribution(model, tokenizer, table, stack="cross", **options)
    assert_same(cross["attribution"].sel(stack="cross"), whole["attribution"].sel(stack="cross"), ROUNDED)
    assert bool(cross["attribution"].sel(stack="encoder").isnull().all())


def test_batches_and_padding_do_not_matter(tokenizer: Any) -> None:
    model, table, task = pairs.make("classification")
    one, many = (
        attribution(model, tokenizer, table, task=task, compute=hc.Compute(batch_tokens=tokens)) for tokens in (1, 999)
    )
    assert_same(one["values_attribution"], many["values_attribution"], ROUNDED)


def test_the_model_is_left_as_it_was(tokenizer: Any) -> None:
    model, table, task = pairs.make("llama")
    model.train()
    asked = [parameter.requires_grad for parameter in model.parameters()]
    attribution(model, tokenizer, table, task=task)
    assert model.training
    assert [parameter.requires_grad for parameter in model.parameters()] == asked
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(one._forward_pre_hooks for one in model.modules())


def test_the_study_holds_both_directions(tokenizer: Any, tmp_path: Path) -> None:
    model, table, task = pairs.make("classification")
    expected = attribution(model, tokenizer, table, task=task)
    found = attribution(model, tokenizer, table, task=task, out=tmp_path / "study")
    attribution(model, tokenizer, table, task=task, how=hc.Patch(direction="noise"), out=tmp_path / "study")
    xr.testing.assert_allclose(found[list(expected.data_vars)], expected)
    tree = hc.open_study(tmp_path / "study")["patching"]
    assert set(tree.children) == {"attribution", "attribution-noise"}
    schema = read_schema(tree["attribution"]["attribution"])
    assert schema is not None
    assert schema.shown
    assert schema.signed


def test_what_cannot_be_estimated(tokenizer: Any) -> None:
    model, table, task = pairs.make("classification")
    for options, words in (
        ({"how": "zero"}, "estimates the effect of how='patch'"),
        ({"how": hc.Patch(part="key")}, "leave part= out"),
        ({"metric": "accuracy"}, "logit_difference or log_probability"),
        ({"by": "layer"}, "by='layer'"),
        ({"stack": "cross"}, "cross"),
    ):
        with pytest.raises(InvalidOption, match=words):
            attribution(model, tokenizer, table, task=task, **options)  # type: ignore[arg-type]
    with pytest.raises(DataProblem, match="counterpart"):
        attribution(model, tokenizer, table.drop(columns="counterpart"), task=task)


def test_a_gradient_that_is_not_finite(tokenizer: Any) -> None:
    model, table, task = pairs.make("classification")
    with torch.no_grad():
        model.classifier.weight.fill_(1e308)
    with pytest.raises(NotFinite, match=r"row \d+: the logit_difference is"):
        attribution(model, tokenizer, table, task=task)
