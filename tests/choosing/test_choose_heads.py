"""Is the smallest model that is good enough found, on examples that do not confirm it, and what is refused?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.choosing import choose_heads as module
from headcount.choosing import orders
from headcount.choosing.choose_heads import Target
from headcount.choosing.halves import halves
from headcount.choosing.importance import importance
from headcount.choosing.orders import at_random, by_values
from headcount.core.heads import Head
from headcount.data.tasks import find_task
from headcount.errors import DataProblem, InvalidOption, ModelUnavailable
from tests import planted
from tests.pruning import jobs
from tests.pruning import planted as parts

TEXTS = parts.texts(80)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def find(model: Any, tokenizer: Any, data: Any = TEXTS, **options: Any) -> Any:
    size = {} if {"drop", "keep", "tolerance"} & set(options) else {"tolerance": 0}
    given = {"task": "sst2", "steps": 8} | size | options
    return hc.choose(model, tokenizer, data, **given)


def names(found: Any) -> list[str]:
    return [f"L{head.layer}H{head.head}" for head in found.heads]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("40%", None, None), Target(keep=86)),
        (("58", None, None), Target(keep=86)),
        (("0", None, None), Target(keep=144)),
        ((None, "80", None), Target(keep=80)),
        ((None, "80%", None), Target(keep=115)),
        ((None, "100%", None), Target(keep=144)),
        ((None, "12.5%", None), Target(keep=18)),
        ((None, None, 0.0), Target(tolerance=0)),
        ((None, None, 0.5), Target(tolerance=0.5)),
    ],
)
def test_how_small(given: tuple[Any, ...], expected: Target) -> None:
    assert Target.parse(144, *given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((None, None, None), "exactly one of"),
        (("40%", "80", None), "exactly one of"),
        ((None, "80", 0.5), "exactly one of"),
        (("40%", "80", 0.5), "exactly one of"),
        ((None, None, -0.1), "tolerance=-0.1; expected at least 0"),
        ((None, None, float("nan")), "tolerance=nan"),
        ((None, "145", None), "keep=145; the model has 144 heads: keep 1 to 144"),
        ((None, "101%", None), "keep=101%; the model has 144 heads"),
        ((None, "0", None), "keep=0; the model has 144 heads"),
        ((None, "-3", None), "keep=-3"),
        (("144", None, None), "drop=144; the model has 144 heads"),
        (("100%", None, None), "drop=100%"),
        (("-1", None, None), "drop=-1"),
        ((None, "most", None), "'most'; expected a number of heads such as 80, or a share such as 40%"),
        ((None, "4.5", None), "'4.5'; expected a number"),
        ((None, "%", None), "'%'; expected a number"),
        (("nan%", None, None), "'nan%'"),
        pytest.param(("inf%", None, None), "expected a number"),
        pytest.param(("", None, None), "got ''"),
    ],
)
def test_how_small_makes_no_sense(given: tuple[Any, ...], expected: str) -> None:
    with pytest.raises(InvalidOption, match=expected) as caught:
        Target.parse(144, *given)
    assert "\n" not in str(caught.value)


def test_a_tolerance_takes_all_heads_but_the_needed_one(tokenizer: Any) -> None:
    """Nothing changes in 40 examples without the seven: that shows a cost of at most 6.3 points."""
    found = find(parts.classifier(parts.NEEDED, parts.STEEP), tokenizer, tolerance=7)
    assert found.order == "importance"
    assert found.verdict == "confirmed"
    assert sorted(names(found)) == ["L0H0", "L0H2", "L0H3", "L1H0", "L1H1", "L1H2", "L1H3"]
    for part in (found.selection, found.held_out):
        assert float(found.step(part)["score"]) == 1
        assert list(part["order"].values) == ["importance", "random 0", "random 1", "random 2"]
        assert float(part["score"].sel(order="importance", removed=8)) < 0.7
    assert found.selection.attrs["examples"] == found.held_out.attrs["examples"] == 40


def test_a_tolerance_that_cannot_be_shown_takes_nothing_unless_the_estimate_is_asked_for(tokenizer: Any) -> None:
    model = parts.classifier(parts.NEEDED, parts.STEEP)
    found = find(model, tokenizer, tolerance=1, randoms=1)
    assert found.heads == ()
    assert found.verdict is None
    assert found.cut is not None
    assert (found.cut.count, found.cut.by_estimate) == (0, 7)
    assert found.cut.needed is not None
    assert found.cut.needed > 40
    estimated = find(model, tokenizer, tolerance=1, randoms=1, by_estimate=True)
    assert len(estimated.heads) == 7
    assert estimated.verdict == "too few examples to tell"


@pytest.mark.parametrize("keep", [8, 5, 1])
def test_as_many_as_asked_for(tokenizer: Any, keep: int) -> None:
    found = find(parts.classifier(parts.GRADED), tokenizer, keep=keep, steps=3, normed=False, randoms=1)
    assert names(found) == parts.GRADED_ORDER[: 8 - keep]
    assert found.selection["removed"].values.tolist() == sorted({3, 5, 8, 8 - keep} - {0})


def test_choice_and_confirmation_use_different_examples(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Importance, ablation and one curve see the first half, the other curve the second one alone."""
    seen: dict[str, set[str]] = {}

    def listening(name: str, plain: Any) -> Any:
        def call(model: Any, tokenizer: Any, data: Any, *args: Any, **options: Any) -> Any:
            seen[f"{name} {options['name']}"] = set(data["sentence"])
            return plain(model, tokenizer, data, *args, **options)

        return call

    for where, name in ((orders, "importance"), (orders, "sweep"), (module, "curve")):
        monkeypatch.setattr(where, name, listening(name, getattr(where, name)))
    data = parts.texts(200).drop_duplicates("sentence").reset_index(drop=True)
    study = tmp_path / "study"
    find(parts.classifier(parts.GRADED), tokenizer, data, order=("importance", "ablation"), steps=2, study=study)
    assert set(seen) == {"importance prune", "sweep prune-order", "curve prune-choosing", "curve prune-confirming"}
    confirming = seen.pop("curve prune-confirming")
    for chose in seen.values():
        assert chose == set(halves(data, None, 0)[0]["sentence"])
        assert not chose & confirming
    assert confirming == set(halves(data, None, 0)[1]["sentence"])


