"""Measures of one's own: asked by `only=` beside Headcount's, kept apart in a study, refused where they are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.core.schema import Schema
from headcount.errors import HeadcountError, InvalidOption
from headcount.measures.catalogue import MEASURES
from headcount.measures.contract import Question, Schemas, Seen, Values
from headcount.measures.own import version_of
from headcount.trace import blocks
from tests.measures.planted import SENTENCES, planted_attention
from tests.measures.planted_decoder import planted_decoder


class Chosen(Question):
    """Attention to some tokens of the vocabulary."""

    name = "chosen"
    summary = "attention to some tokens"
    schemas: ClassVar[Schemas] = {
        "attention": Schema("Attention to some tokens", "share of attention", range=(0, 1), most="looks most at them")
    }

    def __init__(self, ids: Any) -> None:
        self.ids = torch.as_tensor(ids)

    def see(self, seen: Seen) -> Values:
        return {"attention": seen.mean(seen.view.mass_on(torch.isin(seen.keys.token, self.ids)[:, None]))}


def measure(only: Any, **options: Any) -> xr.DataTree:
    model, tokenizer = planted_attention()
    return hc.measure(model, tokenizer, pd.DataFrame({"text": SENTENCES}), only=only, **options)


def some_ids() -> list[int]:
    _, tokenizer = planted_attention()
    return tokenizer(SENTENCES[0], add_special_tokens=False)["input_ids"][:2]


def test_it_is_the_naive_formula_and_shown(tmp_path: Path) -> None:
    measured = measure(["special", Chosen(some_ids())], out=tmp_path / "study")
    assert list(measured.children) == ["special", "chosen"]
    model, tokenizer = planted_attention()
    expected = []
    for text in SENTENCES:
        inputs = tokenizer(text, return_tensors="pt")
        maps = hc.observe(model, inputs).maps["encoder"][:, :, 0]
        chosen = torch.isin(inputs["input_ids"][0], torch.tensor(some_ids()))
        expected.append(maps[..., chosen].sum(-1).mean(-1).numpy())
    values = measured["chosen"].to_dataset().sortby("example")["values_attention"].values[:, 0]
    np.testing.assert_allclose(values, np.stack(expected), atol=1e-5)
    for result in (measured, hc.open_study(tmp_path / "study")):
        assert hc.show(result, "chosen.attention").title.startswith("Attention to some tokens")


def test_a_study_is_resumed_with_the_same_measure_only(tmp_path: Path) -> None:
    first, *others = some_ids()
    before = measure(Chosen([first]), out=tmp_path / "study")
    again = measure(Chosen([first]), out=tmp_path / "study")
    np.testing.assert_array_equal(before["chosen"]["attention"], again["chosen"]["attention"])
    with pytest.raises(HeadcountError, match="code"):
        measure(Chosen(others), out=tmp_path / "study")


def test_other_code_is_another_version() -> None:
    class Twice(Chosen):
        def see(self, seen: Seen) -> Values:
            return {name: 2 * values for name, values in super().see(seen).items()}

    class Typed(Chosen):
        exec("def see(self, seen): return {'attention': seen.view.total[..., 0]}")

    class TypedToo(Chosen):
        exec("def see(self, seen): return {'attention': seen.view.total[..., 1]}")

    versions = [version_of(each([1, 2])) for each in (Chosen, Twice, Typed, TypedToo)]
    assert len(set(versions)) == 4
    assert version_of(Chosen([1, 2])) == versions[0]
    assert {version_of(each) for each in MEASURES.values()} == {None}, "Headcount's own are known by their names"


def test_sets_have_one_version_whatever_their_order() -> None:
    one, other = Chosen([1]), Chosen([1])
    one.words, other.words = {"a", "b", "c"}, {"c", "b", "a"}  # type: ignore[attr-defined]
    assert version_of(one) == version_of(other)


def test_carriers_take_it() -> None:
    class Induced(Question):
        """The measure `induction` under another name."""

        name, summary = "induced", "attention to what followed the same token before"
        schemas: ClassVar[Schemas] = {"gain": MEASURES["induction"].schemas["gain"]}

        def see(self, seen: Seen) -> Values:
            return {"gain": MEASURES["induction"].see(seen)["gain"]}

    model, tokenizer = planted_decoder()
    data = "synthetic:repeat,length=8"
    own = hc.carriers(model, tokenizer, data, measure=Induced(), top=1, randoms=2, limit=40)
    known = hc.carriers(model, tokenizer, data, measure="induction", top=1, randoms=2, limit=40)
    assert own.attrs["measure"] == "induced"
    assert own["top_head"].values.tolist() == known["top_head"].values.tolist()
    assert float(own["together"]) == float(known["together"])


def changed(**attributes: Any) -> Question:
    """A measure with other attributes of its class."""
    return type("Mine", (Chosen,), attributes)([1])  # type: ignore[no-any-return]


def one_value(self: Question, seen: Seen) -> Any:
    return {"attention": seen.mean(seen.view.total)[:, 0]}


@pytest.mark.parametrize(
    ("only", "message"),
    [
        (Chosen, r"got the class Chosen in only=; .* instances of hc.Question; write Chosen\(\)"),
        ([3], "got int in only=; expected names of measures and instances of hc.Question"),
        (changed(name="special"), "the measure Mine has the name 'special', which Headcount's own has"),
        (changed(name="My measure"), "the name 'My measure'; expected lower-case letters and underscores"),
        (changed(name=None), "the measure Mine has no name; expected name = '...' in its class"),
        (changed(schemas={}), "the measure Mine has no schemas"),
        (changed(schemas={"a b": Schema("A")}), "has the variable 'a b'; expected an identifier"),
        (["special", changed(), changed()], "got chosen twice in only="),
        (
            changed(see=lambda self, seen: {}),
            r"see of the measure chosen gave \[\]; expected a dict of \['attention'\]",
        ),
        (changed(see=lambda self, seen: seen.mean(seen.view.total)), "gave Tensor; expected a dict of"),
        (changed(see=one_value), r"gave attention as \(\d+,\); expected a tensor of \d+ texts and \d+ heads"),
        (changed(see=lambda self, seen: {"attention": 0.5}), "gave attention as float; expected a tensor"),
    ],
)
def test_what_is_none_is_refused(only: Any, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        measure(only)


def test_a_long_text_is_asked_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `hc.Question` says of long texts: the same numbers, without a whole map."""
    whole = measure(Chosen(some_ids()))["chosen"]["attention"]
    monkeypatch.setattr(blocks, "CPU_BLOCK", 1500)
    blocked = measure(Chosen(some_ids()))["chosen"]["attention"]
    np.testing.assert_allclose(blocked, whole, atol=1e-6)
