"""A model whose upper layers are offloaded to the disk gives what the whole model gives, in every verb."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.errors import CannotPrune, HeadcountError, InvalidOption, UnsuitableModel
from headcount.models.dispatched import is_offloaded
from headcount.models.fingerprint import device_label, model_fingerprint
from headcount.models.load import load_model
from headcount.models.random_weights import with_random_weights
from tests.closeness import assert_same
from tests.contracts.two_parts import dispatched, two_parts
from tests.contracts.zoo import BY_NAME, build, exact, inputs, run
from tests.measures.planted import WORDS
from tests.measures.tiny import assert_untouched, bare_tokenizer, first_output

NAMES = ("llama", "bert", "modernbert", "gpt2", "bart", "t5", "mpnet", "deberta-v2")
"""Grouped heads, tied embeddings, two sides, shared position biases, attention of its own."""
FAMILY = pytest.mark.parametrize("name", NAMES)
TEXTS = pd.DataFrame(
    {"text": [" ".join(WORDS[5 + (7 * row + 3 * at) % 40] for at in range(8 + row % 3)) for row in range(6)]}
)
Pair = tuple[Any, Any]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A small Llama for texts, whole and in two parts."""
    case = BY_NAME["llama"]
    config = tf.LlamaConfig(**case.options | {"vocab_size": len(WORDS), "tie_word_embeddings": True})
    whole = build(tf.LlamaForCausalLM, config, "sdpa", case.spread).double()
    return whole, dispatched(whole, tmp_path_factory.mktemp("llama"))


@FAMILY
def test_ablated_gated_and_observed_as_the_whole_model(name: str, tmp_path: Path) -> None:
    case, kernel = BY_NAME[name], BY_NAME[name].kernels[0]
    whole, batch = exact(name, kernel), inputs(BY_NAME[name], "right")
    parts = dispatched(whole, tmp_path)
    assert is_offloaded(parts)
    assert model_fingerprint(parts) == model_fingerprint(whole)
    plain, before = run(whole, batch), first_output(parts, batch)
    assert_same(run(parts, batch), plain, case.within)
    heads = [*case.spell("L0H1"), *case.spell("L2H0-1")]
    for how in ("zero", "uniform", "mean"):
        results = []
        for model in (whole, parts):
            reference = hc.mean_outputs(model, batch) if how == "mean" else None
            with hc.ablated(model, heads, how=how, reference=reference):
                results.append(run(model, batch))
        assert_same(results[1], results[0], case.within)
        assert (results[0] - plain).abs().max() > 1e-3, "the heads made no difference: the test would prove nothing"
    gates = {stack: torch.linspace(0, 2, 12).view(3, 4) for stack in case.stacks}
    results = []
    for model in (whole, parts):
        with hc.gated(model, gates):
            results.append(run(model, batch))
    assert_same(results[1], results[0], case.within)
    first, second = (
        hc.observe(model, batch, gradients=True, objective=lambda result: result[0][..., ::3].sum())
        for model in (whole, parts)
    )
    for kind in ("maps", "outputs", "output_gradients", "map_gradients"):
        for stack in case.stacks:
            expected = getattr(first, kind)[stack]
            assert_same(getattr(second, kind)[stack], expected, case.within)
    assert_untouched(parts, batch, before)


@pytest.mark.parametrize("how", ["zero", "uniform", "mean"])
def test_sweeps(pair: Pair, how: str, tmp_path: Path) -> None:
    reference = TEXTS if how == "mean" else None
    first, second = (
        hc.sweep(model, bare_tokenizer(), TEXTS, task="causal-lm", how=how, reference=reference, out=tmp_path / str(at))
        for at, model in enumerate(pair)
    )
    assert np.array_equal(first["loss"], second["loss"])
    assert float(abs(first["delta"]).max()) > 0
    assert first.attrs["identity"] == second.attrs["identity"]
    assert (first.attrs["device"], second.attrs["device"]) == ("cpu", "cpu (cpu, disk)")


