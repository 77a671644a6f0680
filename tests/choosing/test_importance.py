"""Is importance what a loop over examples and gates gives, does it find planted heads, and where does it mislead?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.choosing import importance as module
from headcount.choosing.estimators import NORMED, estimate, stability
from headcount.choosing.importance import importance
from headcount.choosing.orders import by_values
from headcount.data.tasks import find_task
from headcount.errors import DataProblem, InvalidOption, ModelUnavailable, NotFinite, StudyProblem
from tests import planted
from tests.closeness import ROUNDED, assert_same
from tests.contracts.zoo import BY_NAME, exact
from tests.measures.tiny import assert_untouched, first_output
from tests.pruning import jobs
from tests.pruning import planted as parts

VALUES = ("michel", "taylor", "norm")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def of(kind: str, tokenizer: Any, **options: Any) -> xr.Dataset:
    model, data, task = jobs.make(kind)
    return importance(model, tokenizer, data, task=task, **options)


def assert_same_values(found: xr.Dataset, expected: Any, names: Any = VALUES) -> None:
    for name in names:
        given = expected[f"values_{name}"].values if isinstance(expected, xr.Dataset) else expected[name]
        assert_same(found[f"values_{name}"].values, given, ROUNDED, name)


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_equal_to_a_loop_over_examples(kind: str, tokenizer: Any) -> None:
    job = jobs.prepared(kind, tokenizer)
    found = importance(job.model, tokenizer, jobs.make(kind)[1], task=job.task)
    assert_same_values(found, jobs.one_by_one(job))
    assert float(found["michel"].max()) > 1e-3
    assert list(found["example"].values) == list(range(jobs.COUNT))


@pytest.mark.parametrize("name", ["albert", "deberta-v2", "distilbert", "llama", "modernbert", "mpnet"])
def test_equal_to_a_loop_in_other_families(name: str, tokenizer: Any) -> None:
    """Shared layers, attention of their own, grouped keys, sliding windows."""
    model = exact(name, BY_NAME[name].kernels[0], "AutoModelForSequenceClassification")
    job = jobs.job_of(model, jobs.sentences().head(5), find_task("classification"), tokenizer)
    found = importance(model, tokenizer, jobs.sentences().head(5), task="classification")
    assert_same_values(found, jobs.one_by_one(job))
    assert float(found["michel"].max()) > 1e-4


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_batches_and_padding_do_not_matter(kind: str, tokenizer: Any) -> None:
    assert_same_values(
        of(kind, tokenizer, compute=hc.Compute(batch_tokens=1)),
        of(kind, tokenizer, compute=hc.Compute(batch_tokens=10**6)),
    )


def test_the_order_of_the_examples_does_not_matter(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    found = importance(model, tokenizer, data, task=task)
    turned = importance(model, tokenizer, data.iloc[::-1].reset_index(drop=True), task=task)
    for name in ("michel", "taylor", "gate", "norm", "michel_normed"):
        assert_same(turned[name], found[name], ROUNDED, name)
    assert_same(turned["values_taylor"].values[::-1], found["values_taylor"], ROUNDED)


def test_the_gradient_is_a_difference_of_losses(tokenizer: Any) -> None:
    """A gate moved by hand, in float64."""
    model, data, task = jobs.make("classification")
    found = importance(model, tokenizer, data.head(1), task=task)
    batch = dict(tokenizer(data["sentence"][0], return_tensors="pt")) | {"labels": torch.tensor([data["label"][0]])}
    for layer, head in ((0, 1), (2, 3)):
        losses = []
        for step in (-1e-4, 1e-4):
            gates = torch.ones(3, 4, dtype=torch.float64)
            gates[layer, head] += step
            with torch.no_grad(), hc.gated(model, gates):
                losses.append(float(model(**batch).loss))
        slope = (losses[1] - losses[0]) / 2e-4
        assert -float(found["taylor"].sel(stack="encoder", layer=layer, head=head)) == pytest.approx(slope, rel=ROUNDED)


def test_what_follows_from_the_values(tokenizer: Any) -> None:
    found = of("marian", tokenizer)
    for name in VALUES:
        np.testing.assert_allclose(found[name], found[f"values_{name}"].mean("example"), rtol=1e-5, atol=1e-7)
        assert bool((found[f"{name}_low"] <= found[name] + 1e-6).all())
        assert bool((found[name] <= found[f"{name}_high"] + 1e-6).all())
    np.testing.assert_allclose(found["gate"], np.abs(found["taylor"]))
    assert bool((found["gate"] <= found["michel"] + 1e-7).all()), "the mean size is at least the size of the mean"
    for name in NORMED:
        length = np.sqrt((found[f"{name}_normed"] ** 2).sum("head"))
        np.testing.assert_allclose(length, 1, rtol=1e-5)
        ratio = found[f"{name}_normed"] / found[name]
        np.testing.assert_allclose(ratio, ratio.isel(head=[0] * ratio.sizes["head"]), rtol=1e-4)
    assert set(found["stack"].values) == {"encoder", "decoder", "cross"}


def test_a_layer_that_does_nothing_is_not_divided_by_zero(tokenizer: Any) -> None:
    found = importance(parts.classifier(parts.NEEDED), tokenizer, parts.texts(8), task="sst2").sel(stack="encoder")
    assert float(found["michel_normed"].sel(layer=0, head=1)) == pytest.approx(1)
    assert bool((found["michel_normed"].sel(layer=1) == 0).all())


def test_the_model_is_left_as_it_was(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    model.train()
    for number, parameter in enumerate(model.parameters()):
        parameter.requires_grad_(number % 3 > 0)
    asked = [parameter.requires_grad for parameter in model.parameters()]
    batch = dict(tokenizer("it is good", return_tensors="pt"))
    model.eval()
    before = first_output(model, batch)
    model.train()
    with torch.no_grad():
        importance(model, tokenizer, data, task=task)
    assert model.training
    assert [parameter.requires_grad for parameter in model.parameters()] == asked
    model.eval()
    assert_untouched(model, batch, before)


def test_gradients_that_were_there_stay(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3.0)
    importance(model, tokenizer, data, task=task)
    assert all(bool((parameter.grad == 3).all()) for parameter in model.parameters())


def test_inside_no_grad_and_inference_mode(tokenizer: Any) -> None:
    expected = of("classification", tokenizer)
    for mode in (torch.no_grad, torch.inference_mode):
        model, data, task = jobs.make("classification")
        with mode():
            assert_same_values(importance(model, tokenizer, data, task=task), expected)


def test_after_a_failure_the_weights_may_learn_again(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("broken")

    model, data, task = jobs.make("classification")
    monkeypatch.setattr(type(task.kind), "losses", broken)
    with pytest.raises(RuntimeError, match="broken"):
        importance(model, tokenizer, data, task=task)
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert not any(one._forward_pre_hooks for one in model.modules())


def test_planted_heads_come_in_the_planted_order(tokenizer: Any) -> None:
    model = parts.classifier(parts.GRADED)
    layout = hc.read_anatomy(model).layout
    found = importance(model, tokenizer, parts.texts(), task="sst2")
    for name in ("michel", "taylor", "gate"):
        assert [layout.spell(head) for head in by_values(estimate(found, name), layout)] == parts.GRADED_ORDER
    in_layer = found["michel"].sel(stack="encoder", layer=0).values
    np.testing.assert_allclose(in_layer / in_layer[1], [0.06, 1, 0.12, 0.03], rtol=1e-4)


def test_a_head_that_misleads_has_another_sign(tokenizer: Any) -> None:
    """Taylor foretells that the loss falls without it; the size of the gradient cannot say so."""
    wrong = dict(parts.GRADED) | {"L0H2": (parts.SIGNAL, parts.VERDICT, -0.12)}
    found = importance(parts.classifier(wrong), tokenizer, parts.texts(), task="sst2").sel(stack="encoder")
    assert float(found["taylor"].sel(layer=0, head=2)) < 0
    assert float(found["michel"].sel(layer=0, head=2)) > 0
    assert int((found["taylor"] < 0).sum()) == 1


def test_examples_that_disagree_hide_a_head_from_the_mean(tokenizer: Any) -> None:
    """L0H2 follows the noise, for and against the label alike: |E g| is small, E|g| is not."""
    found = importance(parts.classifier(parts.BACKED), tokenizer, parts.texts(), task="sst2")
    disturbing = found.sel(stack="encoder", layer=0, head=2)
    assert float(disturbing["gate"]) < 0.2 * float(disturbing["michel"])


def test_two_heads_that_back_each_other_up_mislead(tokenizer: Any) -> None:
    """One by one neither is needed, by gradient nor by ablation; without both the model guesses."""
    model, data = parts.classifier(parts.BACKED, parts.STEEP), parts.texts()
    found = importance(model, tokenizer, data, task="sst2").sel(stack="encoder", layer=0)
    backed, disturbing = found["michel"].values[:2], float(found["michel"].sel(head=2))
    assert (backed < 0.2 * disturbing).all()
    swept = hc.sweep(model, tokenizer, data, task="sst2", how="zero")
    assert float(swept["baseline"]) == 1
    assert float(np.abs(swept["delta"]).max()) == 0
    both = hc.sweep(model, tokenizer, data, task="sst2", how="zero", by=["L0H0,L0H1", "L0H0,L0H2", "L0H1,L0H2"])
    np.testing.assert_allclose(both["score"], [0.5, 1, 1])
    gates = torch.ones(2, 4)
    gates[0, 0] = 0
    with hc.gated(model, gates):
        alone = importance(model, tokenizer, data, task="sst2").sel(stack="encoder", layer=0)
    assert float(alone["michel"].sel(head=1)) > 5 * float(alone["michel"].sel(head=2)), "the other one is needed now"


def test_a_pruned_model(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    gone = ["L0H1", "L1", "L2H0", "L2H3"]
    whole = jobs.make("classification")[0]
    gates = torch.ones(3, 4)
    for head in hc.HeadSet.of(gone, hc.read_anatomy(whole).layout):
        gates[head.layer, head.head] = 0
    hc.prune(model, gone)
    found = importance(model, tokenizer, data, task=task)
    with hc.gated(whole, gates):
        expected = importance(whole, tokenizer, data, task=task)
    kept = gates.bool().numpy()[None, :, : found.sizes["head"]]
    for name in (*VALUES, "gate"):
        given = found[name].values
        assert np.isnan(given[~kept]).all()
        assert_same(given[kept], expected[name].values[..., : found.sizes["head"]][kept], ROUNDED, name)
    assert np.isnan(found["michel_normed"].sel(layer=1)).all()
    np.testing.assert_allclose(np.sqrt((found["michel_normed"].sel(layer=[0, 2]) ** 2).sum("head")), 1, rtol=1e-5)
    mean, low, high = stability(found, "michel", splits=5)
    assert -1 <= low <= mean <= high <= 1
    rows = np.arange(4)
    np.testing.assert_array_equal(np.isnan(estimate(found, "michel_normed", rows)), np.isnan(found["michel_normed"]))


def test_only_some_examples(tokenizer: Any) -> None:
    whole = of("classification", tokenizer)
    few = of("classification", tokenizer, limit=4, seed=5)
    assert few.sizes["example"] == 4
    for row in few["example"].values:
        assert_same(few["values_michel"].sel(example=row), whole["values_michel"].sel(example=row), ROUNDED)
    same = of("classification", tokenizer, limit=4, seed=5)
    xr.testing.assert_identical(few, same)


def test_the_study_holds_what_memory_holds(tokenizer: Any, tmp_path: Path) -> None:
    model, data, task = jobs.make("classification")
    expected = importance(model, tokenizer, data, task=task)
    found = importance(model, tokenizer, data, task=task, out=tmp_path / "study")
    xr.testing.assert_allclose(found[list(expected.data_vars)], expected)
    stored = hc.open_study(tmp_path / "study")["pruning/importance"].to_dataset()
    np.testing.assert_array_equal(stored["michel"], found["michel"])
    assert stored.attrs["complete"]
    assert stored.attrs["task"] == "sst2"
    importance(model, tokenizer, data, task=task, out=tmp_path / "study", name="again")
    assert set(hc.open_study(tmp_path / "study")["pruning"].children) == {"importance", "importance@again"}


@pytest.mark.usefixtures("one_core")
def test_what_is_there_is_not_computed_again(tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNIT", 3)
    model, data, task = jobs.make("classification")
    options: dict[str, Any] = {"task": task, "out": tmp_path / "study"}
    losses, calls = type(task.kind).losses, []

    def stopping(*given: Any) -> Any:
        calls.append(len(given[2]))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return losses(*given)

    monkeypatch.setattr(type(task.kind), "losses", stopping)
    with pytest.raises(KeyboardInterrupt):
        importance(model, tokenizer, data, **options)
    assert "michel" not in hc.open_study(tmp_path / "study")["pruning/importance"]
    told: list[Any] = []
    found = importance(model, tokenizer, data, progress=lambda *both: told.append(both), **options)
    assert calls[3:] == [3, 1], "two of four units were done"
    assert told[-1] == (jobs.COUNT, jobs.COUNT)
    assert_same_values(found, importance(model, tokenizer, data, task=task))
    calls.clear()
    again = importance(model, tokenizer, data, **options)
    assert not calls
    xr.testing.assert_identical(again, found)


def test_a_study_of_other_weights_is_refused(tokenizer: Any, tmp_path: Path) -> None:
    model, data, task = jobs.make("classification")
    importance(model, tokenizer, data, task=task, out=tmp_path / "study")
    with torch.no_grad():
        model.classifier.weight.add_(0.1)
    with pytest.raises(StudyProblem, match="model: "):
        importance(model, tokenizer, data, task=task, out=tmp_path / "study")
    with pytest.raises(StudyProblem, match="limit: "):
        importance(jobs.make("classification")[0], tokenizer, data, task=task, out=tmp_path / "study", limit=4)


def test_a_gated_model_goes_into_no_study(tokenizer: Any, tmp_path: Path) -> None:
    model, data, task = jobs.make("classification")
    with hc.ablated(model, "L0H0", how="zero"):
        with pytest.raises(InvalidOption, match="inside ablated"):
            importance(model, tokenizer, data, task=task, out=tmp_path / "study")
        model(torch.tensor([[1, 2]]))
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("options", "kind", "expected"),
    [
        ({"task": "nonsense"}, InvalidOption, "expected one of"),
        ({"task": None}, InvalidOption, "task="),
        ({"task": "regression"}, ModelUnavailable, "needs a model with one"),
        ({"task": "masked-lm"}, ModelUnavailable, "cannot do masked-lm"),
        ({"task": "mrpc"}, DataProblem, "no column sentence1"),
    ],
)
def test_what_is_refused(
    tokenizer: Any, tmp_path: Path, options: dict[str, Any], kind: type[Exception], expected: str
) -> None:
    model, data, _ = jobs.make("classification")
    with pytest.raises(kind, match=expected) as caught:
        importance(model, tokenizer, data, out=tmp_path / "study", **options)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    "options", [{"limit": 0}, {"limit": -3}, {"seed": -1}, {"compute": hc.Compute(batch_tokens=-1)}, {"max_length": 2}]
)
def test_numbers_that_make_no_sense(tokenizer: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="expected"):
        of("classification", tokenizer, **options)


def test_a_classifier_that_was_not_trained(tokenizer: Any, tmp_path: Path) -> None:
    jobs.random_model("BertForMaskedLM").save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    model, own = hc.load(tmp_path / "model", head="classification")
    with pytest.raises(ModelUnavailable, match=r"the checkpoint has no pooler, classifier \(4 tensors\)"):
        importance(model, own, jobs.sentences(), task="sst2")


def test_a_loss_that_is_not_finite_is_an_error_with_row_and_layer(tokenizer: Any) -> None:
    model, data = planted.too_large_for_float16(planted.classifier(3)), planted.texts(40).iloc[3:]
    assert np.isfinite(importance(model, tokenizer, data, task="sst2")["michel"]).all()
    with pytest.raises(NotFinite, match=r"^row \d+: the loss is not finite, from L1 on \(float16\)") as caught:
        importance(model.half(), tokenizer, data, task="sst2")
    row = int(str(caught.value).split(":")[0].removeprefix("row "))
    assert " up " in f" {data.at[row, 'sentence']} "


def test_a_gradient_that_is_not_finite_is_an_error_with_row_and_layer(tokenizer: Any) -> None:
    """The loss is finite, what flows back from it is too large for float16: where the model is wrong."""
    model, data = planted.classifier(), planted.texts(40).iloc[3:]
    with torch.no_grad():
        model.classifier.weight.mul_(60_000)
    wrong = hc.sweep(model, tokenizer, data, task="sst2", by="layer", how="uniform")
    mistaken = wrong["example"].values[wrong["baseline_logits"].values.argmax(-1) != wrong["label"].values]
    assert np.isfinite(importance(model, tokenizer, data, task="sst2")["michel"]).all()
    with pytest.raises(NotFinite, match=r"^row \d+: the gradient of the loss is not finite in L1 and below") as caught:
        importance(model.half(), tokenizer, data, task="sst2")
    assert int(str(caught.value).split(":")[0].removeprefix("row ")) in mistaken
