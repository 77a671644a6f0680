"""The mean over a reference does not depend on how it is cut into batches."""

from __future__ import annotations

import torch

import headcount as hc
from tests.contracts.zoo import BY_NAME, inputs, tiny


def test_batches_of_any_size_give_the_same_mean() -> None:
    for name in ("bert", "t5"):
        model, batch = tiny(name), inputs(BY_NAME[name], "right")
        whole = hc.mean_outputs(model, batch)
        parts = hc.mean_outputs(model, [{k: v[row : row + 1] for k, v in batch.items()} for row in range(3)])
        for stack, means in whole.items():
            assert means.shape == (3, 4, 8)
            torch.testing.assert_close(means, parts[stack], atol=1e-5, rtol=1e-4)


def test_decoder_means_leave_ignored_labels_out() -> None:
    model, batch = tiny("bart", head="AutoModelForSeq2SeqLM"), inputs(BY_NAME["bart"])
    labels = batch.pop("decoder_input_ids")
    short = hc.mean_outputs(model, batch | {"labels": labels[:, :4].contiguous()})
    labels[:, 4:] = -100
    torch.testing.assert_close(hc.mean_outputs(model, batch | {"labels": labels})["decoder"], short["decoder"])
