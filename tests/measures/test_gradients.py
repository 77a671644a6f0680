from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from safetensors.torch import load_file, save_file

import headcount as hc
from headcount.errors import InvalidOption
from headcount.measures.measure import measure
from headcount.models.load import load_model
from tests.measures import naive
from tests.measures.cases import Texts, at, small
from tests.measures.planted import HEADS, LAYERS, PAIRS, ROLES, SENTENCES, SIZE, WORDS
from tests.measures.tiny import masked

START = 3


def close(found: Any, row: int, stack: str, expected: naive.Values) -> None:
    """Gradients are small numbers: what counts is how much they differ relatively."""
    for name, values in expected.items():
        given = found[f"values_{name}"].sel(example=row, stack=stack).values
        np.testing.assert_allclose(given, values, rtol=1e-3, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("name", ["bundled_sentences", "bundled_pairs", "loud_texts", "loud_pairs"])
def test_is_the_formula(name: str, request: pytest.FixtureRequest) -> None:
    texts = request.getfixturevalue(name)
    found = texts.measured("gradients")["gradients"]
    for row in map(int, found.example.values):
        text = texts.seen(row)
        encoding, wanted = naive.masked(text, texts.tokenizer, 0, row)
        gradient = naive.map_gradients(texts.model, encoding, wanted)["encoder"]
        close(found, row, "encoder", naive.gradients(gradient, naive.gradient_kinds(text)))
    assert found.other.max() > 1e-6


def test_the_formula_is_a_difference_of_losses(loud_texts: Texts) -> None:
    """The gradient that the formula rests on, by moving one weight of the map."""
    row, (layer, head, query, key) = 0, (0, 3, 2, 4)
    model, text = copy.deepcopy(loud_texts.model).double(), loud_texts.seen(0)
    encoding, wanted = naive.masked(text, loud_texts.tokenizer, 0, row)
    gradient = naive.map_gradients(model, encoding, wanted)["encoder"][layer, head, query, key]
    inputs = {name: torch.tensor([value]) for name, value in encoding.items()}
    block, columns, losses = model.bert.encoder.layer[layer].attention, slice(head * SIZE, (head + 1) * SIZE), []
    with torch.no_grad():
        states = model.bert.embeddings(inputs["input_ids"], inputs["token_type_ids"])
        value = block.self.value(states)[0, key, columns]
        for step in (-1e-4, 1e-4):

            def moved(module: Any, args: Any, step: float = step) -> Any:
                outputs = args[0].clone()
                outputs[0, query, columns] += step * value
                return (outputs,)

            handle = block.output.dense.register_forward_pre_hook(moved)
            losses.append(naive.word_loss(model(**inputs).logits[0], wanted).item())
            handle.remove()
    assert gradient == pytest.approx((losses[1] - losses[0]) / 2e-4, rel=1e-4)
    assert abs(gradient) > 1e-6


@pytest.fixture(scope="module")
def found(planted_model: Any) -> xr.Dataset:
    """One head writes, and [SEP] has nothing to read."""
    model = copy.deepcopy(planted_model[0])
    generator = torch.Generator().manual_seed(1)
    layer = model.bert.encoder.layer[0].attention
    head = int(ROLES["noun"].split("H")[1])
    with torch.no_grad():
        weight = torch.zeros(HEADS * SIZE, HEADS * SIZE)
        weight[:, SIZE : SIZE + len(WORDS)] = torch.randn(HEADS * SIZE, len(WORDS), generator=generator)
        weight[:, SIZE + WORDS.index("[SEP]")] = 0
        layer.self.value.weight.copy_(weight)
        layer.self.value.bias.zero_()
        layer.output.dense.weight[:, head * SIZE : (head + 1) * SIZE].normal_(0, 0.1, generator=generator)
    data = pd.DataFrame({"text": SENTENCES})
    return measure(model, planted_model[1], data, only="gradients")["gradients"].to_dataset()


def test_finds_the_head_that_matters(found: xr.Dataset) -> None:
    for name in ("punctuation", "other"):
        assert at(found[name], ROLES["noun"]) > 1e-5
        silent = [f"L{layer}H{head}" for layer in range(LAYERS) for head in range(HEADS)]
        assert all(at(found[name], place) == 0 for place in silent if place != ROLES["noun"])


def test_attention_to_a_token_with_nothing_to_read_changes_nothing(found: xr.Dataset) -> None:
    assert at(found.sep, ROLES["noun"]) < 1e-4 * at(found.other, ROLES["noun"])


def test_texts_without_the_kind_are_left_out(found: xr.Dataset) -> None:
    for row, text in enumerate(SENTENCES):
        known = bool(found.values_punctuation.sel(example=row).notnull().all())
        assert known == ("." in text or "," in text)


def test_texts_that_have_no_full_stop_at_all(loud_model: Any) -> None:
    found = measure(*loud_model, pd.DataFrame({"text": ["She slept", "dog"]}), only="gradients")["gradients"]
    assert found.punctuation.isnull().all()
    assert found.other.notnull().all()


def test_masks_hang_on_seed_and_row_alone(loud_model: Any) -> None:
    data = pd.DataFrame({"text": SENTENCES})
    results = [measure(*loud_model, data, only="gradients", seed=seed)["gradients"].values_other for seed in (0, 0, 1)]
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).any()
    one_a_batch = measure(*loud_model, data, only="gradients", compute=hc.Compute(batch_tokens=1))[
        "gradients"
    ].values_other
    np.testing.assert_allclose(one_a_batch, results[0], rtol=1e-3, atol=1e-8)


