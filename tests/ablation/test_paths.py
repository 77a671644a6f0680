"""`hc.paths`: parity with a naive loop, a planted head that acts through another one's query alone, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.errors import InvalidOption, StudyProblem
from tests import planted
from tests.ablation.naive_paths import Parts, naive_path

HEADS = "L0H1, L1H0, L2H3"


def pairs(count: int = 12) -> pd.DataFrame:
    """Texts with both `up` and `down` and a word that decides, and the same with its opposite."""
    generator = np.random.default_rng(0)
    rows = []
    for number in range(count):
        label = number % 2
        rest = [str(word) for word in generator.choice(planted.WORDS[9:], int(generator.integers(2, 5)))]
        right, wrong = ("good", "bad") if label else ("bad", "good")
        text, other = (" ".join(["up", word, "down", *rest]) for word in (right, wrong))
        rows.append({"sentence": text, "label": label, "counterpart": other})
    return pd.DataFrame(rows)


def _exact(model: Any) -> Any:
    """In float64, with weights so large that every head matters."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.4)
    return model.double().eval()


def encoder() -> tuple[Any, list[Parts]]:
    config = tf.BertConfig(
        vocab_size=len(planted.WORDS),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=16,
        max_position_embeddings=64,
        id2label=planted.NAMES,
    )
    model = _exact(tf.BertForSequenceClassification(config))
    parts = [layer.attention for layer in model.bert.encoder.layer]
    return model, [(one.self.query, one.self.key, one.self.value, one.output.dense) for one in parts]


def decoder() -> tuple[Any, list[Parts]]:
    config = tf.LlamaConfig(
        vocab_size=len(planted.WORDS),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        pad_token_id=0,
        id2label=planted.NAMES,
    )
    model = _exact(tf.LlamaForSequenceClassification(config))
    parts = [layer.self_attn for layer in model.model.layers]
    return model, [(one.q_proj, one.k_proj, one.v_proj, one.o_proj) for one in parts]


@pytest.mark.parametrize("make", [encoder, decoder])
@pytest.mark.parametrize("direction", ["noise", "denoise"])
def test_a_naive_loop_gives_the_same(make: Any, direction: str, tmp_path: Path) -> None:
    model, layers = make()
    tokenizer, table = planted.tokenizer(tmp_path), pairs()
    found = hc.paths(model, tokenizer, table, HEADS, task="sst2", how=hc.Patch(direction=direction), metric="loss")
    assert found["delta"].dims == ("sender", "receiver", "into")
    clean, corrupted = (
        tokenizer(table[column].tolist(), return_tensors="pt", padding=True) for column in ("sentence", "counterpart")
    )
    base, other = (clean, corrupted) if direction == "noise" else (corrupted, clean)
    labels = torch.tensor(table["label"].tolist())

    def run(batch: Any) -> Any:
        with torch.no_grad():
            return model(**batch).logits

    whole = torch.nn.functional.cross_entropy(run(base), labels)
    compared = 0
    for sender, receiver in (((0, 1), (1, 0)), ((0, 1), (2, 3)), ((1, 0), (2, 3))):
        names = [f"L{layer}H{head}" for layer, head in (sender, receiver)]
        for into in ("query", "key", "value", "all"):
            logits = naive_path(run, layers, 4, base, other, sender, receiver, into)
            expected = float(torch.nn.functional.cross_entropy(logits, labels) - whole)
            got = float(found["delta"].sel(sender=names[0], receiver=names[1], into=into))
            assert got == pytest.approx(expected, abs=5e-7), (names, into)  # logits are stored in float32
            compared += abs(expected) > 1e-5
    assert compared >= 8
    backwards = found["delta"].sel(sender="L1H0", receiver="L1H0")
    assert np.isnan(backwards.values).all()


