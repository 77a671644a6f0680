from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

import headcount as hc
from headcount.errors import InvalidOption
from headcount.measures import direct_effect
from headcount.measures.measure import measure
from tests.measures import naive
from tests.measures.logit_cases import TEXTS, decoder, final_norm, take_apart
from tests.measures.planted import planted_attention
from tests.measures.planted_decoder import ROLES, planted_decoder
from tests.measures.test_induction import at, repeated
from tests.measures.tiny import translator

FAMILIES = ["llama", "gpt2", "gpt_neox"]
WITHIN = 2e-5  # norms of float64 models compute in float32


@pytest.mark.parametrize("name", FAMILIES)
def test_is_the_formula(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a padded batch, few tokens at a time."""
    monkeypatch.setattr(direct_effect, "TOKENS", 5)
    model, tokenizer = decoder(name)
    found = measure(model, tokenizer, pd.DataFrame({"text": TEXTS}), only="direct_effect")["direct_effect"]
    for row, text in enumerate(TEXTS):
        parts = take_apart(model, tokenizer, text)
        asked = list(range(len(parts.ids) - 1))
        expected = naive.direct_effect(parts.outputs, parts.projections, parts.reader, parts.ids, asked)
        for variable, values in expected.items():
            given = found[f"values_{variable}"].sel(example=row, stack="decoder").values
            np.testing.assert_allclose(given, values, atol=WITHIN, rtol=1e-4)
            assert np.isnan(values).all() == (row == 3 and variable != "effect")


@pytest.mark.parametrize("name", FAMILIES)
def test_all_parts_of_the_pass_sum_to_the_logit(name: str) -> None:
    """Heads, biases, feed-forward layers and the embedding give the logit of the right token above the mean."""
    model, tokenizer = decoder(name)
    text = TEXTS[2]
    effects = measure(model, tokenizer, pd.DataFrame({"text": [text]}), only="direct_effect")["direct_effect"].effect
    parts = take_apart(model, tokenizer, text)
    sums, logits = [], []
    head = model.get_output_embeddings()
    norm_bias = getattr(final_norm(model), "bias", None)
    for query in range(len(parts.ids) - 1):
        right = parts.ids[query + 1]
        above = partial(parts.reader.above_mean, query=query, token=right)
        rest = above(parts.embedded[query]) + sum(above(wrote[query]) for wrote in parts.further)
        for layer, projection in enumerate(parts.projections):
            heads = projection @ parts.outputs[layer, :, query].ravel()
            rest += above(parts.written[layer][query] - heads)  # the projection's bias
        if norm_bias is not None:
            shifts = head.weight.detach().numpy() @ norm_bias.detach().numpy()
            rest += shifts[right] - shifts.mean()
        sums.append(rest)
        logits.append(parts.logits[query, right] - parts.logits[query].mean())
    assert float(abs(effects).sum()) > 0.1
    assert float(effects.sum()) + np.mean(sums) == pytest.approx(np.mean(logits), abs=1e-4)


def test_the_planted_head_predicts_the_second_copy() -> None:
    data = pd.DataFrame({"text": [repeated(seed, 12) for seed in range(3)]})
    found = measure(*planted_decoder(), data, only="direct_effect")["direct_effect"]
    assert at(found.effect_low, ROLES["induction"]) > 1
    assert at(found.gain, ROLES["induction"]) > 1
    others = [at(found.effect, f"L{layer}H{head}") for layer in range(2) for head in range(4)]
    assert sorted(others)[-2] < 0.1


def test_a_batch_is_its_texts() -> None:
    model, tokenizer = decoder("llama")
    data = pd.DataFrame({"text": TEXTS})
    alone, together = (
        measure(model, tokenizer, data, only=("direct_effect", "copying"), compute=hc.Compute(batch_tokens=tokens))
        for tokens in (1, 10**6)
    )
    for name in alone.children:
        for variable, values in alone[name].data_vars.items():
            np.testing.assert_allclose(values, together[name][variable], atol=WITHIN, err_msg=str(variable))


def test_models_without_direct_effects_say_why() -> None:
    model, tokenizer = planted_attention()
    with pytest.raises(InvalidOption, match="direct_effect cannot be measured here: only decoders"):
        measure(model, tokenizer, pd.DataFrame({"text": TEXTS}), only="direct_effect")
    data = pd.DataFrame({"source": TEXTS, "target": TEXTS})
    with pytest.raises(InvalidOption, match="copying cannot be measured here: only decoders"):
        measure(*translator(), data, only="copying")
    with pytest.raises(InvalidOption, match="no trained language-model head"):
        measure(model.bert, tokenizer, pd.DataFrame({"text": TEXTS}), only="direct_effect")