def test_the_first_order_decides(tokenizer: Any) -> None:
    model = parts.classifier(parts.GRADED)
    found = find(model, tokenizer, order=("norm", "random", "importance"), keep=4, randoms=2)
    assert found.order == "norm"
    assert list(found.selection["order"].values) == ["norm", "random 0", "random 1", "importance"]
    layout = hc.read_anatomy(model).layout
    at_chance = find(model, tokenizer, order=("random",), keep=4, randoms=2, seed=5)
    assert at_chance.order == "random 0"
    assert at_chance.heads == at_random(layout, 5)[:4]
    assert at_chance.importance is None


@pytest.mark.parametrize(
    ("order", "normed", "values"),
    [
        ("importance", True, "michel_normed"),
        ("importance", False, "michel"),
        ("taylor", True, "taylor"),
        ("norm", True, "norm_normed"),
    ],
)
def test_the_order_is_that_of_the_first_half(tokenizer: Any, order: str, normed: bool, values: str) -> None:
    model, _, task = jobs.make("classification")
    data = planted.texts(60)
    found = find(model, tokenizer, data, task=task, order=(order,), normed=normed, keep=1, steps=2)
    first = importance(model, tokenizer, halves(data, None, 0)[0], task=task)
    assert found.heads == by_values(first[values].values, hc.read_anatomy(model).layout)[:11]
    np.testing.assert_allclose(found.importance[values], first[values])


def test_the_order_of_ablation(tokenizer: Any) -> None:
    model, _, task = jobs.make("classification")
    data = planted.texts(60)
    found = find(model, tokenizer, data, task=task, order=("ablation",), keep=1, steps=2)
    swept = hc.sweep(model, tokenizer, halves(data, None, 0)[0], task=task, how="zero")
    assert float(np.ptp(swept["delta"].values)) > 0
    layout = hc.read_anatomy(model).layout
    assert found.heads == by_values(-swept["delta"].values, layout)[:11], "the least needed first"
    assert found.importance is None


def test_the_order_of_learned_gates(tokenizer: Any) -> None:
    """The needed head goes last."""
    model = parts.classifier(parts.NEEDED, parts.STEEP, loud=3)
    found = find(model, tokenizer, order=("gates",), keep=1, steps=2)
    assert found.order == "gates"
    assert "L0H1" not in names(found)
    assert float(found.step(found.held_out)["score"]) == 1


