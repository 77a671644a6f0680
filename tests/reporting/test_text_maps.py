"""The maps of a study's texts: weights, tokens, and which of two models was before fine-tuning."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headcount.core.heads import Head
from headcount.errors import InvalidOption
from headcount.reporting.text_maps import choose_text, find_text_maps
from tests.reporting.drawn import view_of

PACKED = np.arange(2 * 3 * 4 * 4, dtype=np.uint8).reshape(2, 3, 4, 4)


def maps(text: str, model: str) -> xr.Dataset:
    present = np.ones((2, 3), dtype=bool)
    present[1, 2] = False
    return xr.Dataset(
        {
            "maps_encoder": (("layer", "head", "query", "key"), PACKED),
            "tokens": ("query", np.array(list("abcd"), dtype=object)),
            "present_encoder": (("layer", "head"), present),
        },
        attrs={"text": text, "pair": None, "model": model},
    )


def test_weights_and_tokens() -> None:
    (one,) = find_text_maps(view_of({"maps/text-0": maps("a b", "tuned")}))
    head = Head("encoder", 1, 0)
    np.testing.assert_allclose(one.weights(head), (PACKED[1, 0] / 255) ** 2, atol=1e-6)
    assert one.tokens("encoder") == (list("abcd"), list("abcd"))
    assert one.has(head)
    assert not one.has(Head("encoder", 1, 2)), "it was removed"
    assert not one.has(Head("encoder", 2, 0))
    assert not one.has(Head("cross", 0, 0))
    assert (one.text, one.model, one.before) == ("a b", "tuned", None)


def test_the_same_text_before_fine_tuning() -> None:
    compared = xr.Dataset(attrs={"model": "models/base", "other_model": "models/tuned"})
    results = {
        "maps/text-0": maps("one", "models/tuned"),
        "maps/text-0-other": maps("one", "models/base"),
        "maps/text-1": maps("two", "models/base"),  # alone: no text of the tuned model stands beside it
        "compare/special": compared,
    }
    first, second = find_text_maps(view_of(results))
    assert first.before is not None
    assert (first.model, first.before.model) == ("models/tuned", "models/base")
    assert (second.text, second.before) == ("two", None)


def test_the_name_says_which_model_came_before() -> None:
    results = {"maps/text-0-before": maps("one", "base"), "maps/text-0": maps("one", "tuned")}
    (found,) = find_text_maps(view_of(results))
    assert found.before is not None
    assert found.before.model == "base"


def test_texts_are_counted_from_0() -> None:
    known = find_text_maps(view_of({"maps/text-0": maps("a", "m"), "maps/text-1": maps("b", "m")}))
    assert choose_text(known, None).text == choose_text(known, 0).text == "a"
    assert choose_text(known, 1).text == "b"
    for number in (-1, 2):
        with pytest.raises(InvalidOption, match=f"got text={number}; this study has maps of the texts 0 to 1"):
            choose_text(known, number)
    with pytest.raises(InvalidOption, match="maps of one text, number 0"):
        choose_text(known[:1], 1)
