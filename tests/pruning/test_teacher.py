"""Does a cut model that learns from the whole one come nearer to it, on texts without labels and for every task?"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import headcount as hc
from headcount.data.batches import collate
from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.kinds.tokens import IGNORED
from headcount.data.tasks import find_task
from headcount.errors import HeadcountError, InvalidOption, ModelUnavailable, UnsuitableModel
from headcount.pruning.recover import recover
from headcount.pruning.teacher import Teacher
from tests import planted
from tests.closeness import assert_same
from tests.pruning import jobs

SST2 = find_task("sst2")
GONE = ["L0H1", "L1H0-2", "L0U0-19"]
TEXTS, OTHERS = planted.texts(60).drop(columns="label"), planted.texts(40, seed=9)
QUICK: dict[str, Any] = {"learning_rate": 1e-3, "per_device_train_batch_size": 16}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def pruned() -> Any:
    return hc.prune(jobs.random_model(), GONE)


def results(model: Any, tokenizer: Any, table: pd.DataFrame = OTHERS) -> Any:
    batch = tokenizer(list(table["sentence"]), return_tensors="pt", padding=True)
    with torch.no_grad():
        return model(**batch, output_hidden_states=True), batch["attention_mask"].bool()


def divergence(model: Any, whole: Any, tokenizer: Any) -> float:
    """KL(whole || model) of the classes of other texts."""
    ours, theirs = (results(each, tokenizer)[0].logits.log_softmax(-1) for each in (model, whole))
    return float((theirs.exp() * (theirs - ours)).sum(-1).mean())


def states_error(model: Any, whole: Any, tokenizer: Any) -> float:
    (ours, mask), (theirs, _) = results(model, tokenizer), results(whole, tokenizer)
    pairs = zip(ours.hidden_states, theirs.hidden_states, strict=True)
    return sum(float((own[mask] - other[mask]).pow(2).mean()) for own, other in pairs)


def test_the_student_comes_nearer_to_its_teacher(tokenizer: Any) -> None:
    whole, model = jobs.random_model(), pruned()
    before = {name: tensor.clone() for name, tensor in whole.state_dict().items()}
    first = divergence(model, whole, tokenizer)
    assert recover(model, tokenizer, TEXTS, task=SST2, teacher=whole, max_steps=60, **QUICK) is model
    assert divergence(model, whole, tokenizer) < 0.5 * first
    assert not model.training
    assert not whole.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in whole.state_dict().items()), "the teacher stays"
    assert all(parameter.grad is None for parameter in whole.parameters())


def test_hidden_states_come_nearer_too(tokenizer: Any) -> None:
    whole = jobs.random_model()
    first = states_error(pruned(), whole, tokenizer)
    options: dict[str, Any] = {"task": SST2, "teacher": whole, "max_steps": 60, **QUICK}
    logits_alone = recover(pruned(), tokenizer, TEXTS, **options)
    both = recover(pruned(), tokenizer, TEXTS, hidden=True, **options)
    assert states_error(both, whole, tokenizer) < 0.8 * first
    assert states_error(both, whole, tokenizer) < states_error(logits_alone, whole, tokenizer)


def test_labels_are_not_read_and_the_temperature_counts(tokenizer: Any) -> None:
    whole = jobs.random_model()

    def learned(table: pd.DataFrame, **more: Any) -> dict[str, Tensor]:
        found: dict[str, Tensor] = recover(
            pruned(), tokenizer, table, task=SST2, teacher=whole, max_steps=3, **QUICK, **more
        ).state_dict()
        return found

    plain, labelled, spelled, hotter = (
        learned(TEXTS),
        learned(planted.texts(60).assign(label="no such class")),
        learned(TEXTS, temperature=2),
        learned(TEXTS, temperature=5.0),
    )
    for other in (labelled, spelled):
        assert all(torch.equal(tensor, other[name]) for name, tensor in plain.items())
    assert any(not torch.equal(tensor, hotter[name]) for name, tensor in plain.items())


def test_a_teacher_and_adapters(tokenizer: Any) -> None:
    pytest.importorskip("peft")
    whole, model = jobs.random_model().float(), pruned().float()
    first = divergence(model, whole, tokenizer)
    recover(model, tokenizer, TEXTS, task=SST2, teacher=whole, max_steps=60, lora=True, learning_rate=1e-2)
    assert divergence(model, whole, tokenizer) < 0.6 * first
    assert not any("lora" in name for name, _ in model.named_modules())


@pytest.mark.parametrize("hidden", [False, True], ids=["logits", "hidden"])
@pytest.mark.parametrize("kind", jobs.KINDS)
def test_every_kind_of_task(kind: str, hidden: bool, tokenizer: Any) -> None:
    """The loss is the naive one at the first step, and falls."""
    whole, data, task = jobs.make(kind)
    stacks = hc.read_anatomy(whole).units.stacks
    names = [f"{stack}.L0U0-9" for stack in stacks] if len(stacks) > 1 else ["L0U0-9", "L1H1"]
    model = hc.prune(copy.deepcopy(whole), names)
    unlabelled = data.drop(columns=[name for name in ("label", "tags") if name in data])
    examples = read_examples(unlabelled, task, None, tokenizer=tokenizer, labelled=False)
    batch = collate(encode(examples, tokenizer, 64).rows, 0)
    teacher = Teacher(whole, task.kind, 2.0, hidden)
    with torch.no_grad():
        first = float(teacher.loss(model, batch))
    assert first > 1e-6
    if not hidden:
        assert first == pytest.approx(naive_distance(model, whole, task.kind, batch), rel=1e-5)
    recover(model, tokenizer, unlabelled, task=task, teacher=whole, hidden=hidden, max_steps=8, **QUICK)
    with torch.no_grad():
        assert float(teacher.loss(model, batch)) < first
        assert float(teacher.loss(whole, batch)) == pytest.approx(0, abs=1e-9)


def naive_distance(model: Any, whole: Any, kind: Any, batch: dict[str, Tensor]) -> float:
    """Row by row and token by token."""
    if kind.bare:
        return vector_distance(model, whole, batch)
    with torch.no_grad():
        ours, theirs = (each(**kind.inputs(each, batch)).logits.double() for each in (model, whole))
    if kind.name == "reranking":
        there = batch["labels"] >= 0
        errors = (ours - theirs).pow(2).view(there.shape) * there
        return float((errors.sum(1) / there.sum(1)).mean())
    if kind.name == "regression":
        return float((ours - theirs).pow(2).mean())

    def of_rows(own: Tensor, other: Tensor) -> Tensor:
        p, q = (other / 2).softmax(-1), (own / 2).softmax(-1)
        return 4 * (p * (p / q).log()).sum(-1)

    labels = batch["labels"]
    if labels.ndim == 1:
        return float(of_rows(ours, theirs).mean())
    shift = 1 if kind.name in ("causal-lm", "completion") else 0
    found = []
    for row in range(len(labels)):
        at = [token - shift for token in range(shift, labels.shape[1]) if labels[row, token] != IGNORED]
        found.append(of_rows(ours[row, at], theirs[row, at]).mean())
    return float(torch.stack(found).mean())


@torch.no_grad()
def vector_distance(model: Any, whole: Any, batch: dict[str, Tensor]) -> float:
    """The squared distance of the vectors of each text alone, which have length 1."""
    found: dict[int, list[float]] = {}
    for row, text in np.ndindex(batch["input_ids"].shape[:2]):
        length = int(batch["attention_mask"][row, text].sum())
        if not length:
            continue  # the row has fewer texts than others
        ids = batch["input_ids"][row, text, :length][None]
        ours, theirs = (each(ids).last_hidden_state[0].mean(0) for each in (model, whole))
        found.setdefault(row, []).append(float((ours / ours.norm() - theirs / theirs.norm()).pow(2).sum()))
    return float(np.mean([np.mean(distances) for distances in found.values()]))


def test_padding_does_not_count(tokenizer: Any) -> None:
    whole, model = jobs.random_model(), pruned()
    texts = list(OTHERS["sentence"][:2])
    short, longer = tokenizer(texts[0]), tokenizer(f"{texts[1]} {texts[1]}")
    rows = [{**dict(row), "labels": 0} for row in (short, longer)]
    teacher = Teacher(whole, SST2.kind, hidden=True)
    with torch.no_grad():
        wide = {
            key: torch.nn.functional.pad(value, (0, 3)) if value.ndim > 1 else value
            for key, value in collate(rows, 0).items()
        }
        assert_same(teacher.loss(model, wide), teacher.loss(model, collate(rows, 0)))


@pytest.mark.parametrize(
    ("change", "error", "expected"),
    [
        ({"temperature": 2.0}, InvalidOption, "got temperature=, which has no effect without teacher="),
        ({"hidden": True}, InvalidOption, "got hidden=, which has no effect without teacher="),
        (
            {"teacher": jobs.random_model(), "temperature": 0.0},
            InvalidOption,
            "got temperature=0.0; expected above 0",
        ),
        (
            {"teacher": jobs.random_model(id2label={0: "a", 1: "b", 2: "c"}, label2id={"a": 0, "b": 1, "c": 2})},
            UnsuitableModel,
            "teacher= has 3 classes and the model 2; expected the model before the cut",
        ),
        ({"teacher": jobs.random_model("BertForMaskedLM")}, ModelUnavailable, "BertForMaskedLM cannot do classif"),
    ],
)
def test_bad_input(change: dict[str, Any], error: type[HeadcountError], expected: str, tokenizer: Any) -> None:
    with pytest.raises(error) as caught:
        recover(pruned(), tokenizer, TEXTS, task=SST2, max_steps=1, **change)
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


def test_a_model_is_not_its_own_teacher(tokenizer: Any) -> None:
    model = pruned()
    with pytest.raises(InvalidOption, match="got the model itself as teacher=; expected the whole model"):
        recover(model, tokenizer, TEXTS, task=SST2, teacher=model, max_steps=1)


def test_a_regression_has_no_temperature(tokenizer: Any) -> None:
    whole, data, task = jobs.make("regression")
    model = hc.prune(copy.deepcopy(whole), GONE)
    with pytest.raises(InvalidOption, match="got temperature=, which has no effect here: the outputs of a regression"):
        recover(model, tokenizer, data, task=task, teacher=whole, temperature=2.0, max_steps=1)


def test_hidden_states_of_another_shape(tokenizer: Any) -> None:
    config = copy.deepcopy(jobs.random_model().config)
    config.update({"num_hidden_layers": 2})
    whole = type(jobs.random_model())(config).eval().double()
    recover(pruned(), tokenizer, TEXTS, task=SST2, teacher=whole, max_steps=1)
    with pytest.raises(UnsuitableModel, match="the hidden states of teacher= have another shape"):
        recover(pruned(), tokenizer, TEXTS, task=SST2, teacher=whole, hidden=True, max_steps=1)