def test_learned_gates_are_read_where_the_study_has_them(tokenizer: Any, tmp_path: Path) -> None:
    """They are those of the half that selects: gates learned from all examples would have seen the held-out ones."""
    model, data, told = parts.classifier(parts.NEEDED, parts.STEEP, loud=3), parts.texts(40), []
    options: dict[str, Any] = {"order": ("gates",), "keep": 1, "steps": 2, "study": tmp_path / "study"}
    first = find(model, tokenizer, data, **options, progress=lambda *steps: told.append(steps[2]))
    assert "gates" in told
    stored = hc.open_study(tmp_path / "study")["pruning/gates@prune"].to_dataset()
    alone = hc.learn_gates(model, tokenizer, halves(data, None, 0)[0], task="sst2")
    np.testing.assert_array_equal(stored["openness"], alone["openness"])
    told.clear()
    assert find(model, tokenizer, data, **options, progress=lambda *steps: told.append(steps[2])).heads == first.heads
    assert "gates" not in told


def test_computed_anew_it_finds_heads_that_back_each_other_up(tokenizer: Any) -> None:
    model = parts.classifier(parts.BACKED, parts.STEEP)
    options: dict[str, Any] = {"keep": 1, "normed": False, "randoms": 0}
    at_once = find(model, tokenizer, **options)
    anew = find(model, tokenizer, anew=True, **options)
    assert set(names(at_once)) == {"L0H0", "L0H1", "L0H3", "L1H0", "L1H1", "L1H2", "L1H3"}
    assert float(at_once.step(at_once.held_out)["score"]) < 0.6
    assert set(names(anew)) == {"L0H0", "L0H2", "L0H3", "L1H0", "L1H1", "L1H2", "L1H3"}
    assert float(anew.step(anew.held_out)["score"]) == 1


@pytest.mark.parametrize("steps", [1, 3, 8, 20])
def test_computed_anew_every_head_goes_once(tokenizer: Any, steps: int) -> None:
    found = find(
        parts.classifier(parts.BACKED, parts.STEEP),
        tokenizer,
        anew=True,
        steps=steps,
        keep=1,
        order=("importance",),
    )
    assert len(set(found.heads)) == 7
    assert found.selection["removed"].values.max() == 8


def test_every_layer_keeps_some(tokenizer: Any) -> None:
    model = parts.classifier(parts.GRADED)
    found = find(model, tokenizer, at_least=1, keep=2, normed=False)
    assert names(found) == ["L1H0", "L1H3", "L0H3", "L0H0", "L0H2", "L1H1"]
    assert found.selection["removed"].values.max() == 6
    with pytest.raises(InvalidOption, match="only 6 of 8 heads may go here.*keep at least 2"):
        find(model, tokenizer, at_least=1, keep=1)
    with pytest.raises(InvalidOption, match="none may go"):
        find(model, tokenizer, at_least=4, tolerance=5)


def test_one_stack_of_a_translator(tokenizer: Any) -> None:
    model, _, task = jobs.make("marian")
    texts = planted.texts(44)["sentence"]
    data = pd.DataFrame({"source": texts, "target": texts.values[::-1]})
    task = find_task("translation", metric="loss")
    found = find(
        model,
        tokenizer,
        data,
        task=task,
        stack="cross",
        order=("importance", "ablation", "random"),
        randoms=1,
        steps=2,
        keep=30,
    )
    assert len(found.heads) == 6
    assert {head.stack for head in found.heads} == {"cross"}
    assert found.selection["removed"].values.tolist() == [6, 12]
    for order in found.selection["sequence"].values:
        assert all(str(name).startswith("cross.") for name in order)
    tolerant = find(
        model,
        tokenizer,
        data,
        task=task,
        stack="decoder",
        order=("random",),
        randoms=1,
        steps=2,
        tolerance=10_000,
    )
    assert len(tolerant.heads) == 12, "a whole stack may go where others are left"
    with pytest.raises(InvalidOption, match="only 12 of 36 heads may go"):
        find(model, tokenizer, data, task=task, stack="cross", order=("random",), keep=20)
    with pytest.raises(InvalidOption, match="'middle'; the model has encoder, decoder, cross"):
        find(model, tokenizer, data, task=task, stack="middle")


def test_an_order_from_a_file(tokenizer: Any, tmp_path: Path) -> None:
    place = tmp_path / "order.txt"
    place.write_text("L1H3 L0H0 L0H2 L1H1 L0H1 L1H0 L0H3 L1H2")
    found = find(parts.classifier(parts.GRADED), tokenizer, order=(f"file:{place}",), keep=5)
    assert names(found) == ["L1H3", "L0H0", "L0H2"]
    assert found.order == f"file:{place}"
    assert found.importance is None
    place.write_text("L1H3 L0H0")
    with pytest.raises(DataProblem, match="missing"):
        find(parts.classifier(parts.GRADED), tokenizer, order=(f"file:{place}",), keep=5)


