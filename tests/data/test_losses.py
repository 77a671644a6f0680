"""Is the loss of each example the model's own, and the same in any batch?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

from headcount.ablation.runner import forward_inputs
from headcount.data.batches import collate
from headcount.data.encode import IGNORED
from headcount.data.losses import example_losses
from tests import planted
from tests.closeness import ROUNDED, assert_same
from tests.pruning import jobs


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def together(job: Any, rows: list[int]) -> torch.Tensor:
    batch = collate([job.encodings.rows[row] for row in rows], 0)
    inputs = forward_inputs(job.model, batch)
    if job.task.kind == "translation":
        inputs["decoder_input_ids"] = job.model.prepare_decoder_input_ids_from_labels(labels=batch["labels"])
    return example_losses(job.task.kind, job.model(**inputs), batch["labels"])


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_each_example_has_the_loss_that_the_model_itself_gives_it(kind: str, tokenizer: Any) -> None:
    job = jobs.prepared(kind, tokenizer)
    rows = list(range(jobs.COUNT))
    assert len(set(job.encodings.lengths)) > 3, "texts of unlike length, so that there is padding"
    with torch.no_grad():
        expected = torch.stack([job.model(**jobs.alone(job, row)).loss for row in rows])
        found = together(job, rows)
        parts = torch.cat([together(job, rows[start : start + 3]) for start in range(0, len(rows), 3)])
        turned = together(job, rows[::-1]).flip(0)
    assert found.shape == (jobs.COUNT,)
    for other in (found, parts, turned):
        assert_same(other.double(), expected.double(), ROUNDED)  # a causal model upcasts its loss to float32
    assert expected.std() > 0.01


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_the_mean_of_a_batch_of_equal_sizes_is_the_models_own_loss(kind: str, tokenizer: Any) -> None:
    """Of equal sizes: every example has as many labelled tokens, or one label."""
    job = jobs.prepared(kind, tokenizer)
    by_size: dict[int, list[Any]] = {}
    for row in job.encodings.rows:
        given = row["labels"] if isinstance(row["labels"], list) else [row["labels"]]
        by_size.setdefault(sum(label != IGNORED for label in given), []).append(row)
    few = max(by_size.values(), key=len)
    assert len(few) > 1
    batch = collate(few, 0)
    labels = batch["labels"].float() if kind == "regression" else batch["labels"]
    inputs = forward_inputs(job.model, batch)
    with torch.no_grad():
        result = job.model(**inputs, labels=labels)
    assert_same(example_losses(job.task.kind, result, labels).mean(), result.loss.double(), ROUNDED)


def test_a_loop_over_tokens() -> None:
    """Language models: the mean over the labelled tokens of the example, not of the batch."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 5, 7, generator=generator, dtype=torch.float64)
    labels = torch.randint(7, (3, 5), generator=generator)
    labels[0, 2:], labels[1, 0] = IGNORED, IGNORED
    result = tf.modeling_outputs.CausalLMOutput(logits=logits)
    for kind, moved in (("masked-lm", 0), ("translation", 0), ("token-classification", 0), ("causal-lm", 1)):
        expected = []
        for row in range(3):
            lost = [
                -float(logits[row, place - moved].log_softmax(-1)[labels[row, place]])
                for place in range(moved, 5)
                if labels[row, place] != IGNORED
            ]
            expected.append(sum(lost) / len(lost))
        assert_same(example_losses(kind, result, labels), expected)


def test_an_example_without_labelled_tokens_has_no_loss() -> None:
    logits = torch.randn(2, 4, 6, requires_grad=True)
    labels = torch.tensor([[IGNORED] * 4, [IGNORED, 1, 2, IGNORED]])
    lost = example_losses("masked-lm", tf.modeling_outputs.MaskedLMOutput(logits=logits), labels)
    assert lost[0].item() == 0
    assert lost[1].item() > 0
    lost.sum().backward()
    assert float(logits.grad[0].abs().max()) == 0
    assert torch.isfinite(logits.grad).all()


def test_a_regression_of_one_example_and_of_many() -> None:
    for count in (1, 4):
        logits, labels = torch.randn(count, 1), torch.linspace(0, 5, count, dtype=torch.float64)
        found = example_losses("regression", tf.modeling_outputs.SequenceClassifierOutput(logits=logits), labels)
        assert found.shape == (count,)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, (logits[:, 0] - labels.float()) ** 2)


def test_bert_with_both_its_heads(tokenizer: Any) -> None:
    """BertForPreTraining calls its logits prediction_logits."""
    model = jobs.random_model("BertForPreTraining")
    batch = dict(tokenizer(["it is good", "so bad a"], return_tensors="pt"))
    labels = torch.full_like(batch["input_ids"], IGNORED)
    labels[:, 2] = batch["input_ids"][:, 2]
    with torch.no_grad():
        result = model(**batch)
    expected = torch.nn.functional.cross_entropy(result.prediction_logits[:, 2], labels[:, 2], reduction="none")
    assert_same(example_losses("masked-lm", result, labels), expected)


def test_float64_stays() -> None:
    result = tf.modeling_outputs.SequenceClassifierOutput(logits=torch.tensor([[1.0, 0.0]], dtype=torch.float64))
    found = example_losses("classification", result, torch.tensor([1]))
    assert found.dtype == torch.float64
    assert_same(found, [np.log(1 + np.e)])


def test_half_precision_is_computed_in_float32() -> None:
    logits = torch.tensor([[30.0, 0.0], [0.0, 30.0]], dtype=torch.bfloat16)
    result = tf.modeling_outputs.SequenceClassifierOutput(logits=logits)
    found = example_losses("classification", result, torch.tensor([1, 1]))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, torch.tensor([30.0, 0.0]), atol=1e-5, rtol=1e-5)
