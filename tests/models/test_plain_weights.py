"""Quantised models: ablated and measured as they compute, and refused where their weights would be cut or counted.

PyTorch's own dynamic quantisation is always here; torchao and bitsandbytes where they are installed.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from torch import nn
from torch.testing._internal.two_tensor import TwoTensor

import headcount as hc
from headcount.errors import CannotPrune, InvalidOption, NotFinite, UnsuitableModel
from headcount.models.dispatched import stored_tensors
from headcount.models.fingerprint import model_fingerprint
from headcount.models.finite_weights import check_weights
from headcount.models.plain_weights import (
    check_plain,
    has_packed_products,
    is_plain,
    is_readable,
    plain_values,
    stored_parts,
    weight_shape,
)
from tests.training import toy

IDS = torch.arange(5, 15)[None]
TEXTS = toy.pairs(8)[["sentence1"]].rename(columns={"sentence1": "text"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("plain")
    toy.save_tokenizer(place)
    torch.manual_seed(0)
    config = tf.LlamaConfig(
        vocab_size=60,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        pad_token_id=0,
    )
    tf.LlamaForCausalLM(config).save_pretrained(place)
    return place


def load(folder: Path, **options: Any) -> Any:
    return tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **options).eval()


def dynamic(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(load(folder), {nn.Linear})


def int8_weights(folder: Path) -> Any:
    quantization = pytest.importorskip("torchao.quantization", exc_type=ImportError)
    model = load(folder)
    quantization.quantize_(model, quantization.Int8WeightOnlyConfig())
    return model


def eight_bits(folder: Path) -> Any:
    pytest.importorskip("bitsandbytes")
    return load(folder, quantization_config=tf.BitsAndBytesConfig(load_in_8bit=True))


def four_bits(folder: Path) -> Any:
    pytest.importorskip("bitsandbytes")
    return load(folder, quantization_config=tf.BitsAndBytesConfig(load_in_4bit=True))


FORMS = [dynamic, int8_weights, eight_bits, four_bits]
of_every_form = pytest.mark.parametrize("quantise", FORMS, ids=lambda form: form.__name__)
noisy = pytest.mark.filterwarnings("ignore")  # of the packages


@noisy
@of_every_form
def test_what_works(folder: Path, quantise: Callable[[Path], Any]) -> None:
    model, tokenizer = quantise(folder), tf.AutoTokenizer.from_pretrained(folder)
    anatomy = hc.read_anatomy(model)
    assert (anatomy.layout.count, anatomy.units.count) == (8, 256)
    output = model.model.layers[0].self_attn.o_proj

    def without_second(module: nn.Module, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        outputs = args[0].clone()
        outputs[..., 16:32] = 0
        return (outputs,)

    with torch.no_grad():
        plain = model(IDS).logits
        with hc.ablated(model, ["L0H1"], how="zero"):
            ablated = model(IDS).logits
        hook = output.register_forward_pre_hook(without_second)
        naive = model(IDS).logits
        hook.remove()
    assert torch.equal(ablated, naive)
    assert not torch.equal(ablated, plain)
    assert model_fingerprint(model) == model_fingerprint(model) != model_fingerprint(load(folder))
    check_weights(model)
    with torch.no_grad():
        assert torch.equal(model(IDS).logits, plain), "reading the weights changed them"
    whole = hc.sweep(load(folder), tokenizer, TEXTS, task="causal-lm")
    swept = hc.sweep(model, tokenizer, TEXTS, task="causal-lm")
    # Four bits are rough; all others leave the effects about as they are.
    assert float(np.corrcoef(swept["delta"].values.ravel(), whole["delta"].values.ravel())[0, 1]) > 0.9
    measured = hc.measure(model, tokenizer, TEXTS, only=["entropy"] if quantise is dynamic else None)
    assert "entropy" in measured.children or "entropy" in measured


@noisy
@of_every_form
def test_what_is_refused(folder: Path, quantise: Callable[[Path], Any], tmp_path: Path) -> None:
    model, tokenizer = quantise(folder), tf.AutoTokenizer.from_pretrained(folder)
    before = model(IDS).logits
    for parts in (["L0H1"], ["L0U0-3"]):
        with pytest.raises(CannotPrune, match="expected a plain Linear: cut .*before the model is quantised") as caught:
            hc.prune(model, parts)
        assert "\n" not in str(caught.value)
    expected = "is quantised|quantised or sharded|has packed weights"
    for verb, call in {
        "save": lambda: hc.save(model, tokenizer, tmp_path / "saved"),
        "export": lambda: hc.export(model, tokenizer, tmp_path / "zeroed", to="zeroed"),
        "cost": lambda: hc.cost({"it": model}),
        "recover": lambda: hc.recover(model, tokenizer, TEXTS, task="causal-lm", max_steps=1),
        "refit": lambda: hc.refit(model, load(folder), tokenizer, TEXTS, task="causal-lm"),
    }.items():
        with pytest.raises(UnsuitableModel, match=f"({expected}).*give the model before it is quantised to"):
            call()
        assert not list(tmp_path.iterdir()), verb
    assert torch.equal(model(IDS).logits, before)


@noisy
@pytest.mark.parametrize("quantise", [eight_bits, four_bits, dynamic], ids=lambda form: form.__name__)
def test_questions_about_weights_that_cannot_be_read(folder: Path, quantise: Callable[[Path], Any]) -> None:
    model, tokenizer = quantise(folder), tf.AutoTokenizer.from_pretrained(folder)
    for question in ("contribution", "direct_effect"):
        with pytest.raises(InvalidOption, match=f"{question} cannot be measured here: .*which are quantised"):
            hc.measure(model, tokenizer, TEXTS, only=[question])
    assert "contribution" in hc.measure(model, tokenizer, TEXTS).attrs["left_out"]


@noisy
def test_weights_that_can_be_read_are_those_that_compute(folder: Path) -> None:
    model, tokenizer = int8_weights(folder), tf.AutoTokenizer.from_pretrained(folder)
    read = copy.deepcopy(load(folder))
    for module, quantised in zip(read.modules(), model.modules(), strict=True):
        if isinstance(module, nn.Linear) and not is_plain(quantised.weight):
            module.weight = nn.Parameter(plain_values(quantised.weight.detach(), "it"))
    for question in ("contribution", "direct_effect"):
        measured, expected = (hc.measure(each, tokenizer, TEXTS, only=[question])[question] for each in (model, read))
        for name, values in expected.to_dataset().data_vars.items():
            if values.dtype.kind == "f":
                np.testing.assert_allclose(measured[name], values, rtol=1e-3, atol=1e-5, err_msg=str(name))


@noisy
@pytest.mark.parametrize("quantise", [dynamic, int8_weights], ids=lambda form: form.__name__)
def test_cut_first_then_quantised(folder: Path, quantise: Callable[[Path], Any], tmp_path: Path) -> None:
    gone = ["L0H1", "L1H2"]
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    hc.save(hc.prune(load(folder), gone), tokenizer, tmp_path / "small")
    whole = quantise(folder)
    if quantise is dynamic:
        small = torch.ao.quantization.quantize_dynamic(hc.load(tmp_path / "small")[0], {nn.Linear})
    else:
        quantization = pytest.importorskip("torchao.quantization", exc_type=ImportError)
        small = hc.load(tmp_path / "small")[0]
        quantization.quantize_(small, quantization.Int8WeightOnlyConfig())
    assert hc.read_anatomy(small).layout.stacks["decoder"] == ((0, 2, 3), (0, 1, 3))
    with torch.no_grad(), hc.ablated(whole, gone, how="zero"):
        ablated = whole(IDS).logits
        rounding = float((ablated - small(IDS).logits).abs().max())
    with torch.no_grad():
        effect = float((ablated - whole(IDS).logits).abs().max())
    assert rounding < effect / 5


def wrapped(weight: torch.Tensor) -> TwoTensor:
    return TwoTensor(weight, 2 * weight)


def test_a_tensor_of_tensors() -> None:
    tensor = wrapped(torch.ones(2, 3))
    assert not is_plain(tensor)
    assert not is_readable(tensor)
    assert [(name, float(part.sum())) for name, part in stored_parts("w", tensor)] == [("w.a", 6), ("w.b", 12)]
    with pytest.raises(UnsuitableModel, match="the weight of it is quantised or sharded .TwoTensor."):
        plain_values(tensor, "it")
    model = nn.Sequential(nn.Linear(3, 2))
    check_plain(model, "cut it")
    model[0].weight = nn.Parameter(tensor, requires_grad=False)
    with pytest.raises(UnsuitableModel, match="0.weight of Sequential .* before it is quantised to cut it"):
        check_plain(model, "cut it")
    assert weight_shape(model[0]) == (2, 3)


def test_a_scale_that_is_not_finite_is_noticed(folder: Path) -> None:
    model = load(folder)
    bad = torch.ones(64, 64)
    bad[0, 0] = float("nan")
    model.model.layers[1].self_attn.o_proj.weight = nn.Parameter(
        TwoTensor(torch.ones(64, 64), bad), requires_grad=False
    )
    with pytest.raises(NotFinite, match="1 of 4,096 values of model.layers.1.self_attn.o_proj.weight.b are NaN"):
        check_weights(model)


class Repacking(nn.Linear):
    """As bitsandbytes' 4 bits on a CPU with AVX512-BF16: being asked for its weights changes what it computes."""

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        self.weight.data = self.weight.data + 1
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs @ self.weight.float().T


def test_reading_the_weights_does_not_change_them(folder: Path) -> None:
    model = load(folder)
    layer = Repacking(64, 64, bias=False)
    layer.weight = nn.Parameter(torch.ones(64, 64, dtype=torch.int8), requires_grad=False)
    model.model.layers[0].self_attn.o_proj = layer
    names = list(model.state_dict())
    layer.weight.data = torch.ones(64, 64, dtype=torch.int8)
    with torch.no_grad():
        before = model(IDS).logits
        first = model_fingerprint(model)
        assert model_fingerprint(model) == first
        assert torch.equal(model(IDS).logits, before)
    assert [name for name, _ in stored_tensors(model)] == names


def test_packed_integers(folder: Path) -> None:
    class Packed(nn.Linear):
        """As packages make them: a subclass with a kernel of its own."""

    layer = Packed(4, 6)
    assert not has_packed_products(layer)
    layer.weight = nn.Parameter(torch.zeros(12, 1, dtype=torch.uint8), requires_grad=False)
    assert weight_shape(layer) == (6, 4)
    assert has_packed_products(nn.Sequential(layer))
    with pytest.raises(UnsuitableModel, match="quantised .uint8."):
        plain_values(layer.weight, "Packed")
