"""Is a curve the same as a sweep over its nested sets, and what do orders of unlike length, studies and texts give?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.choosing import curves as module
from headcount.choosing.curves import curve
from headcount.choosing.orders import at_random
from headcount.core.heads import Head
from headcount.errors import InvalidOption, ModelUnavailable, StudyProblem
from tests import planted
from tests.pruning import jobs
from tests.pruning import planted as parts


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def orders_of(model: Any, **seeds: int) -> dict[str, tuple[Head, ...]]:
    layout = hc.read_anatomy(model).layout
    return {name: at_random(layout, seed) for name, seed in seeds.items()}


def heads(model: Any, names: str) -> tuple[Head, ...]:
    layout = hc.read_anatomy(model).layout
    return tuple(layout.find(name)[0] for name in names.split())


@pytest.mark.parametrize("kind", ["classification", "regression", "gpt2"])
def test_equal_to_a_sweep_over_the_nested_sets(kind: str, tokenizer: Any) -> None:
    model, data, task = jobs.make(kind)
    orders = orders_of(model, one=1, two=2)
    found = curve(model, tokenizer, data, orders, task=task, steps=[3, 6, 11])
    assert found["removed"].values.tolist() == [3, 6, 11]
    assert found["kept"].values.tolist() == [9, 6, 1]
    for name, order in orders.items():
        for count in (3, 6, 11):
            swept = hc.sweep(model, tokenizer, data, task=task, by=[list(order[:count])], how="zero")
            for key in ("score", "delta", "low", "high", "p"):
                given = float(found[key].sel(order=name, removed=count))
                assert given == pytest.approx(float(swept[key].values[0]), abs=1e-6), (name, count, key)
    assert float(found["baseline"]) == pytest.approx(float(swept["baseline"]))
    assert float(found["baseline_low"]) <= float(found["baseline"]) <= float(found["baseline_high"])


def test_without_any_head_a_regression_says_nothing(tokenizer: Any) -> None:
    """Every text then has the same prediction: the correlation is 0, as for every constant."""
    model, data, task = jobs.make("regression")
    found = curve(model, tokenizer, data, orders_of(model, one=1), task=task, steps=[12])
    assert float(found["score"][0, 0]) == pytest.approx(0)


def test_equal_to_a_loop_over_ablated(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    (order,) = orders_of(model, one=3).values()
    found = curve(model, tokenizer, data, {"one": order}, task=task, steps=12)
    batch = [
        (dict(tokenizer(text, return_tensors="pt")), label)
        for text, label in zip(data["sentence"], data["label"], strict=True)
    ]
    for count in range(1, 13):
        with torch.no_grad(), hc.ablated(model, list(order[:count]), how="zero"):
            right = [int(model(**one).logits.argmax()) == label for one, label in batch]
        assert float(found["score"].sel(order="one", removed=count)) == pytest.approx(np.mean(right))
    assert [str(name) for name in found["sequence"].values[0]] == [f"L{head.layer}H{head.head}" for head in order]


def test_shorter_orders_end_in_nothing(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    long, short = orders_of(model, long=1, short=2).values()
    found = curve(model, tokenizer, data, {"long": long, "short": short[:5]}, task=task, steps=[2, 5, 6, 12])
    assert found["removed"].values.tolist() == [2, 5, 6, 12]
    for key in ("score", "delta", "low", "high", "p"):
        assert np.isfinite(found[key].sel(order="long")).all()
        assert np.isfinite(found[key].sel(order="short").values[:2]).all()
        assert np.isnan(found[key].sel(order="short").values[2:]).all()
    assert found["sequence"].sel(order="short").values[5:].tolist() == [""] * 7
    alone = curve(model, tokenizer, data, {"short": short[:5]}, task=task, steps=[2, 5])
    np.testing.assert_allclose(alone["score"].values[0], found["score"].sel(order="short").values[:2])


def test_all_steps_of_all_orders_run_at_once(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sweep; a set that two orders share is scored once."""
    model, data, task = jobs.make("classification")
    calls: list[Any] = []

    def counted(*args: Any, **options: Any) -> Any:
        calls.append(options["by"])
        return hc.sweep(*args, **options)

    monkeypatch.setattr(module, "sweep", counted)
    (order,) = orders_of(model, one=1).values()
    turned = (order[1], order[0], *order[2:])
    found = curve(model, tokenizer, data, {"one": order, "turned": turned}, task=task, steps=12)
    assert len(calls) == 1
    assert len(calls[0]) == 13, "only the first step differs"
    np.testing.assert_array_equal(found["score"].values[0, 1:], found["score"].values[1, 1:])


