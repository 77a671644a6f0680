from __future__ import annotations

import threading

import pytest
import torch

from headcount.models.example_inputs import example_inputs
from headcount.trace.anatomy import read_anatomy
from headcount.trace.final_scales import final_scales
from headcount.trace.unembedding_proof import prove_unembedding
from tests.contracts.zoo import tiny


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_with_them_states_become_logits(name: str) -> None:
    """What the formula gives at these scales is what the model gives."""
    model = tiny(name, head="AutoModelForCausalLM").double()
    unembedding = prove_unembedding(model, read_anatomy(model))
    batch = example_inputs(model)
    states: list[torch.Tensor] = []
    hook = unembedding.norm.module.register_forward_pre_hook(lambda _, args: states.append(args[0].detach()))
    with torch.no_grad():
        logits = model(**batch).logits
    hook.remove()
    found = states[0] @ unembedding.directions(torch.arange(logits.shape[-1])).T
    with final_scales(unembedding.norm) as scales, torch.no_grad():
        model(**batch)
    found /= scales[0][..., None]
    bias = getattr(unembedding.norm.module, "bias", None)
    expected = logits if bias is None else logits - unembedding.embedding.weight @ bias
    torch.testing.assert_close(found, expected - expected.mean(-1, keepdim=True), atol=1e-4, rtol=1e-4)


def test_passes_of_other_threads_do_not_count() -> None:
    model = tiny("llama", head="AutoModelForCausalLM")
    norm = prove_unembedding(model, read_anatomy(model)).norm
    batch = example_inputs(model)
    thread = threading.Thread(target=lambda: model(**batch))
    with final_scales(norm) as scales:
        thread.start()
        thread.join()
        assert not scales
        model(**batch)
        assert [one.shape for one in scales] == [batch["input_ids"].shape]
    assert not norm.module._forward_pre_hooks
