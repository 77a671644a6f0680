from __future__ import annotations

import numpy as np
import pytest

from headcount.measures.measure import measure
from tests.measures.cases import UNIFORM, Texts, at


@pytest.mark.parametrize("name", ["bundled_pairs", "planted_texts", "planted_pairs"])
def test_is_the_formula(name: str, request: pytest.FixtureRequest) -> None:
    """Counted again by hand: how often each piece stands in the texts, and what its place gets."""
    texts: Texts = request.getfixturevalue(name)
    found = texts.measured("rare")["rare"].to_dataset()
    seen = [texts.seen(int(row)) for row in found.example.values]
    pieces = [token for text in seen for place, token in enumerate(text.tokens) if _word(text, place)]
    numbers = texts.tokenizer.get_vocab()
    for row, text in enumerate(seen):
        words = [place for place in range(len(text.tokens)) if _word(text, place)]
        rarest = min(words, key=lambda at: (pieces.count(text.tokens[at]), -numbers[text.tokens[at]], at))
        others = [place for place in words if place != rarest]
        queries = [place for place in range(len(text.tokens)) if place != rarest]
        maps = text.maps[:, :, queries]
        values = found.isel(example=row, stack=0)
        np.testing.assert_allclose(values.values_attention, maps[..., rarest].mean(-1), rtol=1e-4, atol=1e-5)
        if others:
            control = maps[..., others].mean(-1).mean(-1)
            np.testing.assert_allclose(values.values_control, control, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(values.values_gain, maps[..., rarest].mean(-1) - control, rtol=1e-4, atol=1e-5)
        assert ((values.values_largest >= 0) & (values.values_largest <= 1)).all()


def _word(text: object, place: int) -> bool:
    token = text.tokens[place]  # type: ignore[attr-defined]
    return token not in ("[CLS]", "[SEP]", ".", ",") and token.removeprefix("##") not in (".", ",")


def test_uniform_heads_gain_nothing(planted_texts: Texts) -> None:
    found = planted_texts.measured("rare")["rare"].to_dataset()
    for place in UNIFORM:
        assert at(found.gain, place) == pytest.approx(0, abs=1e-6)


def test_text_without_words_says_nothing(planted_texts: Texts) -> None:
    """A full stop alone has no rarest word, and is left out of the mean."""
    found = measure(planted_texts.model, planted_texts.tokenizer, _table(["the dog slept", "."]), only="rare")
    values = found["rare"].values_attention.values
    assert np.isfinite(values[0]).all()
    assert np.isnan(values[1]).all()


def _table(texts: list[str]) -> object:
    import pandas as pd

    return pd.DataFrame({"sentence": texts})
