"""The loss of each token after those before it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch
from transformers.modeling_outputs import CausalLMOutput

from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.kinds.causal_lm import CausalLM
from headcount.data.kinds.tokens import IGNORED
from headcount.data.tasks import find_task
from tests import planted


def test_the_first_token_is_not_predicted() -> None:
    labels = torch.tensor([[1, IGNORED, 3, 2], [IGNORED, IGNORED, 0, 6]])
    kept = CausalLM().reduce(CausalLMOutput(logits=torch.randn(2, 4, 7)), labels, {})
    assert kept["tokens"].tolist() == [2, 2]


def test_the_text_is_its_own_label(tmp_path: Path) -> None:
    examples = read_examples(pd.DataFrame({"text": ["it is good"]}), find_task("causal-lm"), None)
    assert examples.labels is None
    row = encode(examples, planted.tokenizer(tmp_path), 64).rows[0]
    assert row["labels"] == row["input_ids"]
