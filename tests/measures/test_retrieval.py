from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import headcount as hc
from headcount.errors import InvalidOption
from headcount.measures.measure import measure
from tests.measures import naive
from tests.measures.logit_cases import decoder
from tests.measures.planted import planted_attention
from tests.measures.planted_decoder import ROLES, planted_decoder
from tests.measures.test_induction import at


def needle(before: str, key: str, answer: str, after: str) -> dict[str, Any]:
    """The key, the answer, other words, and the key again: the answer is due."""
    lead = f"{before} {key} "
    return {
        "text": f"{lead}{answer} {after} {key} {answer}",
        "completion": f" {answer}",
        "needle_start": len(lead),
        "needle_end": len(lead) + len(answer),
    }


PLANTED = pd.DataFrame(
    [needle("a b c", "k", "x y z", "d e f"), needle("q", "r", "s", "t u v w b c d"), needle("a", "b", "c d", "e")]
)
TEXTS = pd.DataFrame(
    [
        needle("the dog saw", "every", "red fish", "near the river ,"),
        needle("a cat", "in", "the house", "with the cat and the house"),
        needle("she", "found", "him", "."),
    ]
)


def test_the_planted_head_looks_up_every_token() -> None:
    found = measure(*planted_decoder(), PLANTED, only="retrieval")["retrieval"]
    assert at(found.score, ROLES["induction"]) == 1
    assert at(found.attention, ROLES["induction"]) == pytest.approx(1, abs=1e-4)
    others = found.attention.where(found.attention < 0.9)
    assert int(others.notnull().sum()) == 7
    assert float(others.max()) < 0.2
    assert at(found.score, ROLES["previous"]) == at(found.score, ROLES["duplicate"]) == 0
    assert at(found.attention, "L0H0") == pytest.approx(at(found.chance, "L0H0"), abs=1e-6)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_is_the_formula(name: str) -> None:
    model, tokenizer = decoder(name)
    found = measure(model, tokenizer, TEXTS, only="retrieval")["retrieval"]
    for row, values in TEXTS.iterrows():
        encoded = tokenizer(values.text, return_offsets_mapping=True)
        ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
        inside = [at for at, (first, _) in enumerate(offsets) if values.needle_start <= first < values.needle_end]
        answer = [at for at, (first, _) in enumerate(offsets) if first >= len(values.text) - len(values.completion)]
        assert len(inside) == len(answer)
        maps = hc.observe(model, tokenizer(values.text, return_tensors="pt")).maps["decoder"][:, :, 0].double().numpy()
        expected = naive.retrieval(maps, ids, inside, answer)
        for variable, numbers in expected.items():
            given = found[f"values_{variable}"].sel(example=row, stack="decoder").values
            np.testing.assert_allclose(given, numbers, atol=1e-6, err_msg=variable)


def test_a_needle_that_was_cut_off_has_no_score() -> None:
    model, tokenizer = planted_decoder()
    data = pd.DataFrame([needle("a b c", "k", "x", "d e f g"), needle("a", "k", "x", "d")])
    found = measure(model, tokenizer, data, only="retrieval", max_length=9)["retrieval"].values_score
    assert found.sel(example=0).isnull().all()
    assert found.sel(example=1).notnull().all()


def test_texts_without_marks_and_encoders_say_why() -> None:
    plain = PLANTED[["text"]]
    with pytest.raises(InvalidOption, match="retrieval cannot be measured here: the texts mark no needle"):
        measure(*planted_decoder(), plain, only="retrieval")
    with pytest.raises(InvalidOption, match="only decoders"):
        measure(*planted_attention(), TEXTS, only="retrieval")


def test_direct_effects_are_those_on_the_completion() -> None:
    model, tokenizer = planted_decoder()
    whole = measure(model, tokenizer, PLANTED[["text"]], only="direct_effect")["direct_effect"].effect
    found = measure(model, tokenizer, PLANTED, only="direct_effect")["direct_effect"].effect
    head = ROLES["induction"]
    assert at(found, head) > 2 > at(whole, head)
