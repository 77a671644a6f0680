"""Pairs that are worth an exact sweep: the top ones, a control that is random, and what the sweep says of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.choosing.screen_pairs import select_pairs
from headcount.core.heads import Layout
from headcount.errors import InvalidOption
from headcount.story.pairs import pair_sentences
from tests import planted
from tests.pruning import jobs

TEXTS = planted.texts(40)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def test_the_largest_of_either_sign_and_a_random_sample() -> None:
    heads = list(Layout.even({"encoder": (2, 3)}))
    second = np.zeros((6, 6))
    second[1, 4] = second[4, 1] = -3.0
    second[0, 2] = second[2, 0] = 2.0
    second[5, 5] = 9.0  # a head with itself is no pair
    found = select_pairs(heads, second, 2, 4, seed=0)
    assert found.top == ((heads[1], heads[4]), (heads[0], heads[2]))
    assert found.estimated == (-3.0, 2.0, 0, 0, 0, 0)
    assert found.of == 15
    assert len(set(found.control)) == 4
    assert not set(found.control) & set(found.top)
    drawn = {pair for seed in range(40) for pair in select_pairs(heads, second, 2, 4, seed).control}
    assert len(drawn) == 13, "any of the others"


def test_what_ran_is_as_among_all_pairs(tokenizer: Any) -> None:
    model = jobs.random_model()
    chosen = hc.screen_pairs(model, tokenizer, TEXTS, task="sst2", top=5, control=6)
    some = hc.sweep(model, tokenizer, TEXTS, task="sst2", by=chosen, metric="loss")
    whole = hc.sweep(model, tokenizer, TEXTS, task="sst2", by=hc.Pairs("all"), metric="loss")
    assert some.attrs["screen"] == {"estimate": "hessian", "top": 5, "control": 6, "of": 66}
    for pair in some["head_pair"].values:
        ours, theirs = some.sel(head_pair=pair), whole.sel(head_pair=pair)
        np.testing.assert_allclose(ours["interaction"], theirs["interaction"], atol=1e-6)
        # Not exactly as few: p-values are drawn anew.
        assert float(ours["q"]) >= 0.8 * float(theirs["q"])
    np.testing.assert_array_equal(some["selected"], [1] * 5 + [2] * 6)
    beyond = np.abs(whole["interaction"].values) > float(some["missed_effect"]) + 1e-12
    ran = np.isin(whole["head_pair"].values, some["head_pair"].values)
    assert int((beyond & ~ran).sum()) <= int(some["missed_high"]), "the bound holds"
    said = " ".join(pair_sentences(some))
    assert "5 of 66 pairs were run because they rank highest by hessian, and 6 others" in said
    assert f"at most {int(some['missed_high'])} of the 55 pairs that were not run do (95 % confidence)" in said
    assert "rank correlation" in said
    assert "may be small where one head of a pair takes over completely" in said


def test_pairs_of_some_heads(tokenizer: Any) -> None:
    model = jobs.random_model()
    chosen = hc.screen_pairs(model, tokenizer, TEXTS.head(8), task="sst2", among="L0, L2H1", top=3, control=2)
    assert chosen.of == 10
    layout = hc.read_anatomy(model).layout
    allowed = hc.HeadSet.of("L0, L2H1", layout).heads
    assert {head for pair in (*chosen.top, *chosen.control) for head in pair} <= allowed


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"among": "L0H1"}, "one head, L0H1"),
        ({"among": "L0", "stack": "encoder"}, "stack="),
        ({"top": 66}, "fewer than the 66 pairs"),
        ({"top": 60, "control": 7}, "at most 6"),
    ],
)
def test_what_is_refused(tokenizer: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        hc.screen_pairs(jobs.random_model(), tokenizer, TEXTS, task="sst2", **options)
