"""The loss of tokens in a text."""

from __future__ import annotations

import numpy as np
import torch
from transformers.modeling_outputs import CausalLMOutput

from headcount.data.kinds.catalogue import KINDS
from headcount.data.kinds.language import Language
from headcount.data.kinds.tokens import IGNORED
from tests.closeness import assert_same


def test_a_loop_over_tokens() -> None:
    """The mean over the labelled tokens of the example, not of the batch; tags of words are tokens too."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 5, 7, generator=generator, dtype=torch.float64)
    labels = torch.randint(7, (3, 5), generator=generator)
    labels[0, 2:], labels[1, 0] = IGNORED, IGNORED
    result = CausalLMOutput(logits=logits)
    for kind, moved in (("masked-lm", 0), ("translation", 0), ("token-classification", 0), ("causal-lm", 1)):
        expected = []
        for row in range(3):
            lost = [
                -float(logits[row, index - moved].log_softmax(-1)[labels[row, index]])
                for index in range(moved, 5)
                if labels[row, index] != IGNORED
            ]
            expected.append(sum(lost) / len(lost))
        assert_same(KINDS[kind].losses(result, labels), expected)


def test_sums_over_labelled_tokens_are_kept() -> None:
    logits, labels = torch.randn(2, 4, 7), torch.tensor([[1, IGNORED, 3, 2], [IGNORED, IGNORED, 0, 6]])
    kept = Language().reduce(CausalLMOutput(logits=logits), labels, {})
    assert kept["tokens"].tolist() == [3, 2]
    expected = -logits.log_softmax(-1)[1, 2, 0] - logits.log_softmax(-1)[1, 3, 6]
    torch.testing.assert_close(kept["loss"][1].float(), expected)


def test_a_metric_of_ones_own_gets_the_mean_losses_or_the_texts() -> None:
    outputs = {"loss": np.array([2.0, 4.0]), "tokens": np.array([1.0, 4.0])}
    assert Language().predictions(outputs).tolist() == [2, 1]
    assert Language().predictions(Language().outputs({"texts": np.array(["a", "b"], dtype=object)})) == ["a", "b"]
