"""Is a text generated as transformers does, with a cache whose bytes one counts by hand, and what is refused?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.costs import generation as module
from headcount.costs.generation import Generation, cache_bytes, generate_once, generation_row
from headcount.errors import InvalidOption, UnsuitableModel
from tests.contracts.zoo import tiny
from tests.pruning import planted_groups as groups

PROMPT = torch.randint(0, 14, (2, 7), generator=torch.Generator().manual_seed(0))
QUICK: dict[str, Any] = {"batches": [1, 2], "lengths": [6], "repeats": 2, "new_tokens": 3}


def by_hand(kv_heads: int, tokens: int, texts: int) -> int:
    """Keys and values of so many heads of all layers, float32."""
    return 2 * kv_heads * groups.SIZE * tokens * texts * 4


@pytest.mark.parametrize(
    ("gone", "kv_heads"),
    [
        ([], 6),
        (["L0H0"], 6),
        (["L0H0", "L1H3"], 6),
        (["L0H0-1"], 5),
        (["L0H0-1", "L1H2-3", "L2H1"], 4),
    ],
)
def test_the_cache_shrinks_with_whole_groups_alone(gone: list[str], kv_heads: int) -> None:
    model = hc.prune(groups.llama(), gone)
    assert sum(block.kv_heads for block in hc.read_anatomy(model).stacks["decoder"]) == kv_heads
    found = generate_once(model, PROMPT, 5)
    assert found.cache_bytes == by_hand(kv_heads, 7 + 5, 2)
    assert len(found.prefill) == len(found.decode) == 1
    assert min(*found.prefill, *found.decode) > 0


def test_a_layer_without_heads_keeps_a_slice_of_zeros() -> None:
    found = generate_once(hc.prune(groups.llama(), ["L2"]), PROMPT, 5)
    assert found.cache_bytes == by_hand(4 + 1, 12, 2)


def test_half_precision_takes_half() -> None:
    assert generate_once(groups.llama().bfloat16(), PROMPT, 5).cache_bytes == by_hand(6, 12, 2) // 2


def test_the_same_tokens_as_generation() -> None:
    """Each new token is the most probable one after all before it, with a cut that leaves groups of unequal size."""
    model = hc.prune(groups.llama(), ["L0H0", "L1H0-1"])
    seen: list[torch.Tensor] = []
    handle = model.register_forward_pre_hook(lambda _, args, kwargs: seen.append(kwargs["input_ids"]), with_kwargs=True)
    generate_once(model, PROMPT, 5)
    handle.remove()
    assert [one.shape[1] for one in seen] == [7, 1, 1, 1, 1, 1]
    options = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False, "eos_token_id": None}
    expected = model.generate(PROMPT, attention_mask=torch.ones_like(PROMPT), **options)
    assert torch.equal(torch.cat(seen, 1), expected)


def test_columns_from_known_times() -> None:
    found = Generation([1.0, 2.0, 4.0], [0.5, 1.0, 2.0], 800)
    row = generation_row(found, batch=2, length=10, new_tokens=4)
    assert (row["prefill_low"], row["prefill"], row["prefill_high"]) == (20 / 3, 10, 20 / 1.5)
    assert (row["decode_low"], row["decode"], row["decode_high"]) == (8 / 1.5, 8, 8 / 0.75)
    assert (row["cache_bytes"], row["new_tokens"]) == (800, 4)
    assert set(row) == set(module.SCHEMAS)


def test_the_table_of_two_models(tmp_path: Path) -> None:
    models = {"whole": groups.llama(), "cut": hc.prune(groups.llama(), ["L0H0-1"])}
    found = hc.cost(models, study=tmp_path / "study", **QUICK)
    assert list(found["new_tokens"]) == [3] * 4
    expected = [by_hand(heads, 9, texts) for texts in (1, 2) for heads in (6, 5)]
    assert list(found["cache_bytes"]) == expected
    for name in ("prefill", "decode"):
        assert (found[f"{name}_low"] <= found[name]).all()
        assert (found[name] <= found[f"{name}_high"]).all()
    again = hc.cost(models, study=tmp_path / "study", **QUICK)
    np.testing.assert_array_equal(again["decode"], found["decode"], "those that are there stay")
    assert "decode" not in hc.cost(models, **{key: QUICK[key] for key in QUICK if key != "new_tokens"})


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "opt"])
def test_other_decoders(name: str) -> None:
    found = hc.cost({name: tiny(name, head="AutoModelForCausalLM")}, **QUICK)
    assert (found["cache_bytes"] > 0).all()


@pytest.mark.parametrize(
    ("name", "head"),
    [("bert", "AutoModel"), ("llama", "AutoModel"), ("marian", "AutoModelForSeq2SeqLM"), ("vit", "AutoModel")],
)
def test_models_that_do_not_generate(name: str, head: str) -> None:
    options = {key: value for key, value in QUICK.items() if name != "vit" or key != "lengths"}
    with pytest.raises(UnsuitableModel, match=r"is no decoder that generates texts, which new_tokens= needs"):
        hc.cost({"it": tiny(name, head=head)}, **options)


def test_lengths_and_numbers() -> None:
    with pytest.raises(InvalidOption, match="got new_tokens=10 after 60; it takes at most 64 tokens in all"):
        hc.cost({"it": groups.llama()}, **QUICK | {"lengths": [60], "new_tokens": 10})
    with pytest.raises(InvalidOption, match="got new_tokens=0; expected at least 1"):
        hc.cost({"it": groups.llama()}, **QUICK | {"new_tokens": 0})


def test_a_cache_by_its_tensors() -> None:
    with torch.no_grad():
        cache = groups.llama()(PROMPT, use_cache=True).past_key_values
    assert cache_bytes(cache) == sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
