"""Do learned gates keep the heads that are needed, and does a study keep the gates?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.choosing.gate_path import START
from headcount.choosing.gates import SCHEMAS
from headcount.choosing.hard_concrete import open_probability, steady_gate
from headcount.core.schema import read_schema
from headcount.data.tasks import find_task
from headcount.errors import InvalidOption, ModelUnavailable, StudyProblem
from tests import planted
from tests.choosing.gates import NEEDED, learn, needy
from tests.measures.tiny import assert_untouched, first_output
from tests.pruning import jobs
from tests.pruning import planted as parts


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def test_a_price_closes_all_but_the_needed_head(tokenizer: Any) -> None:
    model = needy()
    found = learn(model, tokenizer, price=(0.05,), max_steps=150, per_device_train_batch_size=16)
    gate = found["gate"].sel(price=0.05, stack="encoder")
    assert float(gate[NEEDED]) > 0.8
    assert int(found["kept"][0]) == 1
    assert float(gate.sum()) == float(gate[NEEDED]), "all others are exactly zero"
    assert float(found["loss"][0]) < 0.1
    assert float(found["open"].sel(price=0.05, stack="encoder")[NEEDED]) > 0.9
    gone = [f"L{layer}H{head}" for layer in range(2) for head in range(4) if (layer, head) != NEEDED]
    swept = hc.sweep(model, tokenizer, parts.texts(), task="sst2", how="zero", by=[",".join(gone)])
    assert float(swept["score"][0]) == 1


def test_too_high_a_price_closes_everything(tokenizer: Any) -> None:
    found = learn(needy(), tokenizer, price=(20.0,), max_steps=120, per_device_train_batch_size=4)
    assert int(found["kept"][0]) == 0
    assert float(found["loss"][0]) > 0.3


def test_for_nothing_all_heads_stay(tokenizer: Any) -> None:
    found = learn(needy(), tokenizer, price=(0.0,), max_steps=30)
    assert int(found["kept"][0]) == 8
    log_a = found["log_a"].sel(price=0, stack="encoder").values
    idle = np.ones((2, 4), dtype=bool)
    idle[NEEDED] = False
    assert (log_a[idle] == START).all(), "nothing pulls at a head that does nothing"
    assert log_a[NEEDED] > START


def test_the_parts_of_the_result_belong_together(tokenizer: Any) -> None:
    found = learn(needy(), tokenizer, price=(0.0, 0.05, 1.0), max_steps=20)
    assert found["log_a"].dims == ("price", "stack", "layer", "head")
    assert found["price"].values.tolist() == [0.0, 0.05, 1.0]
    log_a = torch.tensor(found["log_a"].values)
    np.testing.assert_allclose(found["gate"], steady_gate(log_a), atol=1e-6)
    np.testing.assert_allclose(found["open"], open_probability(log_a), atol=1e-6)
    assert found["kept"].values.tolist() == (found["gate"] > 0).sum(("stack", "layer", "head")).values.tolist()
    assert found.attrs["task"] == "sst2"


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
    found = learn(model, tokenizer, data, task=task, price=(0.0,), max_steps=25, train_weights=0.01)
    for key, tensor in model.state_dict().items():
        fixed = ".embeddings." in key or key.endswith("key.bias")  # a key's bias moves all scores of a query alike
        assert torch.equal(tensor, before[key]) == fixed or key.endswith("key.bias"), key
    frozen = learn(jobs.make("classification")[0], tokenizer, data, task=task, price=(0.0,), max_steps=25)
    assert float(found["loss"][0]) < float(frozen["loss"][0])


@pytest.mark.parametrize("named", [True, False])
def test_gates_for_some_stacks_alone(tokenizer: Any, named: bool) -> None:
    model, data, task = jobs.make("marian")
    found = learn(model, tokenizer, data, task="translation" if named else task, stack=["cross"], price=(1.0,))
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
    found = learn(model, tokenizer, max_steps=2).sel(stack="encoder").isel(price=0)
    missing = np.isnan(found["gate"].values)
    assert missing.tolist() == [[True, False, False, False], [False, True, True, True]]
    assert int(found["kept"]) == 4
    empty = hc.prune(needy(), ["L1"])
    assert np.isnan(learn(empty, tokenizer, max_steps=2)["gate"].sel(layer=1)).all()


@pytest.mark.parametrize(
    ("options", "kind", "expected"),
    [
        ({"price": ()}, InvalidOption, "price"),
        ({"price": (0.1, -0.1)}, InvalidOption, "price"),
        ({"max_steps": 0}, InvalidOption, "got max_steps=0"),
        ({"task": None}, InvalidOption, "task="),
        ({"task": "masked-lm"}, ModelUnavailable, "cannot do masked-lm"),
        pytest.param({"per_device_train_batch_size": 0}, InvalidOption, "per_device_train_batch_size"),
        pytest.param({"price": (float("nan"),)}, InvalidOption, "price"),
        ({"name": "again"}, InvalidOption, "without out="),
        ({"out": "study", "train_weights": 0.1}, InvalidOption, "got train_weights= and out="),
    ],
)
def test_what_is_refused(tokenizer: Any, options: dict[str, Any], kind: type[Exception], expected: str) -> None:
    with pytest.raises(kind, match=expected):
        learn(needy(), tokenizer, **options)


def test_a_task_in_other_words(tokenizer: Any) -> None:
    named = parts.texts(8).rename(columns={"sentence": "said", "label": "meant"})
    found = learn(needy(), tokenizer, named, task=find_task("classification", text=("said",), label="meant"))
    assert found.attrs["task"] == "classification"


def test_a_study_keeps_them(tokenizer: Any, tmp_path: Path) -> None:
    """With what each number means; the same call reads them, another one is refused."""
    model, steps = needy(), []
    found = learn(model, tokenizer, price=(0.0, 0.05), out=tmp_path / "study")
    again = learn(
        model, tokenizer, price=(0.0, 0.05), out=tmp_path / "study", progress=lambda *told: steps.append(told)
    )
    assert not steps, "nothing was trained"
    xr.testing.assert_equal(again, found)
    stored = hc.open_study(tmp_path / "study")["pruning/gates"]
    for name, schema in SCHEMAS.items():
        assert read_schema(stored[name]) == schema
        assert read_schema(found[name]) == schema
    with pytest.raises(StudyProblem, match="max_steps: 3 -> 4"):
        learn(model, tokenizer, price=(0.0, 0.05), max_steps=4, out=tmp_path / "study")


def test_heads_are_told_apart_at_the_price_that_leaves_half(tokenizer: Any) -> None:
    found = learn(needy(), tokenizer, price=(0.0, 0.05, 20.0), max_steps=60)
    assert found["kept"].values[0] == 8
    assert found["kept"].values[-1] == 0
    middle = int(np.abs(found["kept"].values - 4).argmin())
    np.testing.assert_array_equal(found["openness"], found["log_a"][middle])
    assert found["openness"].argmax(...)["head"] == NEEDED[1]
