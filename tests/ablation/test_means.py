"""The mean over a reference does not depend on how it is cut into batches."""

from __future__ import annotations

import headcount as hc
from tests.closeness import assert_same
from tests.contracts.zoo import BY_NAME, exact, inputs


def test_batches_of_any_size_give_the_same_mean() -> None:
    for name in ("bert", "t5"):
        model, batch = exact(name), inputs(BY_NAME[name], "right")
        whole = hc.mean_outputs(model, batch)
        parts = hc.mean_outputs(model, [{k: v[row : row + 1] for k, v in batch.items()} for row in range(3)])
        for stack, means in whole.items():
            assert means.shape == (3, 4, 8)
            assert_same(means, parts[stack], BY_NAME[name].within)


def test_decoder_means_leave_ignored_labels_out() -> None:
    model, batch = exact("bart", head="AutoModelForSeq2SeqLM"), inputs(BY_NAME["bart"])
    labels = batch.pop("decoder_input_ids")
    short = hc.mean_outputs(model, batch | {"labels": labels[:, :4].contiguous()})
    labels[:, 4:] = -100
    assert_same(hc.mean_outputs(model, batch | {"labels": labels})["decoder"], short["decoder"])