def test_steps_in_any_spelling(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    orders = orders_of(model, one=1)
    xr.testing.assert_identical(
        curve(model, tokenizer, data, orders, task=task, steps=[9, 3, 3]),
        curve(model, tokenizer, data, orders, task=task, steps=(3, 9)),
    )


def test_the_planted_curve(tokenizer: Any) -> None:
    """Without the heads that do nothing the score stays; the last needed head takes it to chance."""
    model = parts.classifier(parts.BACKED, parts.STEEP)
    orders = {
        "right": heads(model, "L1H0 L1H1 L1H2 L1H3 L0H3 L0H2 L0H0 L0H1"),
        "wrong": heads(model, "L1H0 L1H1 L1H2 L1H3 L0H3 L0H0 L0H1 L0H2"),
    }
    found = curve(model, tokenizer, parts.texts(), orders, task="sst2", steps=8)
    assert found["score"].sel(order="right").values.tolist() == [1] * 7 + [0.5]
    assert found["score"].sel(order="wrong").values.tolist() == [1] * 6 + [0.5] * 2
    assert found["delta"].sel(order="wrong").values.tolist() == [0] * 6 + [-0.5] * 2
    assert float(found["p"].sel(order="wrong", removed=7)) < 1e-6
    assert found.attrs["metric"] == "accuracy"
    assert found.attrs["heads"] == 8
    assert found.attrs["examples"] == 80


def test_a_translation(tokenizer: Any) -> None:
    pytest.importorskip("sacrebleu")
    model, data, task = jobs.make("marian")
    orders = orders_of(model, one=1, two=2)
    found = curve(model, tokenizer, data.head(6), orders, task=task, steps=2, generate={"max_new_tokens": 6})
    assert found.attrs["metric"] == "bleu"
    assert found["removed"].values.tolist() == [18, 36]
    swept = hc.sweep(
        model,
        tokenizer,
        data.head(6),
        task=task,
        by=[list(orders["two"][:18])],
        how="zero",
        generate={"max_new_tokens": 6},
    )
    assert float(found["score"].sel(order="two", removed=18)) == pytest.approx(float(swept["score"].values[0]))
    lost = curve(model, tokenizer, data.head(6), orders, task=task, steps=2, metric="loss")
    assert lost.attrs["higher_is_better"] is False
    assert float(lost["baseline"]) > 0


def test_a_pruned_model(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    (order,) = orders_of(model, one=4).values()
    whole = curve(model, tokenizer, data, {"one": order}, task=task, steps=[4, 8])
    hc.prune(model, list(order[:4]))
    found = curve(model, tokenizer, data, {"one": order[4:]}, task=task, steps=[4])
    assert float(found["score"][0, 0]) == pytest.approx(float(whole["score"][0, 1]))
    assert float(found["baseline"]) == pytest.approx(float(whole["score"][0, 0]))
    assert found["kept"].values.tolist() == [4]


def test_a_study_is_gone_on_with(tokenizer: Any, tmp_path: Path) -> None:
    model, data, task = jobs.make("classification")
    orders = orders_of(model, one=1)
    found = curve(model, tokenizer, data, orders, task=task, steps=3, out=tmp_path / "study", name="mine")
    told: list[Any] = []
    again = curve(
        model,
        tokenizer,
        data,
        orders,
        task=task,
        steps=3,
        out=tmp_path / "study",
        name="mine",
        progress=lambda *both: told.append(both),
    )
    xr.testing.assert_identical(found, again)
    stored = hc.open_study(tmp_path / "study")["pruning/curve@mine"].to_dataset()
    for key in found.variables:
        np.testing.assert_array_equal(stored[key].values, found[key].values)
    with pytest.raises(StudyProblem, match="made with other options"):
        turned = {"one": orders["one"][::-1]}
        curve(model, tokenizer, data, turned, task=task, steps=1, out=tmp_path / "study", name="mine")
    assert told == [(jobs.COUNT, jobs.COUNT)], "nothing was left to do"
    xr.testing.assert_allclose(found, curve(model, tokenizer, data, orders, task=task, steps=3))


@pytest.mark.parametrize(
    ("orders", "steps", "expected"),
    [
        ({}, 3, "no heads to remove"),
        ({"none": ()}, 3, "no heads to remove"),
        ({"one": "L0H0 L0H1"}, 0, "at least 1"),
        ({"one": "L0H0 L0H1"}, [0, 1], r"got steps of \[0, 1\] heads; expected numbers from 1 to 2"),
        ({"one": "L0H0 L0H1"}, [1, 3], "expected numbers from 1 to 2"),
        ({"one": "L0H0 L0H1"}, [], "expected numbers from 1 to 2"),
    ],
)
def test_what_is_refused(tokenizer: Any, orders: dict[str, Any], steps: Any, expected: str) -> None:
    model, data, task = jobs.make("classification")
    given = {name: heads(model, names) if names else () for name, names in orders.items()}
    with pytest.raises(InvalidOption, match=expected):
        curve(model, tokenizer, data, given, task=task, steps=steps)


def test_a_model_that_cannot_do_the_task(tokenizer: Any) -> None:
    model = jobs.random_model("BertForMaskedLM")
    with pytest.raises(ModelUnavailable, match="cannot do classification"):
        curve(model, tokenizer, jobs.sentences(), orders_of(model, one=1), task="sst2")
