"""Are judgements read with their documents, and is what ranks nothing refused with its row?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from headcount.data.batches import collate
from headcount.data.examples import read_examples
from headcount.data.kinds.judged import filled
from headcount.data.tasks import find_task
from headcount.errors import DataProblem, InvalidOption
from tests import planted
from tests.pruning import jobs

TABLE = jobs.queries().head(4)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def read(table: pd.DataFrame, task: str = "retrieval") -> Any:
    return read_examples(table, find_task(task), None)


def test_judgements_below_zero_are_zero() -> None:
    lists = [[-2, *values[1:]] if number else values for number, values in enumerate(TABLE["relevance"])]
    assert read(TABLE.assign(relevance=lists)).labels[1][0] == 0
    assert read(TABLE).labels[1][0] == 2


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("relevance", [1.0], "row 1: got 1 judgements for 3 documents; expected one for each"),
        ("relevance", [0.0, 0.0, 0.0], "row 1: no document of the query is relevant"),
        ("relevance", 3.0, "row 1, column 'relevance': got 3.0; expected a list of numbers"),
        ("relevance", [1.0, "good", 0.0], "row 1: got the label 'good'; expected a finite number"),
        ("documents", "so good", "row 1, column 'documents': got 'so good'; expected a list of strings"),
        ("documents", ["a", 3, "b"], "row 1, column 'documents': got .*; expected a list of strings"),
    ],
)
def test_cells_that_cannot_be_read(column: str, cell: Any, message: str) -> None:
    cells = [cell if number == 1 else other for number, other in enumerate(TABLE[column])]
    with pytest.raises(DataProblem, match=message):
        read(TABLE.assign(**{column: pd.Series(cells, dtype=object)}))


def test_documents_that_are_all_judged_alike() -> None:
    alike = TABLE.assign(relevance=[[1.0] * len(documents) for documents in TABLE["documents"]])
    with pytest.raises(DataProblem, match="judged alike, so that every ranking of them is as good"):
        read(alike)


def test_one_column_is_refused() -> None:
    with pytest.raises(DataProblem, match="got 1 text column for retrieval; expected two, the query and its documents"):
        read_examples(TABLE, find_task("retrieval", text=["query"]), None)


@pytest.mark.parametrize("given", ["1", "many", "0", "-3"])
def test_numbers_of_candidates(given: str) -> None:
    with pytest.raises(InvalidOption, match=f"got candidates={given}; expected a number of documents for a query"):
        find_task(f"reranking,candidates={given}")
    assert find_task("retrieval,candidates=50").kind.candidates == 50


@pytest.mark.parametrize("name", ["retrieval", "reranking"])
def test_the_models_own_labels_are_one_document(name: str, tokenizer: Any) -> None:
    """Drawn from the softmax, among the documents that are there."""
    job = jobs.prepared(name, tokenizer)
    batch = collate(job.encodings.rows, 0)
    kind = job.task.kind
    with torch.no_grad():
        result = job.model(**kind.inputs(job.model, batch))
        shares = [
            (kind.scale * scores[: len(values)].double()).softmax(0)
            for scores, values in zip(kind.scores(result, batch["labels"]), job.examples.labels, strict=True)
        ]
    counts = [np.zeros(len(share)) for share in shares]
    draws = 400
    for seed in range(draws):
        generators = [np.random.default_rng([seed, row]) for row in range(len(shares))]
        drawn = kind.own_labels(result, batch["labels"], generators)
        for row, count in enumerate(counts):
            own = drawn[row, : len(count)].numpy()
            assert sorted(own)[-2:] == [0.0, 1.0]
            count += own
        width = kind.width(job.encodings.rows)
        assert bool(((drawn[:, :width] == -1) == (batch["labels"][:, :width] == -1)).all())
    for count, share in zip(counts, shares, strict=True):
        np.testing.assert_allclose(count / draws, share.numpy(), atol=4 * 0.5 / np.sqrt(draws))


def test_lists_are_filled_up() -> None:
    assert filled([1, 0], 4) == [1.0, 0.0, -1.0, -1.0]
