"""The means over groups of prompts are those of a loop over the prompts, whatever the batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headcount.ablation import prompt_means as module
from headcount.ablation.hows import FunctionVector
from headcount.ablation.job import prepare_job
from headcount.core.heads import Head
from tests.choosing import pairs, planted_vectors
from tests.closeness import assert_same


@pytest.mark.parametrize("tokens", [1, 4096])
def test_equal_to_a_loop_over_prompts(tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOKENS", tokens)
    model, tokenizer = planted_vectors.decoder()
    table = planted_vectors.prompts(6)
    table["prompt"] = [f"{'a b ' * number}{prompt}" for number, prompt in enumerate(table["prompt"])]
    job = prepare_job(model, tokenizer, table, "completion", FunctionVector(), "log_probability", None, 0, None)
    groups = np.array([0, 2, 0, 1, 2, 0])
    found = module.prompt_means(job, groups, 3, 0)
    outputs = [pairs.outputs(job, row) for row in job.encodings.rows]
    for group in range(3):
        for head in range(4):
            # The answer is the last token of a text, and is predicted one before it.
            expected = [outputs[row][Head("decoder", 1, head)][-2] for row in np.flatnonzero(groups == group)]
            assert_same(found["decoder", 1][group, head], torch.stack(expected).mean(0))
