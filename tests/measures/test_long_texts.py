"""Long texts: the numbers of all questions are those of whole maps, and no map is ever whole in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from headcount.data.marks import Facts, mark
from headcount.data.rarity import RAREST
from headcount.data.spans import COMPLETION, NEEDLE
from headcount.measures import distances
from headcount.measures.catalogue import MEASURES
from headcount.measures.contract import Setting
from headcount.measures.gradients import run_gradients
from headcount.measures.layers import run_measures
from headcount.measures.measure import measure
from headcount.models.task_heads import language_of
from headcount.trace import blocks
from headcount.trace.anatomy import read_anatomy
from headcount.trace.unembedding_proof import prove_unembedding
from tests.measures.planted import SENTENCES
from tests.measures.tiny import causal, masked, translator

SINGLE = pd.DataFrame({"text": [*SENTENCES[:4], " ".join(SENTENCES[:3])]})
PAIRS = pd.DataFrame({"sentence1": SENTENCES[:4], "sentence2": SENTENCES[1:5]})
BOTH = pd.DataFrame({"source": SENTENCES[:4], "target": SENTENCES[1:5]})
CASES = {"masked": (masked, SINGLE), "pairs": (masked, PAIRS), "causal": (causal, SINGLE), "both": (translator, BOTH)}


@pytest.mark.parametrize("name", CASES)
def test_in_blocks_the_numbers_are_those_of_whole_maps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, data = CASES[name]
    model, tokenizer = make()
    names = [one.name for one in MEASURES.values() if one.kind != "maps"]
    whole = measure(model, tokenizer, data)
    monkeypatch.setattr(blocks, "CPU_BLOCK", 1500)
    blocked = measure(model, tokenizer, data)
    assert set(whole.children) == set(blocked.children)
    compared = 0
    for measured in set(names) & set(whole.children):
        for variable, values in whole[measured].data_vars.items():
            if str(variable).startswith("values_"):
                found = blocked[measured][variable].values
                np.testing.assert_allclose(found, values.values, atol=1e-5, rtol=1e-4, err_msg=f"{measured} {variable}")
                compared += 1
    assert compared > 20


class Largest(TorchDispatchMode):
    """The number of entries of the largest tensor that an operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.entries, self.operation = 0, ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and tensor.untyped_storage().nbytes() // 4 > self.entries:
                self.entries, self.operation = tensor.untyped_storage().nbytes() // 4, str(func)
        return result


TOKENS = 640


def llama() -> tuple[Any, dict[str, torch.Tensor], Facts]:
    torch.manual_seed(0)
    config = tf.LlamaConfig(
        vocab_size=90,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=TOKENS,
        initializer_range=0.3,
    )
    ids = np.random.default_rng(0).integers(0, 90, TOKENS)
    classes = {"first": [0], "special": [], "punctuation": [5, 9], "other": list(range(10, TOKENS)), RAREST: [7]}
    classes |= {NEEDLE: list(range(50, 60)), COMPLETION: list(range(TOKENS - 4, TOKENS))}
    facts = Facts(TOKENS, [0] * TOKENS, ids.tolist(), classes, {}, ids.tolist())
    return tf.LlamaForCausalLM(config).eval(), {"input_ids": torch.from_numpy(ids)[None]}, facts


@pytest.mark.parametrize("block", [2**14, 2**40])
def test_no_map_of_a_long_text_is_whole(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even of one head; with enough memory, the maps of a layer are."""
    model, batch, facts = llama()
    anatomy, source = read_anatomy(model), mark([facts])
    setting = Setting(tuple(facts.classes), False, False, language_of(model), {"decoder": 2}, 4)
    asked = [one for one in MEASURES.values() if one.kind == "layers" and not one.lacking(setting)]
    assert len(asked) >= 12
    unembedding = prove_unembedding(model, anatomy)
    monkeypatch.setattr(blocks, "CPU_BLOCK", block)
    with Largest() as largest:
        run_measures(model, anatomy, batch, source, None, setting.classes, asked, unembedding)
    assert (largest.entries < TOKENS**2) == (block == 2**14), largest.operation


def test_the_gradients_of_a_long_text_are_taken_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch, facts = llama()
    model.config._attn_implementation = "sdpa"
    question, language = MEASURES["gradients"], language_of(model)
    assert language is not None
    inputs, source = {**batch, "labels": batch["input_ids"]}, mark([facts])
    whole = run_gradients(question, model, inputs, language, source, None)
    monkeypatch.setattr(blocks, "CPU_BLOCK", 2**14)
    with Largest() as largest:
        found = run_gradients(question, model, inputs, language, source, None)
    assert largest.entries < 4 * TOKENS**2, largest.operation
    for layer, values in whole.items():
        for name, value in values.items():
            torch.testing.assert_close(found[layer][name], value)


def test_distances_of_a_long_text_are_those_of_a_sample_of_its_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = causal()
    text = pd.DataFrame({"text": [" ".join(SENTENCES[:4])]})
    whole = measure(model, tokenizer, text, only="distances")["distances"].distance.values
    monkeypatch.setattr(distances, "QUERIES", 8)
    some = measure(model, tokenizer, text, only="distances")["distances"].distance.values
    again = measure(model, tokenizer, text, only="distances")["distances"].distance.values
    other = measure(model, tokenizer, text, only="distances", seed=1)["distances"].distance.values
    np.testing.assert_array_equal(some, again)
    assert not np.allclose(some, other)
    known = np.isfinite(whole)
    assert np.corrcoef(whole[known], some[known])[0, 1] > 0.9
