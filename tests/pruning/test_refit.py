"""Does a refit on unlabelled texts bring a cut model nearer to the whole one, without looking at labels?"""

from __future__ import annotations

import copy
from typing import Any

import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.data.examples import read_examples
from headcount.data.tasks import find_task
from headcount.errors import DataProblem, HeadcountError, InvalidOption, NotFinite, UnsuitableModel
from headcount.pruning import refit as module
from headcount.pruning.refit import refit
from tests import planted
from tests.closeness import assert_same
from tests.pruning import jobs

GONE = ["L0H1", "L1H0-2", "L0U0-19", "L2U"]
SST2 = find_task("sst2")
TEXTS = planted.texts(60)
OTHERS = planted.texts(40, seed=9)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def logits(model: Any, tokenizer: Any, table: pd.DataFrame = OTHERS) -> torch.Tensor:
    batch = tokenizer(list(table["sentence"]), return_tensors="pt", padding=True)
    with torch.no_grad():
        found: torch.Tensor = model(**batch).logits
    return found


def pruned() -> Any:
    return hc.prune(jobs.random_model(), GONE)


def other_bert(**options: Any) -> Any:
    config = copy.deepcopy(jobs.random_model().config)
    config.update(options)
    return tf.BertForSequenceClassification(config).eval().double()


def test_a_cut_model_comes_nearer_on_other_texts(tokenizer: Any) -> None:
    whole = jobs.random_model()
    before = {name: tensor.clone() for name, tensor in whole.state_dict().items()}
    expected = logits(whole, tokenizer)

    def error(model: Any) -> float:
        return float((logits(model, tokenizer) - expected).pow(2).mean())

    model = pruned()
    layout, first, seen = hc.read_anatomy(model).layout, error(model), []
    assert refit(model, whole, tokenizer, TEXTS, task=SST2, progress=lambda *now: seen.append(now)) is model
    assert error(model) < 0.3 * first
    assert error(model) < error(refit(pruned(), whole, tokenizer, TEXTS, task=SST2, how="scales"))
    assert hc.read_anatomy(model).layout == layout
    assert all(torch.equal(tensor, before[name]) for name, tensor in whole.state_dict().items())
    assert seen[-1][0] == seen[-1][1] == len(seen)


def test_labels_are_neither_needed_nor_read(tokenizer: Any) -> None:
    whole = jobs.random_model()
    found = [
        refit(pruned(), whole, tokenizer, table, task=SST2).state_dict()
        for table in (TEXTS, TEXTS.drop(columns="label"), TEXTS.assign(label="no such class"))
    ]
    for other in found[1:]:
        assert all(torch.equal(tensor, other[name]) for name, tensor in found[0].items())


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_every_kind_of_task(kind: str, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_TEXTS", 5)
    whole, data, task = jobs.make(kind)
    stacks = hc.read_anatomy(whole).units.stacks
    names = [f"{stack}.L0U0-9" for stack in stacks] if len(stacks) > 1 else ["L0U0-9", "L1H1"]
    model = hc.prune(copy.deepcopy(whole), names)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    without = data.drop(columns=[name for name in ("label", "tags") if name in data])
    refit(model, whole, tokenizer, without, task=task)
    changed = [name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])]
    assert changed
    assert all("weight" in name or "bias" in name for name in changed)


def test_stand_ins_are_never_the_labels_of_the_table(tokenizer: Any) -> None:
    examples = read_examples(TEXTS.assign(label=1), SST2, None, tokenizer=tokenizer, labelled=False)
    assert examples.labels == [0] * 60
    tags = pd.DataFrame({"tokens": [["it", "is"], ["good"]]})
    assert read_examples(tags, find_task("ner"), None, labelled=False).labels == [[0, 0], [0]]


def test_little_memory_gives_the_same(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = jobs.random_model()
    at_once = refit(pruned(), whole, tokenizer, TEXTS, task=SST2).state_dict()
    monkeypatch.setattr(module, "MOST_BYTES", 1)
    seen: list[Any] = []
    one_by_one = refit(pruned(), whole, tokenizer, TEXTS, task=SST2, progress=lambda *now: seen.append(now))
    assert len(seen) % 4 == 0
    for name, tensor in one_by_one.state_dict().items():
        assert_same(tensor, at_once[name], what=name)


def test_a_sample_of_the_texts(tokenizer: Any) -> None:
    whole = jobs.random_model()
    few, again, other = (
        refit(pruned(), whole, tokenizer, TEXTS, task=SST2, limit=30, seed=seed).state_dict() for seed in (0, 0, 1)
    )
    name = "bert.encoder.layer.0.output.dense.weight"
    assert torch.equal(few[name], again[name])
    assert not torch.equal(few[name], other[name])


@pytest.mark.parametrize(
    ("change", "error", "expected"),
    [
        ({"data": TEXTS.head(19)}, DataProblem, "got 19 texts for a refit; expected at least 20, better 1,000"),
        ({"limit": 5}, DataProblem, "got 5 texts for a refit; expected at least 20, better 1,000"),
        ({"how": "bias"}, InvalidOption, "got how='bias'; expected one of weights, scales"),
        ({"ridge": -1e-3}, InvalidOption, "got ridge=-0.001; expected at least 0"),
        ({"ridge": float("inf")}, InvalidOption, "got ridge=inf; expected a finite number, at least 0"),
        ({"limit": 0}, InvalidOption, "got limit=0; expected at least 1"),
        (
            {"model": jobs.random_model()},
            UnsuitableModel,
            "the model has all heads and units of whole=, so that there is nothing to refit",
        ),
        (
            {"whole": hc.prune(jobs.random_model(), ["L0H2"])},
            UnsuitableModel,
            "L0 of the model is no part of that of whole=; expected the model before the cut",
        ),
        (
            {"whole": other_bert(num_hidden_layers=2)},
            UnsuitableModel,
            "the model has other layers than whole=; expected the model before the cut",
        ),
        (
            {"whole": other_bert(hidden_size=48)},
            UnsuitableModel,
            "L0 of the model is no part of that of whole=; expected the model before the cut",
        ),
        ({"data": pd.DataFrame({"words": ["a"] * 30})}, DataProblem, "no column sentence for sst2"),
    ],
)
def test_bad_input(change: dict[str, Any], error: type[HeadcountError], expected: str, tokenizer: Any) -> None:
    given: dict[str, Any] = {"model": pruned(), "whole": jobs.random_model(), "data": TEXTS, "task": SST2} | change
    with pytest.raises(error) as caught:
        refit(given.pop("model"), given.pop("whole"), tokenizer, given.pop("data"), **given)
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


def test_weights_that_are_not_finite(tokenizer: Any) -> None:
    whole = jobs.random_model()
    with torch.no_grad():
        whole.bert.encoder.layer[0].output.dense.weight[0, 0] = float("nan")
    with pytest.raises(NotFinite, match="NaN or infinite"):
        refit(pruned(), whole, tokenizer, TEXTS, task=SST2)


def test_inside_ablated(tokenizer: Any) -> None:
    whole = jobs.random_model()
    with hc.ablated(whole, "L0H0"), pytest.raises(InvalidOption, match="a refit is of the models themselves"):
        refit(pruned(), whole, tokenizer, TEXTS, task=SST2)
