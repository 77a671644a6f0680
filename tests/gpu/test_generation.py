"""Generation on the device inside a context, with caches, equals plain passes over the whole text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from transformers import CompileConfig

import headcount as hc
from tests.contracts.zoo import BY_NAME, VOCABULARY, run
from tests.gpu.device import DEVICE, GPU, ON_GPU, batch_for, on_device
from tests.trace.test_attention import greedy

pytestmark = GPU

HEADS = ["L0H1", "L2"]
HOW = pytest.mark.parametrize("how", ["zero", "uniform"])


def prompt() -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (2, 5), generator=torch.Generator().manual_seed(3)).to(DEVICE)


def generate(model: Any, **options: Any) -> torch.Tensor:
    ids = prompt()
    with torch.no_grad():
        made: torch.Tensor = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=6,
            min_new_tokens=6,
            do_sample=False,
            pad_token_id=0,
            eos_token_id=None,
            **options,
        )
    return made


def step_by_step(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return greedy(model, prompt(), 6)


@pytest.fixture
def compiler() -> Iterator[dict[str, Any]]:
    """Options with which `generate` compiles: none on a GPU; on a CPU it must be told to, and to use no C compiler."""
    options: dict[str, Any] = {"cache_implementation": "static"}
    if not ON_GPU:
        options["compile_config"] = CompileConfig(backend="eager", mode=None)
        options["compile_config"]._compile_all_devices = True
    torch._dynamo.reset()
    yield options
    torch._dynamo.reset()


@HOW
@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral"])
def test_a_dynamic_cache(name: str, how: str) -> None:
    model = on_device(name, head="AutoModelForCausalLM")
    plain = generate(model)
    with hc.ablated(model, HEADS, how=how):
        expected = step_by_step(model)
        assert torch.equal(generate(model), expected)
    assert not torch.equal(expected, plain), "the heads made no difference"
    assert torch.equal(generate(model), plain)


@HOW
def test_a_static_cache(how: str) -> None:
    model = on_device("llama", head="AutoModelForCausalLM")
    with hc.ablated(model, HEADS, how=how):
        expected = step_by_step(model)
        assert torch.equal(generate(model, cache_implementation="static", disable_compile=True), expected)


@HOW
def test_an_encoder_decoder(how: str) -> None:
    model = on_device("t5", head="AutoModelForSeq2SeqLM")
    plain = generate(model, num_beams=1)
    with hc.ablated(model, ["encoder.L0H1", "decoder.L1H2", "cross.L2"], how=how):
        made = generate(model, num_beams=1)
        decoded, ids = made[:, :1], prompt()
        for _ in range(6):
            with torch.no_grad():
                logits = model(input_ids=ids, decoder_input_ids=decoded, use_cache=False).logits[:, -1]
            decoded = torch.cat([decoded, logits.argmax(-1, keepdim=True)], 1)
    assert torch.equal(made, decoded)
    assert not torch.equal(made, plain), "the heads made no difference"


@HOW
def test_a_static_cache_compiled_before_the_context(how: str, compiler: dict[str, Any]) -> None:
    model = on_device("llama", head="AutoModelForCausalLM")
    plain = generate(model, **compiler)
    assert torch.equal(plain, step_by_step(model))
    with hc.ablated(model, HEADS, how=how):
        expected = step_by_step(model)
        assert torch.equal(generate(model, **compiler), expected)
    assert not torch.equal(expected, plain), "the heads made no difference"
    assert torch.equal(generate(model, **compiler), plain)


@HOW
@pytest.mark.parametrize("way", ["torch.compile", "compile"])
def test_a_compiled_model(way: str, how: str, compiler: dict[str, Any]) -> None:
    """On a GPU the compiler is inductor; the pass inside the context runs uncompiled, afterwards as before."""
    options = {} if ON_GPU else {"backend": "eager"}
    model, batch = on_device("bert"), batch_for(BY_NAME["bert"], "right")
    with hc.ablated(model, HEADS, how=how):
        expected = run(model, batch)
    compiled = torch.compile(model, **options) if way == "torch.compile" else model
    if compiled is model:
        model.compile(**options)
    before = run(compiled, batch)
    with hc.ablated(compiled, HEADS, how=how):
        assert torch.equal(run(compiled, batch), expected)
    assert torch.equal(run(compiled, batch), before)
