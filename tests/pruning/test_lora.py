"""Does a recovery with adapters train only them, leave a plain model behind, and end cleanly when it fails?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.data.kinds.metrics import PERPLEXITY
from headcount.data.tasks import find_task
from headcount.errors import InvalidOption, MissingPackage, TrainingDiverged
from headcount.pruning import lora as module
from headcount.pruning.held_out import HeldOut
from headcount.pruning.lora import RANK, adapters
from tests import planted
from tests.closeness import FLOAT32, assert_same
from tests.contracts.zoo import BY_NAME, inputs, tiny
from tests.pruning import planted_groups as groups

pytest.importorskip("peft")
TASK = find_task("causal-lm")
TEXTS = groups.texts()
GONE = ["L0H0-1", "L1H2", "L2"]
"""A whole group, one head of a group, a whole layer."""
QUICK: dict[str, Any] = {"task": TASK, "max_steps": 4, "learning_rate": 1e-2, "lora": True}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def pruned() -> Any:
    return hc.prune(groups.llama(), GONE)


def modules(model: Any) -> dict[str, type]:
    return {name: type(part) for name, part in model.named_modules()}


def test_the_model_is_plain_afterwards_and_better(tokenizer: Any) -> None:
    model = pruned()
    parts, layout, before = modules(model), hc.read_anatomy(model).layout, copy_of(model)
    held_out = HeldOut.read(model, tokenizer, TEXTS, TASK, PERPLEXITY)
    first = held_out.outputs(model)
    assert hc.recover(model, tokenizer, TEXTS, **QUICK | {"max_steps": 40}) is model
    compared = held_out.compare(first, held_out.outputs(model))
    assert compared.changes[0][2] < 0, "shown to be lower"
    assert modules(model) == parts
    assert hc.read_anatomy(model).layout == layout
    assert not hasattr(model, "peft_config")
    assert not model.training
    assert all(parameter.requires_grad for parameter in model.parameters())
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed, "something was learned"
    assert all("_proj" in name for name in changed), "only projections inside the layers"


def copy_of(model: Any) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


@pytest.mark.parametrize("rank", [1, 3])
def test_what_is_merged_has_the_rank(tokenizer: Any, rank: int) -> None:
    model = pruned()
    before = copy_of(model)
    hc.recover(model, tokenizer, TEXTS, lora_rank=rank, **QUICK)
    for name, tensor in model.state_dict().items():
        if "layers.1." in name and "_proj" in name:
            sizes = torch.linalg.svdvals((tensor - before[name]).double())
            assert (sizes > 1e-5 * sizes[0]).sum() == rank, name


def test_the_merged_model_computes_what_the_adapters_did() -> None:
    model = pruned()
    batch = {"input_ids": torch.randint(0, 14, (2, 9), generator=torch.Generator().manual_seed(0))}
    with torch.no_grad(), adapters(model, 4, seed=0):
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 0.1)
        inside = model(**batch).logits
    with torch.no_grad():
        assert_same(model(**batch).logits, inside, FLOAT32)


def test_only_adapters_can_be_trained_inside() -> None:
    model = pruned()
    model.model.embed_tokens.weight.requires_grad_(False)
    with adapters(model, 2, seed=0):
        trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
        assert trained
        assert all("lora_" in name for name in trained)
        assert not any("layers.2.self_attn" in name for name in trained), "nothing is left there"
    frozen = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    assert frozen == {"model.embed_tokens.weight"}


def test_an_error_inside_leaves_the_weights_as_they_were() -> None:
    model = pruned()
    parts, before = modules(model), copy_of(model)

    def fail() -> None:
        with adapters(model, 2, seed=0), torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.fill_(1.0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert modules(model) == parts
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_a_recovery_that_diverges(tokenizer: Any) -> None:
    with pytest.raises(TrainingDiverged, match="lower the learning rate"):
        hc.recover(pruned(), tokenizer, TEXTS, **QUICK | {"learning_rate": 1e300})


def test_the_same_seed_gives_the_same_weights(tokenizer: Any) -> None:
    found = []
    for seed in (0, 0, 1):
        torch.rand(3)  # whatever was drawn before
        found.append(hc.recover(pruned(), tokenizer, TEXTS, seed=seed, **QUICK).state_dict())
    first, again, other = found
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


@pytest.mark.parametrize("name", ["bert", "gpt2", "bart", "t5"])
def test_other_families(name: str) -> None:
    """GPT-2 has its weights the other way round, the others have several stacks, biases and norms."""
    model = tiny(name).eval()
    batch = inputs(BY_NAME[name])
    with torch.no_grad():
        before = model(**batch)[0]
        with adapters(model, 2, seed=0):
            assert_same(model(**batch)[0], before, FLOAT32)
            for key, parameter in model.named_parameters():
                if "lora_B" in key:
                    parameter.normal_(0, 0.3)
            inside = model(**batch)[0]
        assert_same(model(**batch)[0], inside, FLOAT32)
    assert not torch.allclose(inside, before, atol=1e-3)


def test_saved_loaded_generating_exported(tokenizer: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = hc.recover(pruned(), tokenizer, TEXTS, **QUICK)
    hc.save(model, tokenizer, tmp_path / "small")
    assert not list((tmp_path / "small").glob("adapter*"))
    loaded, own = hc.load(tmp_path / "small")
    weights = model.state_dict()
    assert set(weights) == set(loaded.state_dict())
    assert all(torch.equal(tensor, weights[name]) for name, tensor in loaded.state_dict().items())
    prompt = dict(own("it is so", return_tensors="pt", return_token_type_ids=False))
    options = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False}
    cached, uncached = (loaded.generate(**prompt, use_cache=cache, **options) for cache in (True, False))
    assert cached.shape[1] == prompt["input_ids"].shape[1] + 6
    assert torch.equal(cached, uncached), "groups of unequal size, read from the cache"
    check = hc.export(loaded, own, tmp_path / "onnx", to="onnx")
    assert check is not None
    assert check.passed
    hc.export(loaded, own, tmp_path / "zeroed", to="zeroed")
    whole, _ = hc.load(tmp_path / "zeroed")
    assert hc.read_anatomy(whole).layout.count == groups.LAYERS * groups.HEADS
    with torch.no_grad():
        assert_same(whole(**prompt).logits, loaded(**prompt).logits, FLOAT32)


def test_without_peft(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match=r"lora=True needs peft: pip install 'headcount\[lora\]'"):
        hc.recover(pruned(), tokenizer, TEXTS, **QUICK)
    hc.recover(pruned(), tokenizer, TEXTS, **QUICK | {"lora": False, "max_steps": 1})


def test_a_rank_belongs_to_adapters(tokenizer: Any) -> None:
    with pytest.raises(InvalidOption, match="got lora_rank=, which has no effect without lora="):
        hc.recover(pruned(), tokenizer, TEXTS, task=TASK, lora_rank=RANK)
    with pytest.raises(InvalidOption, match="got lora_rank=0; expected at least 1"):
        hc.recover(pruned(), tokenizer, TEXTS, lora_rank=0, **QUICK)