@pytest.mark.parametrize("kind", ["LlamaForCausalLM", "GPT2LMHeadModel"])
def test_of_the_next_word(kind: str, planted_model: Any) -> None:
    model, tokenizer = small(kind, {"L": "llama", "G": "gpt2"}[kind[0]]), planted_model[1]
    found = measure(model, tokenizer, pd.DataFrame({"text": SENTENCES[:4]}), only="gradients")["gradients"]
    for row, text in enumerate(SENTENCES[:4]):
        encoding = dict(tokenizer(text))  # GPT-2 adds the types of tokens up, where a tokenizer gives them
        ids = encoding["input_ids"]
        gradient = naive.map_gradients(model, encoding, dict(enumerate(ids[1:])))["decoder"]
        tokens = tokenizer.convert_ids_to_tokens(ids)
        made = naive.Text({}, tokens, [0] * len(ids), [], None, gradient, gradient)
        close(found, row, "decoder", naive.gradients(gradient, naive.gradient_kinds(made), causal=True))


@pytest.fixture(scope="module")
def translated(planted_model: Any) -> Any:
    model, tokenizer = small("BartForConditionalGeneration", "bart", decoder_start_token_id=START), planted_model[1]
    data = pd.DataFrame(PAIRS, columns=["source", "target"])
    return model, tokenizer, measure(model, tokenizer, data, only="gradients")["gradients"]


@pytest.mark.parametrize("stack", ["encoder", "cross", "decoder"])
def test_of_a_translation(stack: str, translated: Any, request: pytest.FixtureRequest) -> None:
    model, tokenizer, found = translated
    for row, (source, target) in enumerate(PAIRS):
        ids, aim = (tokenizer(text)["input_ids"] for text in (source, target))
        read = [START, *aim[:-1]]
        wanted = dict(enumerate(aim))
        gradient = naive.map_gradients(model, {"input_ids": ids, "decoder_input_ids": read}, wanted)[stack]
        tokens = tokenizer.convert_ids_to_tokens(read if stack == "decoder" else ids)
        made = naive.Text({}, tokens, [0] * len(tokens), [], None, gradient, gradient)
        close(found, row, stack, naive.gradients(gradient, naive.gradient_kinds(made), causal=stack == "decoder"))


def test_a_model_without_a_language_model_head_has_none(planted_texts: Texts) -> None:
    model = small("BertForSequenceClassification", "bert")
    with pytest.raises(InvalidOption, match="no language-model head"):
        measure(model, planted_texts.tokenizer, planted_texts.data, only="gradients")


def test_a_discriminator_has_none(planted_texts: Texts) -> None:
    found = measure(small("ElectraForPreTraining", "electra"), planted_texts.tokenizer, planted_texts.data)
    assert "gradients" in found.attrs["left_out"]


def test_leaves_no_gradients_behind(loud_texts: Texts) -> None:
    loud_texts.measured("gradients")
    assert all(parameter.grad is None for parameter in loud_texts.model.parameters())
    with torch.no_grad():
        inputs = {key: torch.tensor([value]) for key, value in loud_texts.seen(0).encoding.items()}
        assert not loud_texts.model(**inputs).logits.requires_grad
    assert hc.observe(loud_texts.model, inputs).maps["encoder"].grad_fn is None


def test_a_head_without_weights_has_no_loss(tmp_path: Path) -> None:
    """A language model whose head the checkpoint lacks would guess words at random: nothing is derived from that."""
    model, tokenizer = masked()
    model.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    kept = {key: tensor for key, tensor in weights.items() if "transform" not in key}
    save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
    texts = pd.DataFrame({"text": SENTENCES[:2]})
    assert "gradients" in measure(model, tokenizer, texts, only="gradients")
    with pytest.raises(InvalidOption, match="gradients cannot be measured here"):
        measure(load_model(tmp_path), tokenizer, texts, only="gradients")
