from __future__ import annotations

import pandas as pd
import pytest
import tokenizers as tk

from headcount.measures.measure import measure
from tests.measures.planted_decoder import ROLES, planted_decoder
from tests.measures.test_induction import at


@pytest.mark.parametrize(("times", "expected"), [(2, 1 / 2), (3, (1 / 2 + 2 / 3) / 2)])
def test_finds_the_planted_head(times: int, expected: float) -> None:
    """It looks at all tokens of the same word, also at the token itself."""
    data = pd.DataFrame({"text": [" ".join(["a b c d e"] * times), " ".join(["f g h i j k l"] * times)]})
    found = measure(*planted_decoder(), data, only="duplicate")["duplicate"]
    assert at(found.attention, ROLES["duplicate"]) == pytest.approx(expected, abs=1e-4)
    assert at(found.control, ROLES["duplicate"]) < 1e-4
    others = [at(found.gain, f"L{layer}H{head}") for layer in range(2) for head in range(4)]
    assert sorted(others)[-2] < 1e-4


def test_a_first_token_that_comes_again_is_left_out() -> None:
    """Of a model without a token that begins a text: heads that park their attention there would look like it."""
    model, tokenizer = planted_decoder()

    tokenizer.backend_tokenizer.post_processor = tk.processors.TemplateProcessing(single="$A", special_tokens=[])
    data = pd.DataFrame({"text": ["a b c a d", "a b c b d"]})
    found = measure(model, tokenizer, data, only="duplicate")["duplicate"].values_attention
    assert found.sel(example=0).isnull().all()
    assert found.sel(example=1).notnull().all()
