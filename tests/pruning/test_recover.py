"""Does a pruned model that is trained on get better, in place, and stay pruned?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.data.tasks import find_task
from headcount.errors import InvalidOption, ModelUnavailable, TrainingDiverged, UnsuitableModel
from headcount.pruning.recover import recover
from headcount.training.scores import score_table
from tests import planted
from tests.closeness import FLOAT32, assert_same
from tests.pruning import jobs

SST2 = find_task("sst2")
TEXTS = planted.texts(60)
GONE = ["L0H1", "L1", "L2H0"]
QUICK: dict[str, Any] = {"learning_rate": 3e-3, "per_device_train_batch_size": 16}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def pruned() -> Any:
    return hc.prune(jobs.random_model(), GONE)


def test_a_pruned_model_learns_its_task_again(tokenizer: Any) -> None:
    model = pruned()
    layout = hc.read_anatomy(model).layout
    before = score_table(model, tokenizer, TEXTS, SST2)["accuracy"]
    found = recover(model, tokenizer, TEXTS, task=SST2, max_steps=60, **QUICK)
    assert found is model
    assert not model.training
    after = score_table(model, tokenizer, TEXTS, SST2)["accuracy"]
    assert before < 0.7
    assert after > 0.9
    assert hc.read_anatomy(model).layout == layout, "no head comes back"


def test_a_single_step_is_one(tokenizer: Any) -> None:
    model = pruned()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    recover(model, tokenizer, TEXTS, task=SST2, max_steps=1, **QUICK)
    assert not all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_what_was_recovered_is_saved_and_loaded(tokenizer: Any, tmp_path: Path) -> None:
    model = recover(pruned(), tokenizer, TEXTS, task=SST2, max_steps=2, **QUICK)
    hc.save(model, tokenizer, tmp_path / "small")
    loaded, own = hc.load(tmp_path / "small")
    batch, saved = dict(own("it is good", return_tensors="pt")), model.state_dict()
    assert all(torch.equal(tensor, saved[key]) for key, tensor in loaded.state_dict().items()), "bit for bit"
    with torch.no_grad():
        assert_same(loaded(**batch).logits, model(**batch).logits, FLOAT32)


def test_the_same_seed_gives_the_same_weights(tokenizer: Any) -> None:
    found = []
    for seed in (0, 0, 1):
        torch.rand(2)  # whatever was drawn before
        found.append(recover(pruned(), tokenizer, TEXTS, task=SST2, max_steps=3, seed=seed, **QUICK).state_dict())
    first, again, other = found
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


def test_a_regression_and_tags(tokenizer: Any) -> None:
    for kind in ("regression", "tags"):
        model, data, task = jobs.make(kind)
        hc.prune(model, GONE)
        before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
        recover(model, tokenizer, data, task=task, max_steps=2, **QUICK)
        assert any(not torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())


def test_few_examples_and_nothing_left_on_the_disk(
    tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    recover(pruned(), tokenizer, TEXTS.head(3), task=SST2, max_steps=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("steps", [0, -1])
def test_at_least_one_step(tokenizer: Any, steps: int) -> None:
    with pytest.raises(InvalidOption, match=f"got max_steps={steps}; expected at least 1"):
        recover(pruned(), tokenizer, TEXTS, task=SST2, max_steps=steps)


def test_a_rate_must_be_above_zero(tokenizer: Any) -> None:
    with pytest.raises(InvalidOption, match="learning_rate"):
        recover(pruned(), tokenizer, TEXTS, task=SST2, max_steps=1, learning_rate=0)


def test_float16_is_too_coarse(tokenizer: Any) -> None:
    with pytest.raises(UnsuitableModel, match="the model is in float16, which is too coarse to train"):
        recover(pruned().half(), tokenizer, TEXTS, task=SST2, max_steps=1)


def test_a_model_that_cannot_do_the_task(tokenizer: Any) -> None:
    with pytest.raises(ModelUnavailable, match="cannot do classification"):
        recover(jobs.random_model("BertForMaskedLM"), tokenizer, TEXTS, task=SST2, max_steps=1)


@pytest.mark.parametrize("steps", [2, 4])
def test_a_recovery_that_diverges_is_an_error(tokenizer: Any, steps: int) -> None:
    """The loss of the last step was good, and the weights that it leaves are lost: they are looked at too."""
    with pytest.raises(TrainingDiverged, match="lower the learning rate, now 1e\\+300") as caught:
        recover(pruned().float(), tokenizer, TEXTS, task=SST2, max_steps=steps, learning_rate=1e300)
    assert tempfile.gettempdir() not in str(caught.value)
