"""Do exactly the dead parts go, are budgets kept, and does the choice see nothing of the held-out half?"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.budgets import trials as trials_module
from headcount.budgets.budget import Budget
from headcount.budgets.choose_parts import HEADS_ONLY, PartChoice, choose_parts, plan_trials
from headcount.budgets.options import PartOptions
from headcount.budgets.planner import Planner
from headcount.budgets.trials import Bench
from headcount.choosing.halves import read_halves
from headcount.core.claims import choose_step
from headcount.core.units import Selection
from headcount.data.tasks import find_task
from headcount.errors import InvalidOption
from tests import planted as texts
from tests.budgets import planted, small
from tests.closeness import FLOAT32, assert_same

TIMES = ("speed", "speed_low", "speed_high")


class Interrupted(Exception):
    pass


def find(model: Any, tokenizer: Any, data: Any, what: str = "both", **given: Any) -> PartChoice:
    named = {key: given.pop(key) for key in ("operations", "weights", "faster", "tolerance") if key in given}
    budget = Budget.parse(**named, by_estimate=given.pop("by_estimate", False))
    of_data = {key: given.pop(key) for key in ("train", "metric", "study", "name", "seed") if key in given}
    task = given.pop("task", "sst2")
    return choose_parts(
        model, tokenizer, data, find_task(task), PartOptions(what, budget, **small.QUICK | given), **of_data
    )


def assert_same_but_times(one: xr.Dataset, other: xr.Dataset) -> None:
    xr.testing.assert_equal(one.drop_vars(TIMES), other.drop_vars(TIMES))
    assert one.attrs["identity"] == other.attrs["identity"]
    assert one.attrs.get("chosen") == other.attrs.get("chosen")


@pytest.mark.parametrize("refit", ["none", "weights", "scales"])
@pytest.mark.parametrize("currency", ["operations", "weights"])
def test_dead_parts_go_and_nothing_else(tokenizer: Any, currency: str, refit: str) -> None:
    model = small.with_dead_parts()
    data = small.own_answers(model, tokenizer)
    cut = hc.prune(copy.deepcopy(model), small.DEAD)
    share = {"operations": small.operations_left, "weights": small.weights_left}[currency](cut, model)
    found = find(model, tokenizer, data, refit=refit, **{currency: share})
    assert str(found.parts) == ", ".join(small.DEAD)
    assert small.gone(found.model, model) == ", ".join(small.DEAD)
    for half in (found.selection, found.held_out):
        point = half.isel(order=0, step=found.step)
        assert (float(half["baseline"]), float(point["score"]), float(point["delta"])) == (1, 1, 0)
        assert float(point[currency]) == pytest.approx(share)
    batch = dict(tokenizer(list(data["sentence"]), padding=True, return_tensors="pt"))
    with torch.no_grad():
        assert_same(found.model(**batch).logits, model(**batch).logits, FLOAT32)


def test_with_more_room_dead_parts_go_all_the_same(tokenizer: Any) -> None:
    """They cost something and are worth nothing."""
    model = small.with_dead_parts()
    found = find(model, tokenizer, small.own_answers(model, tokenizer), weights="97%")
    assert str(found.parts) == ", ".join(small.DEAD)


@pytest.mark.parametrize(("name", "metric"), [("bert", None), ("gpt2", None), ("llama", "perplexity"), ("t5", "loss")])
def test_budgets_are_kept_in_every_family(tokenizer: Any, name: str, metric: str | None) -> None:
    model, data = small.family(name)
    found = find(model, tokenizer, data, task=small.TASKS[name], metric=metric, operations="60%", steps=4)
    assert found.step is not None
    for order in found.held_out["order"].values:
        row = found.held_out.sel(order=order)
        reached = np.isfinite(row["operations"].values)
        assert (row["operations"].values <= row["step"].values * (1 + 1e-9))[reached].all()
    made = small.operations_left(found.model, model)
    assert made == pytest.approx(float(found.held_out["operations"][0, found.step]))
    assert made <= 0.6
    assert small.weights_left(found.model, model) == float(found.held_out["weights"][0, found.step])
    assert small.gone(found.model, model) == str(found.parts)
    assert list(found.held_out["order"].values) == ["both", HEADS_ONLY, "random 0"]


def test_the_whole_model_stays_as_it_is(tokenizer: Any) -> None:
    model, data = small.family("bert")
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    found = find(model, tokenizer, data, operations="50%")
    assert found.model is not model
    assert all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())
    assert not any(one._forward_pre_hooks or one._forward_hooks for one in model.modules())
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_labels_of_the_held_out_half_change_no_selection(tokenizer: Any) -> None:
    model = small.classifier()
    data = small.own_answers(model, tokenizer)
    _, held_out = read_halves(data, find_task("sst2"), None, 0, tokenizer)
    turned = data.copy()
    turned.loc[held_out.index, "label"] = 1 - data.loc[held_out.index, "label"]
    options: dict[str, Any] = {"tolerance": 20, "by_estimate": True, "steps": 5}
    one, other = (find(model, tokenizer, each, **options) for each in (data, turned))
    assert one.parts is not None
    assert (str(one.parts), one.step) == (str(other.parts), other.step)
    xr.testing.assert_equal(one.selection.drop_vars(TIMES), other.selection.drop_vars(TIMES))
    assert one.held_out["parts"].equals(other.held_out["parts"])
    assert float(one.held_out["baseline"]) == 1
    assert float(other.held_out["baseline"]) == 0, "they are read, to evaluate"


def test_a_tolerance_takes_the_last_step_within_it(tokenizer: Any) -> None:
    model = small.classifier()
    data = small.own_answers(model, tokenizer, 200)
    found = find(model, tokenizer, data, tolerance=12, steps=8)
    assert found.step == choose_step(found.selection, "both", 12)
    assert found.step is not None
    assert found.verdict in ("confirmed", "refuted", "too few examples to tell")
    bounds = found.selection["bound_low"].sel(order="both").values
    assert bounds[found.step] >= -0.12
    assert (bounds[found.step + 1 :] < -0.12).all()
    assert str(found.parts) == str(found.held_out["parts"].values[0, found.step])
    assert found.held_out.attrs["chosen"] == found.selection.attrs["chosen"] == found.step
    estimated = find(model, tokenizer, data, tolerance=12, steps=8, by_estimate=True)
    assert estimated.step is not None
    assert estimated.step >= found.step


def test_nothing_within_the_tolerance(tokenizer: Any, tmp_path: Path) -> None:
    """30 examples cannot show that a point is all that is lost; by estimate the first steps lose nothing."""
    model = small.with_dead_parts()
    data = small.own_answers(model, tokenizer)
    few: dict[str, Any] = {"steps": 11, "randoms": 0, "study": tmp_path / "study"}
    found = find(model, tokenizer, data, tolerance=1, **few)
    assert (found.parts, found.model, found.step, found.verdict) == (None, None, None, None)
    assert "chosen" not in found.held_out.attrs
    other = find(model, tokenizer, data, tolerance=1, **few, by_estimate=True, name="b")
    assert other.step is not None
    assert other.held_out.attrs["chosen"] == other.step


def test_in_memory_as_in_a_folder(tokenizer: Any, tmp_path: Path) -> None:
    model, data = small.family("bert")
    stored = find(model, tokenizer, data, weights="60%", study=tmp_path / "study")
    plain = find(model, tokenizer, data, weights="60%")
    again = find(model, tokenizer, data, weights="60%", study=tmp_path / "study")
    for half in ("selection", "held_out"):
        assert_same_but_times(getattr(plain, half), getattr(stored, half))
        xr.testing.assert_identical(getattr(again, half), getattr(stored, half))
    assert str(plain.parts) == str(stored.parts) == str(again.parts)
    for key, tensor in plain.model.state_dict().items():
        assert torch.equal(tensor, again.model.state_dict()[key])


@pytest.mark.parametrize("after", [0, 1, 3])
def test_interrupted_and_resumed(tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    model, data = small.family("bert")
    options: dict[str, Any] = {"operations": "60%", "steps": 3, "study": tmp_path / "study"}
    plain, made = Bench.make, []

    def make(self: Bench, removed: Selection) -> Any:
        if len(made) == after:
            raise Interrupted
        made.append(removed)
        return plain(self, removed)

    with monkeypatch.context() as patched:
        patched.setattr(trials_module.Bench, "make", make)
        with pytest.raises(Interrupted):
            find(model, tokenizer, data, **options)
    resumed = find(model, tokenizer, data, **options)
    at_once = find(model, tokenizer, data, **options | {"study": tmp_path / "other"})
    assert str(resumed.parts) == str(at_once.parts)
    for half in ("selection", "held_out"):
        assert_same_but_times(getattr(resumed, half), getattr(at_once, half))


def test_the_result_is_saved_loaded_and_cut_again(tokenizer: Any, tmp_path: Path) -> None:
    model, data = small.family("bert")
    found = find(model, tokenizer, data, operations="60%")
    hc.save(found.model, tokenizer, tmp_path / "small")
    loaded, own = hc.load(tmp_path / "small")
    batch = dict(own(list(data["sentence"][:8]), padding=True, return_tensors="pt"))
    with torch.no_grad():
        assert torch.equal(loaded(**batch).logits, found.model(**batch).logits)
    again = find(loaded, own, data, operations="60%")
    assert small.operations_left(again.model, loaded) <= 0.6
    assert small.operations_left(again.model, model) <= 0.36
    before = Selection.of(str(found.parts), hc.read_anatomy(model).layout, hc.read_anatomy(model).units)
    whole = Selection.of(small.gone(again.model, model), hc.read_anatomy(model).layout, hc.read_anatomy(model).units)
    assert set(before.heads) < set(whole.heads)
    assert len(whole.units) > len(before.units)


def test_the_models_of_the_curve() -> None:
    model = planted.anatomy()
    planner = Planner(model, "operations", planted.scores(model), None, planted.costs(model), fixed=0.3)
    options = PartOptions("both", Budget.parse(operations=0.37), steps=4, randoms=2)
    found = plan_trials(planner, options, 0.37, seed=5)
    assert [(trial.order, trial.target) for trial in found] == [
        *(("both", target) for target in (0.75, 0.5, 0.37, 0.25)),
        *((HEADS_ONLY, target) for target in (0.75, 0.5)),
        *((f"random {number}", target) for number in (0, 1) for target in (0.75, 0.5, 0.37, 0.25)),
    ]
    assert not any(trial.removed.units for trial in found if trial.order == HEADS_ONLY)
    assert str(found[-1].removed) == str(planner.random("both", 0.25, 6))
    alone = plan_trials(planner, PartOptions("units", options.budget, steps=4, randoms=1), None, 0)
    assert [(trial.order, trial.target) for trial in alone] == [("units", 0.75), ("random 0", 0.75)]
    assert not any(trial.removed.heads for trial in alone)


def test_a_curve_without_steps() -> None:
    model = planted.anatomy()
    planner = Planner(model, "operations", planted.scores(model), None, planted.costs(model), fixed=0.3)
    for what, steps in (("both", 1), ("units", 2)):
        with pytest.raises(InvalidOption, match=f"got steps={steps}; .* give more steps"):
            plan_trials(planner, PartOptions(what, Budget.parse(tolerance=1), steps=steps), None, 0)


def test_training_examples_score_and_refit(tokenizer: Any) -> None:
    """Others give other scores, and labels have no effect with own labels."""
    model, data = small.family("bert")
    train = texts.texts(60, seed=8)
    turned = train.assign(label=1 - train["label"])
    parts = {
        name: str(find(model, tokenizer, data, operations="50%", **given).parts)
        for name, given in {
            "half": {},
            "train": {"train": train},
            "turned": {"train": turned},
            "own": {"train": train, "own_labels": True},
            "own turned": {"train": turned, "own_labels": True},
        }.items()
    }
    assert parts["half"] != parts["train"] != parts["turned"]
    assert parts["own"] == parts["own turned"]


def test_generated_texts_are_refused(tokenizer: Any) -> None:
    model, data = small.family("t5")
    with pytest.raises(InvalidOption, match="whose texts are generated; expected another, such as loss") as caught:
        find(model, tokenizer, data, task="translation", metric="chrf", operations="60%")
    assert "\n" not in str(caught.value)


def test_a_notebook_shows_what_goes() -> None:
    curve = xr.Dataset(coords={"step": [0.5, 0.4, 0.3]})
    some = PartChoice("L0H1, L2U0-9", None, "best", curve, curve, 1)._repr_html_()  # type: ignore[arg-type]
    assert "L0H1, L2U0-9" in some
    assert "2 of 3" in some
    none = PartChoice(None, None, "best", curve, curve, None)._repr_html_()
    assert "no step is within the tolerance" in none


def test_a_notebook_draws_its_curve_without_a_study(tokenizer: Any) -> None:
    model, data = small.family("bert")
    assert hc.show(find(model, tokenizer, data, weights="60%")).what == "budget"
