"""What is kept of a result."""

from __future__ import annotations

import numpy as np
import torch
from transformers.modeling_outputs import MaskedLMOutput

from headcount.data.outputs import reduce_result, trim_tags


def test_losses_are_sums_over_labelled_tokens() -> None:
    logits, labels = torch.randn(2, 4, 7), torch.tensor([[1, -100, 3, 2], [-100, -100, 0, 6]])
    found = reduce_result("masked-lm", MaskedLMOutput(logits=logits), labels, 0)
    assert found["tokens"].tolist() == [3, 2]
    expected = -logits.log_softmax(-1)[1, 2, 0] - logits.log_softmax(-1)[1, 3, 6]
    torch.testing.assert_close(found["loss"][1].float(), expected)
    shifted = reduce_result("causal-lm", MaskedLMOutput(logits=logits), labels, 0)
    assert shifted["tokens"].tolist() == [2, 2]


def test_tags_move_to_the_front() -> None:
    logits = torch.eye(5)[torch.tensor([[4, 1, 2, 3]])]
    found = reduce_result("token-classification", MaskedLMOutput(logits=logits), torch.tensor([[-100, 0, -100, 0]]), 3)
    assert found["predictions"].tolist() == [[1, 3, -1]]
    assert trim_tags(np.array([[1, 3, -1]])) == [[1, 3]]