@torch.no_grad()
def planted_path() -> Any:
    """L0H0 tells all tokens whether the text has `good` or `bad`; L1H1 looks at `up` or at `down` by it.

    Every number stands in two places with opposite signs: 0 for good and bad, 2 for up and down, 4 for the message, 6
    for the verdict. A counterpart changes the sign of the message and nothing else.
    """
    model = planted.classifier()
    words = model.bert.embeddings.word_embeddings.weight
    words.zero_()
    for word, place, sign in (("good", 0, 1), ("bad", 0, -1), ("up", 2, 1), ("down", 2, -1)):
        words[planted.WORDS.index(word), place], words[planted.WORDS.index(word), place + 1] = sign, -sign
    first, second = (layer.attention for layer in model.bert.encoder.layer)
    for attention in (first, second):
        attention.self.value.weight.zero_()
        attention.output.dense.weight.zero_()
    first.self.value.weight[0, 0] = 4
    first.output.dense.weight[4, 0], first.output.dense.weight[5, 0] = 1, -1
    second.self.query.weight[4, 4] = 8
    second.self.key.weight[4, 2] = 1
    second.self.value.weight[4, 2] = 1
    second.output.dense.weight[6, 4], second.output.dense.weight[7, 4] = 1, -1
    model.classifier.weight.zero_()
    model.classifier.weight[0, 6], model.classifier.weight[1, 6] = -1, 1
    return model.double()


def test_a_planted_head_acts_through_a_query_alone(tmp_path: Path) -> None:
    model, tokenizer, table = planted_path(), planted.tokenizer(tmp_path), pairs(40)
    noise = hc.Patch(direction="noise")
    whole = hc.sweep(model, tokenizer, table, task="sst2", how=noise, metric="loss")
    alone = float(whole["delta"].sel(stack="encoder", layer=0, head=0))
    assert alone > 0.5  # every answer turns into its opposite
    found = hc.paths(model, tokenizer, table, "L0, L1", task="sst2", metric="loss")
    through = found["delta"].sel(sender="L0H0", receiver="L1H1")
    assert float(through.sel(into="query")) == pytest.approx(alone, abs=1e-9)
    assert float(through.sel(into="all")) == pytest.approx(alone, abs=1e-9)
    for into in ("key", "value"):
        assert float(through.sel(into=into)) == pytest.approx(0, abs=1e-9)
    assert float(found["q"].sel(sender="L0H0", receiver="L1H1", into="query")) < 0.05
    others = found["delta"].values.copy()
    others[0, 1, [0, 3]] = 0
    np.testing.assert_allclose(others, 0, atol=1e-9)


@pytest.mark.parametrize("how", ["zero", "resample"])
def test_other_replacements(how: Any, tmp_path: Path) -> None:
    model, tokenizer, table = planted_path(), planted.tokenizer(tmp_path), pairs(40)
    found = hc.paths(model, tokenizer, table, "L0H0, L1H1", into="query", task="sst2", how=how, metric="loss")
    assert found.sizes["into"] == 1
    assert float(found["delta"][0, 0, 0]) > 0.1
    assert "share" not in found


def test_a_study_resumes(tmp_path: Path) -> None:
    model, tokenizer, table = planted_path(), planted.tokenizer(tmp_path / "words"), pairs(20)
    first = hc.paths(model, tokenizer, table, "L0, L1H1", task="sst2", out=tmp_path / "study")
    again = hc.paths(model, tokenizer, table, "L0, L1H1", task="sst2", out=tmp_path / "study")
    assert first["delta"].identical(again["delta"])
    assert "paths/patch-noise" in hc.open_study(tmp_path / "study").groups[-1]
    # Other paths to the same heads are another result.
    for among, into in (("L0, L1H1", "key"), ("L0H1, L1H1", ("query", "key", "value", "all"))):
        with pytest.raises(StudyProblem, match="sets"):
            hc.paths(model, tokenizer, table, among, into=into, task="sst2", out=tmp_path / "study")


def test_bad_input(tmp_path: Path) -> None:
    model, tokenizer, table = planted_path(), planted.tokenizer(tmp_path), pairs(20)
    with pytest.raises(InvalidOption, match="1 head; expected at least two"):
        hc.paths(model, tokenizer, table, "L0H0", task="sst2")
    with pytest.raises(InvalidOption, match="expected heads of different layers"):
        hc.paths(model, tokenizer, table, "L0", task="sst2")
    with pytest.raises(InvalidOption, match="into='output'; expected one of query, key, value, all"):
        hc.paths(model, tokenizer, table, "L0, L1", into="output", task="sst2")
    with pytest.raises(InvalidOption, match="part='key'; expected 'output'"):
        hc.paths(model, tokenizer, table, "L0, L1", how=hc.Patch(part="key"), task="sst2")