@pytest.mark.parametrize(
    ("options", "kind", "expected"),
    [
        ({"order": ("clever",)}, InvalidOption, "got the order 'clever'; expected some of importance, ablation"),
        ({"order": ("michel",)}, InvalidOption, "got the order 'michel'"),
        ({"order": ("file:nowhere",)}, DataProblem, "there is no file nowhere"),
        ({"task": None}, InvalidOption, "task="),
        ({"task": "nonsense"}, InvalidOption, "expected one of"),
        ({"task": "mrpc"}, DataProblem, "no column sentence1"),
        ({"task": "masked-lm"}, ModelUnavailable, "cannot do masked-lm"),
        ({"limit": 30}, DataProblem, "got 30 examples; expected at least 40"),
        ({"steps": 0, "order": ("random",)}, InvalidOption, "at least 1"),
        pytest.param({"order": ("random",), "randoms": 0}, InvalidOption, "random"),
        pytest.param({"order": ()}, InvalidOption, "order"),
        pytest.param({"seed": -1}, InvalidOption, "seed"),
    ],
)
def test_what_is_refused(
    tokenizer: Any, tmp_path: Path, options: dict[str, Any], kind: type[Exception], expected: str
) -> None:
    with pytest.raises(kind, match=expected) as caught:
        find(parts.classifier(parts.GRADED), tokenizer, study=tmp_path / "study", **options)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    "options",
    [
        {"stack": "cross"},
        {"order": ("importance", "clever")},
        {"order": ("importance", "file:nowhere")},
        {"steps": 0},
        {"at_least": 1, "keep": 1},
    ],
)
def test_what_is_refused_is_refused_before_anything_is_computed(
    tokenizer: Any, tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises((DataProblem, InvalidOption)):
        find(parts.classifier(parts.GRADED), tokenizer, study=tmp_path / "study", **options)
    assert not (tmp_path / "study").exists()


def test_a_classifier_that_was_not_trained(tokenizer: Any, tmp_path: Path) -> None:
    jobs.random_model("BertForMaskedLM").save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    model, own = hc.load(tmp_path / "model", head="classification")
    for order in (("importance",), ("ablation",), ("random",)):
        with pytest.raises(ModelUnavailable, match=r"the checkpoint has no pooler, classifier \(4 tensors\)"):
            find(model, own, order=order, study=tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_nothing_is_cut_and_nothing_stays_behind(tokenizer: Any) -> None:
    model = parts.classifier(parts.GRADED)
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    find(model, tokenizer, anew=True, steps=3)
    assert all(bool((tensor == before[key]).all()) for key, tensor in model.state_dict().items())
    assert hc.read_anatomy(model).layout.count == 8
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert not any(one._forward_pre_hooks or one._forward_hooks for one in model.modules())


def test_a_study_is_gone_on_with(tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = parts.classifier(parts.GRADED)
    options: dict[str, Any] = {"order": ("importance", "ablation", "random"), "steps": 2}
    found = find(model, tokenizer, study=tmp_path / "study", **options)
    children = hc.open_study(tmp_path / "study")
    assert set(children["pruning"].children) == {"importance@prune", "curve@prune-choosing", "curve@prune-confirming"}
    assert set(children["sweep"].children) == {
        "head-zero@prune-order",
        "sets-zero@prune-choosing",
        "sets-zero@prune-confirming",
    }
    plain = find(model, tokenizer, **options)
    assert plain.heads == found.heads
    xr.testing.assert_allclose(plain.held_out, found.held_out)
    monkeypatch.setattr("headcount.choosing.importance.Passes.run", lambda *_: pytest.fail("computed again"))
    again = find(model, tokenizer, study=tmp_path / "study", **options)
    assert again.heads == found.heads
    xr.testing.assert_identical(again.held_out, found.held_out)
    tolerant = find(model, tokenizer, study=tmp_path / "study", **options | {"tolerance": 50})
    xr.testing.assert_identical(tolerant.held_out, found.held_out)


def test_a_pruned_model_can_become_smaller_still(tokenizer: Any) -> None:
    model = hc.prune(parts.classifier(parts.GRADED), ["L1H0", "L0H1"])
    found = find(model, tokenizer, keep=3, normed=False)
    expected = [name for name in parts.GRADED_ORDER if name not in ("L1H0", "L0H1")]
    assert names(found) == expected[:3]
    assert Head("encoder", 0, 1) not in found.heads
