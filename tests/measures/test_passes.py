"""How texts become results: options that cannot be, batches of the tokens asked for, every value in its place."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.errors import NotFinite, StudyProblem
from headcount.measures import passes
from headcount.measures.compare import compare
from headcount.measures.contract import Question, Setting, Values
from headcount.measures.measure import measure
from headcount.measures.measurement import prepare_measurement
from headcount.measures.passes import collect
from headcount.models.fingerprint import model_fingerprint
from headcount.trace.edits import LayerKey
from tests import planted as planted_heads
from tests.measures.planted import SENTENCES
from tests.measures.test_measure import same
from tests.measures.tiny import causal, masked, translator

TEXTS = pd.DataFrame({"text": SENTENCES})
BOTH = pd.DataFrame({"source": SENTENCES[:5], "target": SENTENCES[5:]})


@pytest.fixture(scope="module")
def bert() -> Any:
    return masked()


class Batches:
    """The widths of every batch that a model runs on: of all its token inputs, side by side."""

    def __init__(self, model: Any) -> None:
        self.shapes: list[tuple[int, int]] = []
        self.real: list[int] = []
        self.keys: set[str] = set()
        self.handle = model.register_forward_pre_hook(self, with_kwargs=True)

    def __call__(self, model: Any, args: Any, kwargs: dict[str, Any]) -> None:
        ids = [kwargs[name] for name in ("input_ids", "decoder_input_ids") if name in kwargs]
        self.shapes.append((len(ids[0]), max(one.shape[1] for one in ids)))
        self.keys |= set(kwargs)
        mask = kwargs.get("attention_mask", torch.ones_like(ids[0]))
        self.real += mask.sum(1).tolist()


@pytest.mark.parametrize("tokens", [1, 20, 60, 150, 100_000])
@pytest.mark.parametrize("kind", ["masked", "causal", "translator"])
def test_batches_hold_at_most_the_tokens_asked_for(kind: str, tokens: int) -> None:
    model, tokenizer = {"masked": masked, "causal": causal, "translator": translator}[kind]()
    data = BOTH if kind == "translator" else TEXTS
    watched = Batches(model)
    measure(model, tokenizer, data, only="entropy", compute=hc.Compute(batch_tokens=tokens))
    assert all(rows * width <= tokens or rows == 1 for rows, width in watched.shapes)
    assert sum(rows for rows, _ in watched.shapes) == len(data)
    texts = data["source"] if kind == "translator" else data["text"]
    assert sorted(watched.real) == sorted(len(tokenizer(text)["input_ids"]) for text in texts)
    assert "labels" not in watched.keys
    if tokens == 1:
        assert len(watched.shapes) == len(data)
    elif tokens == 100_000:
        assert len(watched.shapes) == 1
    elif tokens == 60:
        assert 1 < len(watched.shapes) < len(data)


@pytest.mark.parametrize("which", ["measure", "compare"])
def test_both_models_and_all_passes_keep_to_it(which: str) -> None:
    model, tokenizer = masked()
    other = masked()[0]
    watched = [Batches(model), Batches(other)]
    if which == "measure":
        measure(model, tokenizer, TEXTS, only="entropy,gradients", compute=hc.Compute(batch_tokens=70))
        watched.pop()
    else:
        compare(model, other, tokenizer, TEXTS, compute=hc.Compute(batch_tokens=70))
        assert sorted(watched[0].shapes) == sorted(watched[1].shapes)  # several workers: in any order
    for one in watched:
        assert one.shapes
        assert all(rows * width <= 70 or rows == 1 for rows, width in one.shapes)


@pytest.mark.parametrize("tokens", [1, 33, 100_000])
def test_the_result_does_not_depend_on_batches(tokens: int) -> None:
    for model, data in ((causal(), TEXTS), (translator(), BOTH)):
        only = "entropy,spread,special,contribution,gradients"
        found, expected = (
            measure(*model, data, only=only, compute=hc.Compute(batch_tokens=number)) for number in (tokens, 200)
        )
        same(found, expected, atol=5e-5)


def test_the_result_does_not_depend_on_units(bert: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = measure(*bert, TEXTS, only="entropy,gradients")
    monkeypatch.setattr(passes, "UNIT", 4)
    told: list[tuple[float, float]] = []
    found = measure(*bert, TEXTS, only="entropy", progress=lambda *at: told.append(at))
    assert told == [(0, 10), (4, 10), (8, 10), (10, 10)]
    np.testing.assert_allclose(found["entropy"]["values_entropy"], expected["entropy"]["values_entropy"], atol=1e-5)


class Numbers(Question):
    """Says which text, stack, layer and head it was asked about."""

    name, summary, paper = "numbers", "which one", "none"

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"one": (), "many": ("part",)}

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {"part": ["a", "b", "c"]}

    def see(self, seen: Any) -> Values:
        one = _number(*seen).float()
        return {"one": one, "many": one[..., None] + torch.tensor([0.0, 0.25, 0.5])}


def _number(text: Any, stack: int, layer: int, head: Any) -> Any:
    return text * 1000 + stack * 100 + layer * 10 + head


def say_numbers(task: Any) -> Any:
    stacks = list(task.anatomy.stacks)

    def run(measures: list[Question], numbers: np.ndarray) -> dict[str, dict[LayerKey, Values]]:
        found: dict[LayerKey, Values] = {}
        for block in task.anatomy:
            heads = torch.tensor(block.heads)[None]
            texts = torch.tensor(task.inputs.ids[numbers])[:, None]
            found[block.stack, block.layer] = measures[0].see((texts, stacks.index(block.stack), block.layer, heads))
        return {"numbers": found}

    return run


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("limit", [None, 3])
def test_every_value_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: bool, limit: int | None
) -> None:
    """Whatever the order of the texts by length, units and batches; NaN where a stack has no such head."""
    monkeypatch.setattr(passes, "UNIT", 2)
    out = tmp_path / "study" if stored else None
    task = prepare_measurement(*translator(), BOTH, limit=limit, compute=hc.Compute(batch_tokens=30), out=out)
    rows = np.arange(len(task.inputs.ids))
    found = collect(task, [Numbers()], rows, say_numbers(task))["numbers"]
    assert found["example"].values.tolist() == task.inputs.ids.tolist()
    assert found["stack"].values.tolist() == ["encoder", "decoder", "cross"]
    checked = 0
    for text in found["example"].values:
        for place, stack in enumerate(["encoder", "decoder", "cross"]):
            for layer in range(3):
                for head in range(4):
                    at = {"example": text, "stack": stack, "layer": layer, "head": head}
                    there = stack == "encoder" or (layer < 2 and head < 2)
                    expected = _number(text, place, layer, head) if there else np.nan
                    np.testing.assert_equal(float(found["values_one"].sel(at)), expected)
                    np.testing.assert_equal(float(found["values_many"].sel(at | {"part": "b"})), expected + 0.25)
                    checked += there
    assert checked == len(rows) * (12 + 4 + 4)
    means = found["one"].sel(stack="cross").values
    np.testing.assert_allclose(means[:2, :2], _number(task.inputs.ids.mean(), 2, np.arange(2)[:, None], np.arange(2)))


def test_some_of_the_texts(bert: Any) -> None:
    task = prepare_measurement(*bert, TEXTS)
    found = collect(task, [Numbers()], np.array([2, 7]), say_numbers(task))["numbers"]
    assert found["example"].values.tolist() == [2, 7]
    assert found["values_one"].values[:, 0, 1, 3].tolist() == [2013, 7013]


def changed(model: Any, shift: float) -> Any:
    other = copy.deepcopy(model)
    with torch.no_grad():
        next(other.parameters()).add_(shift)
    return other


def test_what_a_result_is_known_by(bert: Any, tmp_path: Path) -> None:
    task = prepare_measurement(*bert, TEXTS, out=tmp_path / "study")
    rows, run = np.arange(10), say_numbers(task)

    def again(group: str, other: Any) -> Any:
        return collect(task, [Numbers()], rows, run, group, other=other)["numbers"]

    first = again("mine", changed(bert[0], 1.0))
    assert first.attrs["other"] == model_fingerprint(changed(bert[0], 1.0))
    assert again("mine", changed(bert[0], 1.0)).equals(first)
    with pytest.raises(StudyProblem, match="other: '"):
        again("mine", changed(bert[0], 2.0))
    again("yours", None)
    assert set(hc.open_study(tmp_path / "study").children) == {"mine", "yours"}


def test_in_memory_an_ablated_model_is_measured_as_it_is(bert: Any) -> None:
    model, tokenizer = bert
    with hc.ablated(model, "L0H1", how="uniform"):
        found = measure(model, tokenizer, TEXTS, only="entropy")["entropy"]
    shares = found["share_of_uniform"].values[0]
    assert shares[0, 1] == pytest.approx(1, abs=1e-5)
    assert (np.delete(shares[0], 1) < 0.95).all()


OVERFLOWS = pd.DataFrame({"text": ["so good it is", "the bad", "it is up so up", "a good"]})


@pytest.mark.parametrize("only", ["entropy", "distances", "gradients"])
def test_numbers_that_are_not_finite_are_an_error_with_row_and_layer(tmp_path: Path, only: str) -> None:
    """NaN is a measure's word for a question that does not apply: an overflow must not pass for one."""
    model = tf.BertForMaskedLM(planted_heads.classifier(3).config).eval()
    model.bert.load_state_dict(planted_heads.classifier(3).bert.state_dict(), strict=False)
    planted_heads.too_large_for_float16(model)
    tokenizer = planted_heads.tokenizer(tmp_path)
    assert hc.measure(model, tokenizer, OVERFLOWS, only=only)
    with pytest.raises(NotFinite, match=r"^row 2: the .* not finite, from L1 on \(float16\); .* dtype=float32"):
        hc.measure(model.half(), tokenizer, OVERFLOWS, only=only, out=tmp_path / "study")


def test_the_model_that_is_not_finite_is_named_in_a_comparison(tmp_path: Path) -> None:
    good, bad = planted_heads.classifier(3).half(), planted_heads.too_large_for_float16(planted_heads.classifier(3))
    bad.config._name_or_path = "after"
    with pytest.raises(NotFinite, match="^row 2: in after the outputs of its heads are not finite, from L1 on"):
        hc.compare(good, bad.half(), planted_heads.tokenizer(tmp_path), OVERFLOWS)


def test_what_does_not_apply_stays_nan(tmp_path: Path) -> None:
    """No full stop and no comma in a text: no attention to one, which is no error."""
    model, tokenizer = planted_heads.classifier(), planted_heads.tokenizer(tmp_path)
    found = hc.measure(model, tokenizer, OVERFLOWS, only=["features"])["features"]
    assert found["attention"].sel(feature="punctuation").isnull().all()
    assert found["attention"].sel(feature="sep").notnull().all()
