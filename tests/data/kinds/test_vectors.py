"""Is a vector the mean over a row's span, whatever stands beside it in the batch?"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from headcount.data.kinds.retrieval import Retrieval
from headcount.data.kinds.similarity import Similarity
from headcount.data.kinds.vectors import pooled
from headcount.errors import ModelUnavailable
from tests.closeness import assert_same
from tests.pruning import jobs


def test_the_mean_over_a_span() -> None:
    states = torch.randn(3, 6, 4, dtype=torch.float64)
    spans = torch.tensor([[0, 6], [2, 3], [1, 4]])
    found = pooled(SimpleNamespace(last_hidden_state=states), spans)
    for row, (start, stop) in enumerate(spans.tolist()):
        mean = states[row, start:stop].mean(0)
        assert_same(found[row], mean / mean.norm(), 1e-12)


@pytest.mark.parametrize("kind", [Similarity(), Retrieval()])
def test_a_model_with_two_stacks_is_refused(kind: Similarity | Retrieval) -> None:
    with pytest.raises(ModelUnavailable, match=f"{kind.name} needs a model with one stack"):
        kind.check_model(jobs.random_model("BertModel"), ["encoder", "decoder", "cross"])
