"""What every kind of task promises: the loss of each example is the model's own, and the same in any batch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headcount.data.batches import collate
from headcount.data.kinds.outputs import DTYPES
from headcount.data.kinds.tokens import IGNORED
from headcount.models.task_heads import has_head
from tests import planted
from tests.closeness import ROUNDED, assert_same
from tests.pruning import jobs


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def together(job: Any, rows: list[int]) -> torch.Tensor:
    batch = collate([job.encodings.rows[row] for row in rows], 0)
    return job.task.kind.losses(job.model(**job.task.kind.inputs(job.model, batch)), batch["labels"])


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_each_example_has_the_loss_that_the_model_itself_gives_it(kind: str, tokenizer: Any) -> None:
    job = jobs.prepared(kind, tokenizer)
    rows = list(range(jobs.COUNT))
    assert len(set(job.encodings.lengths)) > 3, "texts of unlike length, so that there is padding"
    with torch.no_grad():
        expected = torch.stack([jobs.own_loss(job, row) for row in rows])
        found = together(job, rows)
        parts = torch.cat([together(job, rows[start : start + 3]) for start in range(0, len(rows), 3)])
        turned = together(job, rows[::-1]).flip(0)
    assert found.shape == (jobs.COUNT,)
    for other in (found, parts, turned):
        assert_same(other.double(), expected.double(), ROUNDED)  # a causal model upcasts its loss to float32
    assert expected.std() > 0.01


@pytest.mark.parametrize("kind", [kind for kind in jobs.KINDS if kind not in ("similarity", "retrieval", "reranking")])
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
    inputs = job.task.kind.prompt(job.model, batch)
    with torch.no_grad():
        result = job.model(**inputs, labels=labels)
    assert_same(job.task.kind.losses(result, labels).mean(), result.loss.double(), ROUNDED)


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_what_is_kept_has_the_shapes_that_were_announced(kind: str, tokenizer: Any) -> None:
    job = jobs.prepared(kind, tokenizer)
    task, rows = job.task.kind, job.encodings.rows
    batch = collate(rows, 0)
    shapes = task.output_shapes(job.model, rows)
    with torch.no_grad():
        kept = task.reduce(job.model(**task.inputs(job.model, batch)), batch["labels"], shapes)
    assert {name: tuple(values.shape) for name, values in kept.items()} == {
        name: (jobs.COUNT, *shape) for name, shape in shapes.items()
    }
    assert set(kept) <= set(DTYPES)
    outputs = task.outputs({name: values.numpy() for name, values in kept.items()})
    assert len(task.predictions(outputs)) == jobs.COUNT


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_a_model_with_the_head_of_another_task_is_refused(kind: str, tokenizer: Any) -> None:
    model, _, task = jobs.make(kind)
    other = jobs.random_model("BertForNextSentencePrediction")
    assert has_head(model, task.kind.auto_class)
    assert not has_head(other, task.kind.auto_class)
