"""Is a budget reached in stages, each a cut of the one before, by models that the whole one teaches?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.budgets import stages as module
from headcount.budgets.budget import Budget
from headcount.budgets.options import PartOptions
from headcount.budgets.stages import Staged, prune_in_stages
from headcount.choosing.halves import read_halves
from headcount.data.kinds.metrics import ACCURACY
from headcount.data.tasks import find_task
from headcount.errors import InvalidOption
from headcount.pruning.held_out import HeldOut
from tests.budgets import small

SST2 = find_task("sst2")
RECOVERY: dict[str, Any] = {"max_steps": 2, "learning_rate": 1e-4, "per_device_train_batch_size": 8}


@pytest.fixture(scope="module")
def whole() -> Any:
    return small.classifier()


@pytest.fixture(scope="module")
def data(whole: Any, tokenizer: Any) -> Any:
    return small.own_answers(whole, tokenizer)


def staged(whole: Any, tokenizer: Any, data: Any, budget: Budget, what: str = "both", **options: Any) -> Staged:
    asked = PartOptions(what, budget, batch=1, length=small.LENGTH, **options.pop("asked", {}))
    return prune_in_stages(whole, tokenizer, data, SST2, asked, RECOVERY, **{"stages": 2} | options)


@pytest.mark.parametrize("given", [{"operations": "50%"}, {"weights": "60%"}])
def test_the_share_is_reached(whole: Any, tokenizer: Any, data: Any, given: dict[str, str]) -> None:
    before = {key: tensor.clone() for key, tensor in whole.state_dict().items()}
    budget, seen = Budget.parse(**given), []
    found = staged(whole, tokenizer, data, budget, progress=lambda *said: seen.append(said[2]))
    assert budget.left is not None
    assert len(found.stages) == 2
    first, last = found.stages
    assert last <= budget.left < first <= budget.left**0.5 + 1e-9, "every stage leaves the same share of the one before"
    assert last > budget.left - 0.05
    assert found.numbers["operations"] == small.operations_left(found.model, whole)
    assert found.numbers["weights"] == small.weights_left(found.model, whole)
    assert found.stages[-1] == found.numbers[budget.currency]
    assert all(torch.equal(tensor, before[key]) for key, tensor in whole.state_dict().items()), "the teacher"
    assert {step.split(":")[0] for step in seen if step} == {"stage 1 of 2", "stage 2 of 2"}


def test_the_result_is_a_cut_of_the_whole_model(whole: Any, tokenizer: Any, data: Any, tmp_path: Path) -> None:
    found = staged(whole, tokenizer, data, Budget.parse(operations="50%"))
    assert small.gone(found.model, whole)
    cut = hc.prune(small.classifier(), small.gone(found.model, whole))
    assert {key: tensor.shape for key, tensor in cut.state_dict().items()} == {
        key: tensor.shape for key, tensor in found.model.state_dict().items()
    }
    assert not found.model.training
    hc.save(found.model, tokenizer, tmp_path / "small")
    loaded, own = hc.load(tmp_path / "small")
    batch = dict(own(list(data["sentence"][:6]), padding=True, return_tensors="pt"))
    with torch.no_grad():
        assert torch.equal(loaded(**batch).logits, found.model(**batch).logits)


def test_the_score_is_that_of_the_held_out_half(whole: Any, tokenizer: Any, data: Any) -> None:
    found = staged(whole, tokenizer, data, Budget.parse(operations="60%"))
    _, rest = read_halves(data, SST2, None, 0, tokenizer)
    held_out = HeldOut.read(whole, tokenizer, rest, SST2, ACCURACY)
    expected = held_out.compare(held_out.outputs(whole), held_out.outputs(found.model))
    assert found.scores == expected
    assert found.scores.whole[0] == 1


def test_held_out_examples_teach_nothing(whole: Any, tokenizer: Any, data: Any) -> None:
    """Other labels there, the same model."""
    _, rest = read_halves(data, SST2, None, 0, tokenizer)
    turned = data.copy()
    turned.loc[rest.index, "label"] = 1 - data.loc[rest.index, "label"]
    one, other = (staged(whole, tokenizer, each, Budget.parse(operations="60%")) for each in (data, turned))
    for key, tensor in one.model.state_dict().items():
        assert torch.equal(tensor, other.model.state_dict()[key])
    assert other.scores.whole[0] == 0


@pytest.mark.parametrize("what", ["heads", "units"])
def test_heads_or_units_alone(whole: Any, tokenizer: Any, data: Any, what: str) -> None:
    found = staged(whole, tokenizer, data, Budget.parse(weights="75%"), what, asked={"refit": "none"})
    old, new = hc.read_anatomy(whole), hc.read_anatomy(found.model)
    assert found.numbers["weights"] <= 0.75
    assert (new.layout.count == old.layout.count) == (what == "units")
    assert (new.units.count == old.units.count) == (what == "heads")


def test_interrupted_and_resumed(
    whole: Any, tokenizer: Any, data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception in the second recovery; the same call with the same state ends as one at once."""
    budget, plain, calls = Budget.parse(operations="60%"), module.recover, []
    places = {"study": tmp_path / "study", "state": tmp_path / "state"}

    def recover(*args: Any, **options: Any) -> Any:
        calls.append(options["out"])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(module, "recover", recover)
        with pytest.raises(KeyboardInterrupt):
            staged(whole, tokenizer, data, budget, **places)
    assert calls == [tmp_path / "state" / "stage-1", tmp_path / "state" / "stage-2"]
    told: list[tuple[Any, ...]] = []
    resumed = staged(whole, tokenizer, data, budget, **places, progress=lambda *said: told.append(said))
    scored = [(done, total) for done, total, step, *_ in told if step and "scores" in step]
    assert all(done == total for done, total in scored), "the scores of both stages were there"
    at_once = staged(whole, tokenizer, data, budget)
    assert resumed.stages == at_once.stages
    for key, tensor in at_once.model.state_dict().items():
        assert torch.equal(tensor, resumed.model.state_dict()[key])


def test_what_is_refused(whole: Any, tokenizer: Any, data: Any) -> None:
    with pytest.raises(InvalidOption, match="stages= need a budget that can be reached: operations=50%"):
        staged(whole, tokenizer, data, Budget.parse(tolerance=1))
    with pytest.raises(InvalidOption, match="stages=0; expected at least 1"):
        staged(whole, tokenizer, data, Budget.parse(operations="50%"), stages=0)
    with pytest.raises(InvalidOption, match="as few heads as can stay"):
        staged(whole, tokenizer, data, Budget.parse(operations="20%"), "heads", stages=1)
