"""Do learned gates follow the hard concrete distribution, and do they keep the heads that are needed?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.choosing.gates import BETA, HIGH, LOW, START, learn_gates, open_probability, sample_gate, steady_gate
from headcount.data.tasks import find_task
from headcount.errors import InvalidOption, ModelUnavailable, TrainingDiverged
from tests import planted
from tests.measures.tiny import assert_untouched, first_output
from tests.pruning import jobs
from tests.pruning import planted as parts

LOG_A = torch.linspace(-6, 6, 25, dtype=torch.float64)
NEEDED = (0, 1)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def needy() -> Any:
    """A model that needs L0H1 and nothing else."""
    return parts.classifier(parts.NEEDED, parts.STEEP, loud=3)


def learn(model: Any, tokenizer: Any, data: Any = None, **options: Any) -> xr.Dataset:
    given: dict[str, Any] = {
        "task": "sst2",
        "strengths": (0.05,),
        "max_steps": 3,
        "per_device_train_batch_size": 8,
    } | options
    return learn_gates(model, tokenizer, parts.texts() if data is None else data, **given)


def test_the_numbers_of_the_paper() -> None:
    assert (BETA, LOW, HIGH) == (0.33, -0.1, 1.1)


def test_a_sample_is_the_formula() -> None:
    noise = torch.rand(LOG_A.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    expected = []
    for u, log_a in zip(noise.tolist(), LOG_A.tolist(), strict=True):
        soft = 1 / (1 + math.exp(-(math.log(u) - math.log(1 - u) + log_a) / 0.33))
        expected.append(min(1.0, max(0.0, soft * 1.2 - 0.1)))
    found = sample_gate(LOG_A, torch.Generator().manual_seed(4))
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_without_noise() -> None:
    expected = (1 / (1 + np.exp(-LOG_A.numpy())) * 1.2 - 0.1).clip(0, 1)
    np.testing.assert_allclose(steady_gate(LOG_A), expected)
    assert float(steady_gate(torch.tensor(-2.5))) == 0
    assert float(steady_gate(torch.tensor(2.5))) == 1
    assert float(steady_gate(torch.tensor(0.0))) == pytest.approx(0.5)


def test_how_likely_a_gate_is_open() -> None:
    """Against the formula, and against many samples."""
    expected = 1 / (1 + np.exp(-(LOG_A.numpy() - 0.33 * np.log(0.1 / 1.1))))
    np.testing.assert_allclose(open_probability(LOG_A), expected)
    generator = torch.Generator().manual_seed(0)
    samples = torch.stack([sample_gate(LOG_A, generator) for _ in range(20_000)])
    np.testing.assert_allclose((samples > 0).double().mean(0), expected, atol=0.015)
    assert float(samples.min()) == 0
    assert float(samples.max()) == 1
    middle = samples[:, 12]
    assert 0.25 < float((middle == 0).double().mean()) < 0.37
    assert 0.25 < float((middle == 1).double().mean()) < 0.37


def test_gradients_flow_where_the_gate_is_neither_open_nor_shut() -> None:
    points = torch.linspace(-1, 1, 200, dtype=torch.float64)
    log_a = points.clone().requires_grad_()
    gates = sample_gate(log_a, torch.Generator().manual_seed(4))
    gates.sum().backward()
    assert log_a.grad is not None
    between = (gates > 0) & (gates < 1)
    assert 30 < int(between.sum()) < 170
    assert bool((log_a.grad[between] > 0).all())
    assert bool((log_a.grad[~between] == 0).all())
    moved = [sample_gate(points + step, torch.Generator().manual_seed(4)) for step in (1e-6, -1e-6)]
    torch.testing.assert_close(log_a.grad, (moved[0] - moved[1]) / 2e-6, rtol=1e-3, atol=1e-5)
    for function in (steady_gate, open_probability):
        point = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(function, (point,))


def test_noise_at_its_ends_gives_numbers() -> None:
    for value in (0.0, 1.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "rand", lambda shape, value=value, **_: torch.full(shape, value))
            found = sample_gate(torch.zeros(3))
        assert torch.isfinite(found).all()


def test_a_price_closes_all_but_the_needed_head(tokenizer: Any) -> None:
    model = needy()
    found = learn(model, tokenizer, strengths=(0.05,), max_steps=150, per_device_train_batch_size=16)
    gate = found["gate"].sel(strength=0.05, stack="encoder")
    assert float(gate[NEEDED]) > 0.8
    assert int(found["kept"][0]) == 1
    assert float(gate.sum()) == float(gate[NEEDED]), "all others are exactly zero"
    assert float(found["loss"][0]) < 0.1
    assert float(found["open"].sel(strength=0.05, stack="encoder")[NEEDED]) > 0.9
    gone = [f"L{layer}H{head}" for layer in range(2) for head in range(4) if (layer, head) != NEEDED]
    swept = hc.sweep(model, tokenizer, parts.texts(), task="sst2", how="zero", by=[",".join(gone)])
    assert float(swept["score"][0]) == 1


def test_too_high_a_price_closes_everything(tokenizer: Any) -> None:
    found = learn(needy(), tokenizer, strengths=(20.0,), max_steps=120, per_device_train_batch_size=4)
    assert int(found["kept"][0]) == 0
    assert float(found["loss"][0]) > 0.3


def test_for_nothing_all_heads_stay(tokenizer: Any) -> None:
    found = learn(needy(), tokenizer, strengths=(0.0,), max_steps=30)
    assert int(found["kept"][0]) == 8
    log_a = found["log_a"].sel(strength=0, stack="encoder").values
    idle = np.ones((2, 4), dtype=bool)
    idle[NEEDED] = False
    assert (log_a[idle] == START).all(), "nothing pulls at a head that does nothing"
    assert log_a[NEEDED] > START


def test_the_parts_of_the_result_belong_together(tokenizer: Any) -> None:
    found = learn(needy(), tokenizer, strengths=(0.0, 0.05, 1.0), max_steps=20)
    assert found["log_a"].dims == ("strength", "stack", "layer", "head")
    assert found["strength"].values.tolist() == [0.0, 0.05, 1.0]
    log_a = torch.tensor(found["log_a"].values)
    np.testing.assert_allclose(found["gate"], steady_gate(log_a), atol=1e-6)
    np.testing.assert_allclose(found["open"], open_probability(log_a), atol=1e-6)
    assert found["kept"].values.tolist() == (found["gate"] > 0).sum(("stack", "layer", "head")).values.tolist()
    assert found.attrs["task"] == "sst2"


def test_each_price_begins_where_the_one_before_ended(tokenizer: Any) -> None:
    whole = learn(needy(), tokenizer, strengths=(0.05,), max_steps=8)
    parted = learn(needy(), tokenizer, strengths=(0.05, 0.05), max_steps=4)
    np.testing.assert_array_equal(parted["log_a"].values[1], whole["log_a"].values[0])


def test_the_same_seed_gives_the_same(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    torch.rand(3)  # whatever was drawn before
    first, again, other = (learn(model, tokenizer, data, task=task, seed=seed) for seed in (1, 1, 2))
    xr.testing.assert_identical(first, again)
    assert not np.array_equal(first["log_a"], other["log_a"])


def test_the_model_is_left_as_it_was(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    batch = dict(tokenizer("it is good", return_tensors="pt"))
    said = first_output(model, batch)
    model.train()
    learn(model, tokenizer, data, task=task)
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())
    model.eval()
    assert_untouched(model, batch, said)


def test_with_a_rate_of_their_own_the_weights_learn_too(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    for parameter in model.bert.embeddings.parameters():
        parameter.requires_grad_(False)
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    found = learn(model, tokenizer, data, task=task, strengths=(0.0,), max_steps=25, weight_learning_rate=0.01)
    for key, tensor in model.state_dict().items():
        fixed = ".embeddings." in key or key.endswith("key.bias")  # a key's bias moves all scores of a query alike
        assert torch.equal(tensor, before[key]) == fixed or key.endswith("key.bias"), key
    frozen = learn(jobs.make("classification")[0], tokenizer, data, task=task, strengths=(0.0,), max_steps=25)
    assert float(found["loss"][0]) < float(frozen["loss"][0])


@pytest.mark.parametrize("named", [True, False])
def test_gates_for_some_stacks_alone(tokenizer: Any, named: bool) -> None:
    model, data, task = jobs.make("marian")
    found = learn(model, tokenizer, data, task="translation" if named else task, stack=["cross"], strengths=(1.0,))
    assert np.isfinite(found["log_a"].sel(stack="cross")).all()
    assert np.isnan(found["log_a"].sel(stack=["encoder", "decoder"])).all()
    assert int(found["kept"][0]) == 12
    assert float(found["log_a"].sel(stack="cross").max()) < START
    whole = learn(model, tokenizer, data, task=task)
    assert np.isfinite(whole["log_a"]).all()
    with pytest.raises(InvalidOption, match="'middle'; the model has encoder, decoder, cross"):
        learn(model, tokenizer, data, task=task, stack=["middle"])


@pytest.mark.parametrize("kind", ["regression", "tags", "choice", "gpt2"])
def test_other_kinds_of_tasks(kind: str, tokenizer: Any) -> None:
    model, data, task = jobs.make(kind)
    found = learn(model, tokenizer, data, task=task)
    assert np.isfinite(found["log_a"]).all()
    assert float(np.ptp(found["log_a"].values)) > 0
    assert np.isfinite(found["loss"]).all()


def test_a_pruned_model(tokenizer: Any) -> None:
    model = hc.prune(needy(), ["L0H0", "L1H1-2", "L1H3"])
    found = learn(model, tokenizer, max_steps=2).sel(stack="encoder").isel(strength=0)
    missing = np.isnan(found["gate"].values)
    assert missing.tolist() == [[True, False, False, False], [False, True, True, True]]
    assert int(found["kept"]) == 4
    empty = hc.prune(needy(), ["L1"])
    assert np.isnan(learn(empty, tokenizer, max_steps=2)["gate"].sel(layer=1)).all()


def test_progress_is_told(tokenizer: Any) -> None:
    told: list[Any] = []
    learn(needy(), tokenizer, strengths=(0.0, 0.1), max_steps=2, progress=lambda *both: told.append(both))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(
    ("options", "kind", "expected"),
    [
        ({"strengths": ()}, InvalidOption, "price"),
        ({"strengths": (0.1, -0.1)}, InvalidOption, "price"),
        ({"max_steps": 0}, InvalidOption, "got max_steps=0"),
        ({"task": None}, InvalidOption, "task="),
        ({"task": "masked-lm"}, ModelUnavailable, "cannot do masked-lm"),
        pytest.param({"per_device_train_batch_size": 0}, InvalidOption, "per_device_train_batch_size"),
        pytest.param({"strengths": (float("nan"),)}, InvalidOption, "price"),
    ],
)
def test_what_is_refused(tokenizer: Any, options: dict[str, Any], kind: type[Exception], expected: str) -> None:
    with pytest.raises(kind, match=expected):
        learn(needy(), tokenizer, **options)


def test_a_task_in_other_words(tokenizer: Any) -> None:
    named = parts.texts(8).rename(columns={"sentence": "said", "label": "meant"})
    found = learn(needy(), tokenizer, named, task=find_task("classification", text=("said",), label="meant"))
    assert found.attrs["task"] == "classification"


def test_gates_that_diverge_are_an_error(tokenizer: Any) -> None:
    model = planted.too_large_for_float16(planted.classifier(3))
    assert np.isfinite(learn(model, tokenizer, planted.texts(40))["loss"]).all()
    with pytest.raises(TrainingDiverged, match=r"the loss is not finite at step \d of learning gates, first for row"):
        learn(model.half(), tokenizer, planted.texts(40))
    steep = planted.classifier()
    with torch.no_grad():
        steep.classifier.weight.mul_(60_000)  # the loss is finite, what flows back is beyond float16
    with pytest.raises(TrainingDiverged, match="the gates are not finite after the price"):
        learn(steep.half(), tokenizer, planted.texts(3), max_steps=1, per_device_train_batch_size=1, seed=3)
