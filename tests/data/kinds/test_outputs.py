"""What is kept of a result."""

from __future__ import annotations

import numpy as np
import torch
from transformers.modeling_outputs import MaskedLMOutput

from headcount.data.kinds.outputs import NOT_FINITE, locate_not_finite, logits_of, mean_token_losses
from headcount.data.kinds.tokens import IGNORED
from tests import planted
from tests.closeness import assert_same
from tests.pruning import jobs


def test_an_example_without_labelled_tokens_has_no_loss() -> None:
    logits = torch.randn(2, 4, 6, requires_grad=True)
    labels = torch.tensor([[IGNORED] * 4, [IGNORED, 1, 2, IGNORED]])
    lost = mean_token_losses(logits_of(MaskedLMOutput(logits=logits)), labels)
    assert lost[0].item() == 0
    assert lost[1].item() > 0
    lost.sum().backward()
    assert logits.grad is not None
    assert float(logits.grad[0].abs().max()) == 0
    assert torch.isfinite(logits.grad).all()


def test_bert_with_both_its_heads() -> None:
    """BertForPreTraining calls its logits prediction_logits."""
    model = jobs.random_model("BertForPreTraining")
    ids = torch.tensor([[2, 5, 6, 7, 3], [2, 8, 5, 6, 3]])
    labels = torch.full_like(ids, IGNORED)
    labels[:, 2] = ids[:, 2]
    assert ids.max() < len(planted.WORDS)
    with torch.no_grad():
        result = model(input_ids=ids)
    expected = torch.nn.functional.cross_entropy(result.prediction_logits[:, 2], labels[:, 2], reduction="none")
    assert_same(mean_token_losses(logits_of(result), labels), expected)


def test_the_first_entry_that_is_not_finite() -> None:
    logits = np.zeros((2, 3, 2))
    assert locate_not_finite({"logits": logits}, 2) is None
    logits[1, 2, 0] = np.inf
    assert locate_not_finite({"logits": logits}, 2) == (1, 2)
    assert locate_not_finite({"predictions": np.array([[1, -1], [NOT_FINITE, 0]])}) == (1,)
    assert locate_not_finite({"texts": np.array(["nan"], dtype=object)}) is None
