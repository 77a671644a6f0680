"""Does a pruned model in whole shapes compute what it did, and does plain transformers load it?"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.models.anatomy import read_anatomy
from headcount.models.load import load_model
from headcount.models.zeroed import zeroed
from tests.closeness import assert_same
from tests.contracts.pruned import PRUNABLE, Before, aligned, own_outputs, uneven, whole
from tests.contracts.zoo import BY_NAME, Case, inputs, run

FAMILY = pytest.mark.parametrize("case", PRUNABLE, ids=lambda case: case.name)


def shapes(model: Any) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def check_weights(found: Any, first: Any, gone: list[str]) -> None:
    """Zeros in the rows and columns of heads that are gone, the first weights everywhere else."""
    anatomy = read_anatomy(found)
    mine, theirs = dict(found.named_parameters()), dict(first.named_parameters())
    heads = hc.HeadSet.of(gone, anatomy.layout)
    own = [
        part
        for head in heads
        for part in anatomy.attention(head.stack, head.layer).slices(head.head)
        if part.role in ("query", "output")
    ]
    assert own
    for part in own:
        assert not mine[part.parameter].narrow(part.dim, part.start, part.stop - part.start).any()
    kept = [
        (block, head)
        for block in anatomy
        for head in block.heads
        if (block.stack, block.layer, head) not in {(one.stack, one.layer, one.head) for one in heads}
    ]
    for block, head in kept:
        for part in block.slices(head):
            size = part.stop - part.start
            ours, whole_ones = (one[part.parameter].narrow(part.dim, part.start, size) for one in (mine, theirs))
            assert torch.equal(ours, whole_ones), part
    touched = {part.parameter for block in anatomy for head in block.heads for part in block.slices(head)}
    for name in mine.keys() - touched:
        assert torch.equal(mine[name], theirs[name]), name


@FAMILY
def test_it_computes_what_the_pruned_model_does(case: Case, tmp_path: Path) -> None:
    first = whole(case.name, case.kernels[0]).double()
    pruned = hc.prune(copy.deepcopy(first), uneven(case))
    before = Before(pruned, inputs(case))
    found = zeroed(pruned)
    before.check()
    assert type(found) is type(pruned)
    assert shapes(found) == shapes(first)
    assert read_anatomy(found).layout == read_anatomy(first).layout
    assert found.config._attn_implementation == case.kernels[0]
    assert not {one.data_ptr() for one in found.parameters()} & {one.data_ptr() for one in pruned.parameters()}
    check_weights(found, first, uneven(case))
    found.save_pretrained(tmp_path)
    assert not {"headcount", "auto_map"} & json.loads((tmp_path / "config.json").read_text()).keys()
    loaded = aligned(tf.AutoModel.from_pretrained(tmp_path, attn_implementation=case.kernels[0]))
    for padding in ("none",) if case.kind == "vision" else ("none", "right", "left"):
        batch = inputs(case, padding)
        assert_same(run(found, batch), run(pruned, batch), case.within)
        assert torch.equal(run(loaded, batch), run(found, batch))


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("bert", "AutoModelForMaskedLM"),
        ("gpt2", "AutoModelForCausalLM"),
        ("t5", "AutoModelForSeq2SeqLM"),
        ("vit", "AutoModelForImageClassification"),
    ],
)
def test_with_the_head_of_a_task(name: str, head: str, tmp_path: Path) -> None:
    case, first = BY_NAME[name], whole(name, head=head).double()
    pruned = hc.prune(copy.deepcopy(first), uneven(case))
    found, batch = zeroed(pruned), inputs(case)
    assert_same(own_outputs(found, batch), own_outputs(pruned, batch), case.within)
    assert found.num_parameters() == first.num_parameters(), "what was tied is tied"
    found.save_pretrained(tmp_path)
    loaded = aligned(getattr(tf, head).from_pretrained(tmp_path))
    assert type(loaded) is type(first)
    assert torch.equal(own_outputs(loaded, batch), own_outputs(found, batch))


def test_further_projections() -> None:
    """DeBERTa with projections of its own for positions."""
    torch.manual_seed(0)
    case = BY_NAME["deberta-v2"]
    config = tf.DebertaV2Config(**(case.options | {"share_att_key": False}))
    first = tf.AutoModel.from_config(config).eval().double()
    pruned = hc.prune(copy.deepcopy(first), uneven(case))
    found = zeroed(pruned)
    assert shapes(found) == shapes(first)
    check_weights(found, first, uneven(case))
    batch = inputs(case, "right")
    assert_same(run(found, batch), run(pruned, batch))


def test_of_a_model_cut_twice_and_of_a_whole_one() -> None:
    first, batch = whole("llama"), inputs(BY_NAME["llama"])
    twice = hc.prune(hc.prune(copy.deepcopy(first), ["L0H1", "L2H0"]), ["L0H2", "L1"])
    check_weights(zeroed(twice), first, ["L0H1-2", "L1", "L2H0"])
    same = zeroed(first)
    assert same is not first
    assert torch.equal(run(same, batch), run(first, batch))


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_number_types(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    pruned = hc.prune(whole(name), uneven(BY_NAME[name])).to(dtype)
    found = zeroed(pruned)
    assert {one.dtype for one in found.parameters()} == {dtype}
    check_weights(found, whole(name).to(dtype), uneven(BY_NAME[name]))
    found.save_pretrained(tmp_path)
    assert tf.AutoModel.from_pretrained(tmp_path).dtype == dtype


def test_number_types_that_differ() -> None:
    pruned = hc.prune(whole("bert"), ["L0H1"]).to(torch.bfloat16)
    for module in pruned.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.float()
    types = {name: one.dtype for name, one in pruned.named_parameters()}
    assert {name: one.dtype for name, one in zeroed(pruned).named_parameters()} == types


def test_mode_and_random_numbers_are_kept() -> None:
    pruned = hc.prune(whole("bert", "eager"), ["L0H1"])
    state = torch.get_rng_state()
    assert not zeroed(pruned).training
    assert zeroed(pruned.train()).training
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
def test_of_a_saved_model(name: str, tmp_path: Path) -> None:
    case = BY_NAME[name]
    pruned = hc.prune(whole(name).double(), uneven(case))
    hc.save(pruned, None, tmp_path / "pruned")
    hc.save(zeroed(load_model(tmp_path / "pruned")), None, tmp_path / "zeroed")
    loaded, batch = aligned(tf.AutoModel.from_pretrained(tmp_path / "zeroed")), inputs(case)
    assert shapes(loaded) == shapes(whole(name))
    assert_same(run(loaded, batch), run(pruned, batch), case.within)
    assert not list((tmp_path / "zeroed").glob("*.py"))
    again = aligned(load_model(tmp_path / "zeroed"))
    assert torch.equal(run(again, batch), run(loaded, batch))


def test_of_a_saved_model_asks_for_no_code(tmp_path: Path) -> None:
    hc.save(hc.prune(whole("bert"), ["L0H1"]), None, tmp_path / "pruned")
    hc.save(zeroed(load_model(tmp_path / "pruned")), None, tmp_path / "zeroed")
    tf.AutoModel.from_pretrained(tmp_path / "zeroed", trust_remote_code=True)
    assert "auto_map" not in json.loads((tmp_path / "zeroed" / "config.json").read_text())


def test_of_a_saved_model_whose_config_says_the_smaller_numbers(tmp_path: Path) -> None:
    case = BY_NAME["llama"]
    pruned, batch = hc.prune(whole("llama").double(), ["L0H0-1", "L1H0-1", "L2H2-3"]), inputs(case)
    hc.save(pruned, None, tmp_path)
    found = zeroed(load_model(tmp_path))
    assert shapes(found) == shapes(whole("llama"))
    assert_same(run(found, batch), run(pruned, batch), case.within)


def test_of_a_model_pruned_by_transformers_4(tmp_path: Path) -> None:
    pruned, batch = hc.prune(whole("bert").double(), ["L1H0"]), inputs(BY_NAME["bert"])
    pruned.save_pretrained(tmp_path / "pruned")
    path = tmp_path / "pruned" / "config.json"
    config = json.loads(path.read_text())
    del config["headcount"]
    path.write_text(json.dumps(config | {"pruned_heads": {"1": [0]}}))
    hc.save(zeroed(load_model(tmp_path / "pruned")), None, tmp_path / "zeroed")
    loaded = load_model(tmp_path / "zeroed")
    assert read_anatomy(loaded).layout.count == 12
    assert_same(run(loaded, batch), run(pruned, batch))


def test_how_texts_are_generated_is_kept() -> None:
    pruned = hc.prune(whole("bart", head="AutoModelForSeq2SeqLM"), ["encoder.L0H1"])
    pruned.generation_config.num_beams, pruned.generation_config.max_length = 4, 17
    assert zeroed(pruned).generation_config.to_dict() == pruned.generation_config.to_dict()
