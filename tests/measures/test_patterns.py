"""The patterns of heads that are known by construction, of texts too short to have any, and of every kind of stack."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.core.statistics import mean_interval
from headcount.measures.compare import compare
from headcount.measures.measure import measure
from headcount.measures.patterns import SHORTEST
from headcount.patterns.naming import PATTERNS, pattern_chances, read_rule
from headcount.patterns.shapes import SHAPES
from tests.measures.cases import EVERY, UNIFORM, at, others
from tests.measures.planted import OTHERS, PAIRS, ROLES, SENTENCES, SIZE
from tests.measures.test_measure import same
from tests.measures.tiny import causal, masked, translator
from tests.patterns.test_shapes import numbers

LONG = [
    "The man gave the letter to the woman because the woman wrote the letter.",
    "They ran quickly, and we found some fish near the river with the old teacher.",
    "You read the book, opened the door, saw the garden, and slept with the cat in the small house on the river.",
    "A teacher is not a child, a dog is not a cat, a fish is not a bird.",
    "Every child likes the old teacher, but he never saw him in the garden near this house.",
    "A small bird sings in this tree, and every night the woman opened the door to the garden, but the dog slept.",
]
"""Of 16 to 27 tokens."""
COUPLES = list(zip(LONG, [*LONG[2:], *LONG[:2]], strict=True))
SHORT = ["She slept.", "He ran to her."]
LOOKS = {
    "previous": "diagonal",
    "next": "diagonal",
    "same": "diagonal",
    "separator": "vertical",
    "first": "vertical",
    "uniform": "heterogeneous",
}
VARIABLES = ("share", "sure", "shapes")


def found_in(model: Any, texts: Any, **options: Any) -> xr.Dataset:
    """The measure of texts, or of pairs."""
    columns = ["text"] if isinstance(texts[0], str) else ["sentence1", "sentence2"]
    data = pd.DataFrame(texts if len(columns) > 1 else {"text": texts}, columns=columns)
    return measure(*model, data, only="patterns", **options)["patterns"].to_dataset()


@pytest.fixture(scope="module")
def texts(planted_model: Any) -> xr.Dataset:
    return found_in(planted_model, LONG)


@pytest.fixture(scope="module")
def pairs(planted_model: Any) -> xr.Dataset:
    return found_in(planted_model, COUPLES)


def check_whole(found: xr.Dataset) -> None:
    """What holds of any result: each map has one name, and shares are means of these."""
    named = found["values_share"]
    known = named.notnull().all("pattern")
    assert (named.isnull().all("pattern") == ~known).all()
    assert known.any()
    assert set(np.unique(named.values[known.values])) == {0, 1}
    assert (named.sum("pattern").values[known.values] == 1).all()
    assert (found["values_sure"].notnull() == known).all()
    assert (found["values_shapes"].notnull() == known).all()
    there = known.any("example")
    share = found["share"]
    np.testing.assert_allclose(share.sum("pattern").values[there.values], 1, atol=1e-6)
    np.testing.assert_allclose(share, named.mean("example"), atol=1e-6)
    expected = xr.where(there, share.fillna(-1).argmax("pattern"), np.nan)
    np.testing.assert_array_equal(found["mostly"], expected)
    np.testing.assert_allclose(found["whole_share"], share.mean(("layer", "head")), atol=1e-6)
    for name in ("share", "sure", "shapes", "whole_share"):
        low, mean, high = (found[f"{name}{end}"].values for end in ("_low", "", "_high"))
        some = np.isfinite(mean)
        assert (low[some] <= mean[some] + 1e-6).all()
        assert (mean[some] <= high[some] + 1e-6).all()


@pytest.mark.parametrize("kind", ["texts", "pairs"])
@pytest.mark.parametrize("role", LOOKS)
def test_finds_what_is_planted(kind: str, role: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(kind)
    assert at(found["share"].sel(pattern=LOOKS[role]), ROLES[role]) == 1
    assert PATTERNS[int(at(found["mostly"], ROLES[role]))] == LOOKS[role]
    assert (at(found["values_sure"], ROLES[role]) > 0.5).all()


def test_blocks_are_those_of_pairs(texts: xr.Dataset, pairs: xr.Dataset) -> None:
    """A single text is one sentence: to look at one's own is to look at all alike."""
    place = ROLES["own sentence"]
    assert PATTERNS[int(at(pairs["mostly"], place))] == "block"
    assert at(pairs["share"].sel(pattern="block"), place) == 1
    assert others(pairs["share"].sel(pattern="block"), place).max() == 0
    assert at(texts["share"].sel(pattern="heterogeneous"), place) == 1