def test_measures(pair: Pair) -> None:
    first, second = (hc.measure(model, bare_tokenizer(), TEXTS) for model in pair)
    assert {"copying", "direct_effect", "contribution", "gradients", "distances"} <= set(first)
    assert set(first) == set(second)
    for name in first:
        for variable, values in first[name].data_vars.items():
            if values.dtype.kind == "f":
                assert np.array_equal(values, second[name][variable], equal_nan=True), (name, variable)


def test_importance_leaves_the_weights_as_they_were(pair: Pair) -> None:
    asked = {name: parameter.requires_grad for name, parameter in pair[1].named_parameters()}
    first, second = (hc.importance(model, bare_tokenizer(), TEXTS, task="causal-lm") for model in pair)
    for variable in ("michel", "taylor", "norm"):
        assert np.array_equal(first[variable], second[variable])
    assert {name: parameter.requires_grad for name, parameter in pair[1].named_parameters()} == asked
    assert not any(parameter.is_inference() for parameter in pair[1].parameters())


def test_a_pruned_model_in_two_parts(tmp_path: Path) -> None:
    whole, batch = hc.prune(exact("llama"), ["L0H0", "L0H1", "L2"]), inputs(BY_NAME["llama"], "right")
    hc.save(whole, None, tmp_path / "pruned")
    parts = load_model(tmp_path / "pruned", device_map=two_parts(whole), dtype=whole.dtype)
    with hc.ablated(whole, "L1H3"), hc.ablated(parts, "L1H3"):
        assert torch.equal(run(parts, batch), run(whole, batch))


@pytest.mark.parametrize(
    ("purpose", "act", "error"),
    [
        ("remove heads", lambda model, path: hc.prune(model, "L0"), CannotPrune),
        ("save it", lambda model, path: hc.save(model, None, path), UnsuitableModel),
        ("export it", lambda model, path: hc.export(model, None, path, to="zeroed"), UnsuitableModel),
        ("measure its cost", lambda model, path: hc.cost({"a": model}), UnsuitableModel),
        ("train it", lambda model, path: hc.recover(model, None, TEXTS, task="causal-lm"), UnsuitableModel),
        (
            "learn gates",
            lambda model, path: hc.learn_gates(model, bare_tokenizer(), TEXTS, task="causal-lm"),
            UnsuitableModel,
        ),
        (
            "compare it with random weights, or leave the control out",
            lambda model, path: with_random_weights(model),
            UnsuitableModel,
        ),
    ],
)
def test_what_needs_the_whole_model(
    pair: Pair, purpose: str, act: Callable[[Any, Path], Any], error: type[HeadcountError], tmp_path: Path
) -> None:
    with pytest.raises(error) as caught:
        act(pair[1], tmp_path / "out")
    assert str(caught.value) == (
        "the parts of LlamaForCausalLM are dispatched to cpu, disk (device_map=); "
        f"load it whole, without device_map=, to {purpose}"
    )
    assert not (tmp_path / "out").exists()


def test_layers_are_not_compiled(pair: Pair) -> None:
    with pytest.raises(InvalidOption, match="compiled=, which has no effect here: .*device_map="):
        hc.sweep(pair[1], bare_tokenizer(), TEXTS, task="causal-lm", compute=hc.Compute(compiled=True))


def test_a_damaged_weight_on_the_disk_is_found(tmp_path: Path) -> None:
    model = exact("llama")
    with torch.no_grad():
        model.layers[2].mlp.up_proj.weight[0, 0] = float("nan")
    with pytest.raises(HeadcountError, match=r"1 of 1,280 values of layers.2.mlp.up_proj.weight are NaN"):
        dispatched(model, tmp_path)


def test_the_device_in_words(pair: Pair) -> None:
    assert [device_label(model) for model in pair] == ["cpu", "cpu (cpu, disk)"]