@pytest.mark.parametrize("kind", ["texts", "pairs"])
def test_every_head_without_a_role_is_heterogeneous(kind: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(kind)
    for place in UNIFORM:
        assert at(found["share"], place).tolist() == [0, 0, 0, 0, 1]
        assert at(found["values_shapes"].sel(shape="even"), place) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("kind", ["texts", "pairs"])
def test_names_and_shares_fit_together(kind: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(kind)
    check_whole(found)
    assert found["values_share"].notnull().all()
    assert found["pattern"].values.tolist() == list(PATTERNS)
    assert found["shape"].values.tolist() == list(SHAPES)
    assert found["share"].dims == ("stack", "layer", "head", "pattern")
    assert found["whole_share"].dims == ("stack", "pattern")
    assert float(found["whole_share"].sum()) == pytest.approx(1)


def test_a_name_is_the_likeliest_by_the_shapes(texts: xr.Dataset) -> None:
    chances = pattern_chances(torch.tensor(texts["values_shapes"].values))
    np.testing.assert_allclose(texts["values_sure"], chances.amax(-1), atol=1e-5)
    assert (texts["values_share"].argmax("pattern").values == chances.argmax(-1).numpy()).all()


def test_shapes_are_those_of_the_text_alone(planted_model: Any, texts: xr.Dataset) -> None:
    model, tokenizer = planted_model
    for row in (0, 2):
        maps = hc.observe(model, dict(tokenizer(LONG[row], return_tensors="pt"))).maps["encoder"][:, :, 0]
        for place in EVERY:
            layer, head = map(int, place[1:].split("H"))
            expected = list(numbers(maps[layer, head].float()).values())
            np.testing.assert_allclose(at(texts["values_shapes"].sel(example=row), place), expected, atol=2e-4)


def test_intervals_of_the_whole_are_over_texts(planted_model: Any) -> None:
    """The mean over the heads of each text, then over texts: a text is one draw, not each of its maps."""
    found = found_in(planted_model, LONG + SENTENCES, seed=3)
    by_text = found["values_share"].mean(("layer", "head"))
    for end, expected in zip(("", "_texts_low", "_texts_high"), mean_interval(by_text.values, seed=3), strict=True):
        np.testing.assert_allclose(found[f"whole_share{end}"], expected, atol=1e-6)
    assert (found["whole_share_texts_high"] > found["whole_share_texts_low"]).any()


def test_intervals_of_the_whole_include_the_mistakes_of_the_rule(texts: xr.Dataset) -> None:
    """Both ends lie as far out as the texts and the rule's errors take them together, and within 0 and 1."""
    share = texts["whole_share"].values
    margin = read_rule().share_margin(share)
    for end, sign in (("low", -1), ("high", 1)):
        alone = texts[f"whole_share_texts_{end}"].values
        expected = np.clip(share + sign * np.sqrt((alone - share) ** 2 + margin**2), 0, 1)
        np.testing.assert_allclose(texts[f"whole_share_{end}"], expected, atol=1e-6)
    assert (texts["whole_share_high"] > texts["whole_share_low"] + 0.02).all()


@pytest.mark.parametrize("batch_tokens", [1, 10**6])
def test_short_texts_have_no_pattern(planted_model: Any, texts: xr.Dataset, batch_tokens: int) -> None:
    """Beside longer ones in the same batch they change nothing, in the shares or elsewhere."""
    mixed = found_in(planted_model, [*SHORT, *LONG], compute=hc.Compute(batch_tokens=batch_tokens))
    few = len(SHORT)
    for name in VARIABLES:
        assert mixed[f"values_{name}"][:few].isnull().all()
        np.testing.assert_allclose(mixed[f"values_{name}"][few:], texts[f"values_{name}"], atol=2e-4)
        np.testing.assert_allclose(mixed[name], texts[name], atol=2e-4)
    np.testing.assert_allclose(mixed["whole_share"], texts["whole_share"], atol=1e-6)
    check_whole(mixed)


def test_how_short_is_too_short(planted_model: Any) -> None:
    tokenizer = planted_model[1]
    words = sorted(OTHERS)[: SHORTEST - 2]
    table = [" ".join(words), " ".join(words[:-1])]
    assert [len(tokenizer(text)["input_ids"]) for text in table] == [SHORTEST, SHORTEST - 1]
    assert found_in(planted_model, table)["values_sure"].notnull().all(("stack", "layer", "head")).values.tolist() == [
        True,
        False,
    ]


def test_short_texts_alone(planted_model: Any) -> None:
    """No error and no name."""
    found = found_in(planted_model, SHORT)
    for name in found.data_vars:
        assert found[name].isnull().all(), name
    assert found.sizes["example"] == len(SHORT)


def test_batches_and_their_order_do_not_matter() -> None:
    """With a model that looks around, whose maps are not on the border of two names by construction."""
    model = masked()
    whole = found_in(model, LONG + SHORT, compute=hc.Compute(batch_tokens=10**6))
    assert (whole["whole_share"] > 0).sum() > 1
    order = [5, 0, 7, 3, 1, 6, 2, 4]
    shuffled = found_in(model, [(LONG + SHORT)[row] for row in order], compute=hc.Compute(batch_tokens=60))
    for other in (
        found_in(model, LONG + SHORT, compute=hc.Compute(batch_tokens=1)),
        shuffled.isel(example=np.argsort(order)),
    ):
        for name in VARIABLES:
            np.testing.assert_allclose(other[f"values_{name}"], whole[f"values_{name}"], atol=2e-4, err_msg=name)


def test_kernels_do_not_matter(planted_model: Any, texts: xr.Dataset) -> None:
    model = copy.deepcopy(planted_model[0])
    model.set_attn_implementation("eager")
    found = found_in((model, planted_model[1]), LONG)
    for name in VARIABLES:
        np.testing.assert_allclose(found[f"values_{name}"], texts[f"values_{name}"], atol=2e-4)


def test_cross_attention_has_no_pattern() -> None:
    """Nor have the heads and layers that a stack has not."""
    data = pd.DataFrame({"source": LONG, "target": [*LONG[1:], SHORT[1]]})
    found = measure(*translator(), data, only="patterns")["patterns"].to_dataset()
    for name in (*VARIABLES, "mostly", "whole_share"):
        assert found[name].sel(stack="cross").isnull().all()
    sure = found["values_sure"]
    assert sure.sel(stack="encoder").notnull().all()
    decoder = sure.sel(stack="decoder").values
    assert np.isfinite(decoder[:-1, :2, :2]).all()
    assert np.isnan(decoder[-1]).all()  # its target is short, its source is not
    assert np.isnan(decoder[:, 2:]).all()
    assert np.isnan(decoder[:, :, 2:]).all()
    check_whole(found)
    assert found["whole_share"].sel(stack="decoder").sum() == pytest.approx(1)


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_where_the_future_is_hidden(kernel: str) -> None:
    model, tokenizer = causal()
    model.set_attn_implementation(kernel)
    found = found_in((model, tokenizer), LONG + SHORT)
    check_whole(found)
    for row in (1, 4):
        maps = hc.observe(model, dict(tokenizer(LONG[row], return_tensors="pt"))).maps["decoder"][:, :, 0]
        assert not maps.triu(1).any()
        for layer in range(2):
            for head in range(4):
                expected = list(numbers(maps[layer, head].float(), causal=True).values())
                given = found["values_shapes"].sel(example=row, stack="decoder", layer=layer, head=head)
                np.testing.assert_allclose(given, expected, atol=2e-4)


def test_a_head_that_looks_elsewhere_in_another_model(planted_model: Any) -> None:
    """L0H0, which looked back, now looks at the first token: from all diagonal to all vertical."""
    model, tokenizer = planted_model
    other = copy.deepcopy(model)
    there, back = (other.bert.encoder.layer[layer].attention.self for layer in (1, 0))
    with torch.no_grad():
        for kind in ("query", "key"):
            getattr(back, kind).weight[:SIZE] = getattr(there, kind).weight[4 * SIZE : 5 * SIZE]
    assert (ROLES["previous"], ROLES["first"]) == ("L0H0", "L1H4")
    data = pd.DataFrame({"text": LONG + SHORT})
    changed = compare(model, other, tokenizer, data)["patterns"]
    assert at(changed["share"], "L0H0").tolist() == [1, -1, 0, 0, 0]
    assert not others(changed["share"], "L0H0").any()
    assert changed["values_share"][len(LONG) :].isnull().all()
    before, after = (measure(one, tokenizer, data, only="patterns")["patterns"] for one in (model, other))
    np.testing.assert_allclose(changed["share"], after["share"] - before["share"], atol=1e-6)
    assert "mostly" not in changed.data_vars  # the number of a pattern has no difference
    assert changed["pattern"].values.tolist() == list(PATTERNS)


def test_what_is_said_beside_the_numbers(texts: xr.Dataset) -> None:
    rule = read_rule()
    assert texts.attrs["confusion"] == rule.confusion.tolist()
    assert all(isinstance(number, int) for row in texts.attrs["confusion"] for number in row)
    assert texts.attrs["rule"] == rule.said
    assert texts.attrs["f1"] == rule.f1
    assert texts.attrs["reliability"] == rule.reliability
    assert texts.attrs["measure"] == "patterns"


def test_a_study_holds_the_same_as_the_memory(planted_model: Any, texts: xr.Dataset, tmp_path: Any) -> None:
    stored = found_in(planted_model, LONG, out=tmp_path / "study")
    same(*(xr.DataTree.from_dict({"patterns": one}) for one in (stored, texts)))
    for key in ("confusion", "f1", "reliability", "rule"):
        assert stored.attrs[key] == texts.attrs[key]


def test_all_texts_of_the_planted_model(planted_model: Any) -> None:
    """Any sentence and any pair of 8 tokens has a name, and the planted ones have theirs."""
    for rows in (SENTENCES, PAIRS):
        found = found_in(planted_model, rows)
        check_whole(found)
        for role in ("same", "first", "uniform"):
            assert at(found["share"].sel(pattern=LOOKS[role]), ROLES[role]) > 0.8
