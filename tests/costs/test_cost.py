"""Are a model's parameters, bytes and operations what one counts by hand, and is time taken in turns?"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import headcount as hc
from headcount.core.group import Group
from headcount.core.units import Selection
from headcount.costs import cost as cost_file
from headcount.costs.cost import cost, flops, make_inputs, size, time_in_turns, time_shares
from headcount.costs.turns import WARM_UP
from headcount.errors import InvalidOption, StudyProblem
from headcount.models.anatomy import read_anatomy
from tests.contracts.zoo import BY_NAME, CASES, Case, tiny
from tests.measures.tiny import hooks_of

WIDTH, INNER, LAYERS, WORDS, POSITIONS = 32, 40, 3, 60, 64
HALF = ["L0H0-1", "L1H0-1", "L2H0-1"]
QUICK: dict[str, Any] = {"batches": [1, 2], "lengths": [4, 8], "repeats": 1}
IMAGES: dict[str, Any] = {"batches": [1, 2], "repeats": 1}


def attention(heads: int = 4, kv_heads: int = 4, bias: bool = True) -> int:
    """Query, key, value and output of one layer with heads of size 8."""
    rows = 8 * (heads + 2 * kv_heads)
    return rows * WIDTH + 8 * heads * WIDTH + (rows + WIDTH if bias else 0)


def test_bert_by_hand() -> None:
    layer = attention() + 2 * (2 * WIDTH) + 2 * WIDTH * INNER + INNER + WIDTH
    rest = (WORDS + POSITIONS + 2) * WIDTH + 2 * WIDTH + WIDTH * WIDTH + WIDTH
    assert size(tiny("bert")) == {
        "parameters": LAYERS * layer + rest,
        "attention_parameters": LAYERS * attention(),
        "feed_forward_parameters": LAYERS * (2 * WIDTH * INNER + INNER + WIDTH),
        "heads": LAYERS * 4,
        "units": LAYERS * INNER,
        "bytes": 4 * (LAYERS * layer + rest),
    }


@pytest.mark.parametrize(
    ("name", "heads", "expected"),
    [
        ("bert", HALF, LAYERS * attention(2, 2)),
        ("bert", ["L0", "L1H0"], WIDTH + attention(3, 3) + attention()),
        ("bert", ["L0U1-3", "L1U"], LAYERS * attention()),
        ("llama", [], LAYERS * attention(4, 2, bias=False)),
        ("llama", HALF, LAYERS * attention(2, 1, bias=False)),
        ("llama", ["L0H0", "L0H2"], attention(2, 2, bias=False) + 2 * attention(4, 2, bias=False)),
        ("bart", [], 3 * LAYERS * attention()),
        (
            "bart",
            [f"{stack}.{word}" for stack in ("encoder", "decoder", "cross") for word in HALF],
            3 * LAYERS * attention(2, 2),
        ),
        (
            "t5",
            ["cross.L0", "encoder.L1H1-3"],
            7 * attention(bias=False) + attention(1, 1, bias=False) + 2 * 32 * 4,
        ),  # two tables of 32 distances x 4 heads
    ],
)
def test_attention_by_hand(name: str, heads: list[str], expected: int) -> None:
    before = size(tiny(name))
    found = size(hc.prune(tiny(name), heads) if heads else tiny(name))
    assert found["attention_parameters"] == expected
    gone = before["attention_parameters"] - expected + before["feed_forward_parameters"]
    gone -= found["feed_forward_parameters"]
    removed = Selection.of(heads, read_anatomy(tiny(name)).layout, read_anatomy(tiny(name)).units)
    assert found["heads"] == before["heads"] - len(removed.heads)
    assert found["units"] == before["units"] - len(removed.units)
    assert before["parameters"] - found["parameters"] == gone
    assert before["bytes"] - found["bytes"] == 4 * gone


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "bart", "t5", "vit"])
def test_half_of_the_heads_is_half_of_the_weights(name: str) -> None:
    words = [word for one in HALF for word in BY_NAME[name].spell(one)]
    before, after = size(tiny(name)), size(hc.prune(tiny(name), words))
    assert after["attention_parameters"] / before["attention_parameters"] == pytest.approx(0.5, abs=0.01)


def test_bytes_of_tied_and_of_half_weights() -> None:
    model = tiny("gpt2", head="AutoModelForCausalLM")
    assert size(model)["bytes"] == 4 * size(model)["parameters"], "the output is the embedding"
    assert size(model.half())["bytes"] == 2 * size(model)["parameters"]


def test_units_that_go_take_their_rows_and_columns_along() -> None:
    before, after = size(tiny("bert")), size(hc.prune(tiny("bert"), ["L0U1-3", "L1U"]))
    gone = before["feed_forward_parameters"] - after["feed_forward_parameters"]
    assert gone == (3 + INNER) * (2 * WIDTH + 1)


def naive_flops(batch: int, length: int, heads: int = 4) -> int:
    """Of the matrix products of a BERT: two for each number that is multiplied and added."""
    tokens, inner = batch * length, 8 * heads
    linear = tokens * (4 * WIDTH * inner + 2 * WIDTH * INNER)
    scores_and_sums = 2 * batch * length * length * inner
    return 2 * LAYERS * (linear + scores_and_sums) + 2 * batch * WIDTH * WIDTH


@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
@pytest.mark.parametrize(("batch", "length"), [(1, 8), (3, 20)])
def test_operations_by_hand(kernel: str, batch: int, length: int) -> None:
    model = tiny("bert", kernel)
    assert flops(model, make_inputs(model, batch, length)) == naive_flops(batch, length)
    hc.prune(model, HALF)
    assert flops(model, make_inputs(model, batch, length)) == naive_flops(batch, length, heads=2)


class Runner(nn.Module):
    """Writes down each pass."""

    device = torch.device("cpu")

    def __init__(self, name: str, seen: list[Any]) -> None:
        super().__init__()
        self.name, self.seen = name, seen

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append((self.name, self.training, torch.is_grad_enabled(), float(x)))
        return x


def test_models_take_turns() -> None:
    seen: list[Any] = []
    models: Any = {name: Runner(name, seen).train() for name in ("a", "b")}
    times = time_in_turns(models, {"a": {"x": torch.tensor(1.0)}, "b": {"x": torch.tensor(2.0)}}, 3)
    turns = [seen[at : at + 2] for at in range(0, len(seen), 2)]
    assert len(turns) == WARM_UP + 3
    assert all(sorted(turn) == [("a", False, False, 1.0), ("b", False, False, 2.0)] for turn in turns)
    assert {turn[0][0] for turn in turns} == {"a", "b"}, "none is always the first"
    assert list(times) == ["a", "b"]
    assert all(len(found) == 3 and min(found) > 0 for found in times.values())
    assert all(model.training for model in models.values())


def test_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four shapes, two models, and times that are known."""
    whole, half = tiny("bert"), hc.prune(tiny("bert"), HALF)
    steps: list[Any] = []
    known = {"whole": [0.004, 0.001, 0.002, 0.003, 0.010], "half": [0.002] * 5}
    asked: list[int] = []

    def times(models: Any, _: Any, repeats: int) -> Any:
        asked.append(repeats)
        return {name: known[name] for name in models}

    monkeypatch.setattr(cost_file, "time_in_turns", times)
    found = cost(
        {"whole": whole, "half": half},
        batches=[1, 3],
        lengths=[8, 64],
        repeats=5,
        progress=lambda *step: steps.append(step),
    )
    assert asked == [5] * 4
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    shapes = [(1, 8), (1, 64), (3, 8), (3, 64)]
    assert [(row.model, row.batch, row.length) for row in found.itertuples()] == [
        (name, *shape) for shape in shapes for name in ("whole", "half")
    ]
    first = found[found.model == "whole"]
    np.testing.assert_allclose(first[["ms_low", "ms", "ms_high"]], [[2, 3, 4]] * 4)
    np.testing.assert_allclose(first["per_second"], np.array([1, 1, 3, 3]) / 0.003)
    for name, model in (("whole", whole), ("half", half)):
        rows = found[found.model == name]
        for key, value in size(model).items():
            assert set(rows[key]) == {value}
        assert list(rows["flops"]) == [flops(model, make_inputs(model, *shape)) for shape in shapes]
    assert (found[found.model == "half"]["peak_bytes"].values < first["peak_bytes"].values).all()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_family(case: Case) -> None:
    model = tiny(case.name, case.kernels[0]).train()
    found = cost({case.name: model}, **(IMAGES if case.kind == "vision" else QUICK))
    shapes = [(1, 0), (2, 0)] if case.kind == "vision" else [(1, 4), (1, 8), (2, 4), (2, 8)]
    assert list(zip(found["batch"], found["length"], strict=True)) == shapes
    assert (found[["ms", "flops", "peak_bytes", "per_second"]].to_numpy() > 0).all()
    assert (found["ms_low"] <= found["ms"]).all()
    assert (found["ms"] <= found["ms_high"]).all()
    assert (found["peak_bytes"] > found["bytes"]).all()
    assert (found["attention_parameters"] < found["parameters"]).all()
    by_batch = found.groupby("batch")["flops"].sum()
    assert by_batch[1] < by_batch[2] <= 2 * by_batch[1]
    shares = time_shares(model, make_inputs(model, 2, 8), repeats=1)
    assert shares.feed_forward is not None
    assert 0 < min(shares) <= sum(shares) < 1
    assert model.training
    assert hooks_of(model) == 0


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("bert", "AutoModelForMultipleChoice"),
        ("bert", "AutoModelForTokenClassification"),
        ("llama", "AutoModelForCausalLM"),
        ("marian", "AutoModelForSeq2SeqLM"),
        ("vit", "AutoModelForImageClassification"),
        pytest.param("bart", "AutoModelForSequenceClassification"),
        pytest.param("gpt2", "AutoModelForSequenceClassification"),
    ],
)
def test_models_with_the_head_of_a_task(name: str, head: str) -> None:
    model = tiny(name, head=head)
    with contextlib.suppress(hc.HeadcountError):  # a clear line will do as well
        assert cost({"model": model}, **QUICK)["flops"].gt(0).all()


def test_number_types() -> None:
    found = cost({"vit": tiny("vit").bfloat16(), "same": tiny("vit")}, **IMAGES)
    half, single = (found[found.model == name] for name in ("vit", "same"))
    assert (half["flops"].values == single["flops"].values).all()
    assert (half["peak_bytes"].values < 0.6 * single["peak_bytes"].values).all()


@pytest.mark.parametrize(
    "options",
    [
        {"repeats": 0},
        {"batches": []},
        {"lengths": []},
        {"batches": [1, 0]},
        {"lengths": [-4]},
    ],
)
def test_nothing_to_measure(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="expected at least"):
        cost({"model": tiny("bert")}, **(QUICK | options))


@pytest.mark.parametrize(
    "name",
    [
        "bert",
        "gpt2",
        pytest.param("roberta"),
        pytest.param("mpnet"),
    ],
)
def test_texts_that_are_too_long(name: str) -> None:
    """Either the model takes them or a line says how long they may be."""
    models = {"short": tiny(name, BY_NAME[name].kernels[0])}
    assert len(cost(models, batches=[1], lengths=[62], repeats=1)) == 1
    with pytest.raises(InvalidOption, match=r"got the length 65; short takes at most \d+ tokens"):
        cost(models, batches=[1], lengths=[8, 65], repeats=1)
    with contextlib.suppress(InvalidOption):
        cost(models, batches=[1], lengths=[64], repeats=1)


def test_positions_without_end() -> None:
    assert len(cost({"t5": tiny("t5")}, batches=[1], lengths=[200], repeats=1)) == 1


def test_the_shares_of_attention_and_feed_forward_layers() -> None:
    """A model whose attention is slowed down a hundredfold spends its time there; after an error no hook stays.

    What runs between the projections of a feed-forward layer belongs to it.
    """
    model = tiny("bart")
    batch = make_inputs(model, 1, 8)

    def dawdle(*_: Any) -> None:
        torch.randn(300, 300) @ torch.randn(300, 300)

    handles = [layer.self_attn.k_proj.register_forward_hook(dawdle) for layer in model.encoder.layers]
    slow = time_shares(model, batch)
    for handle in handles:
        handle.remove()
    handles = [layer.activation_fn.register_forward_hook(dawdle) for layer in model.encoder.layers]
    between = time_shares(model, batch)
    assert between.feed_forward is not None
    assert slow.feed_forward is not None
    assert 0 < between.attention < slow.attention < 1
    assert 0 < slow.feed_forward < between.feed_forward < 1
    handles.append(model.decoder.layers[2].fc2.register_forward_hook(lambda *_: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        time_shares(model, batch)
    for handle in handles:
        handle.remove()
    assert hooks_of(model) == 0
    assert not model.training


def test_the_share_of_a_pruned_model() -> None:
    model = hc.prune(tiny("llama"), ["L0H1", "L1"])
    before = hooks_of(model)
    assert 0 < time_shares(model, make_inputs(model, 1, 8)).attention < 1
    assert hooks_of(model) == before


def files(path: Path) -> dict[str, bytes]:
    return {str(one.relative_to(path)): one.read_bytes() for one in path.rglob("*") if one.is_file()}


def test_costs_in_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is what was measured, and is read the next time."""
    models = {"whole": tiny("bert"), "half": hc.prune(tiny("bert"), HALF)}
    found = cost(models, study=tmp_path / "study", **QUICK)
    node = hc.open_study(tmp_path / "study")["cost/models"]
    assert node.attrs["complete"]
    stored = node.to_dataset()
    for column in found.columns:
        np.testing.assert_array_equal(stored[column].values, found[column].to_numpy())
    before = files(tmp_path / "study")
    cost({"whole": models["whole"]}, study=tmp_path / "study", name="one", **QUICK)
    assert set(hc.open_study(tmp_path / "study")["cost"].children) == {"models", "one"}
    monkeypatch.setattr(torch.nn.Module, "__call__", never)
    again = cost(models, study=tmp_path / "study", **QUICK)
    pd.testing.assert_frame_equal(again, found)
    assert again.attrs == found.attrs
    assert {name: files(tmp_path / "study")[name] for name in before if name != "zarr.json"} == {
        name: content for name, content in before.items() if name != "zarr.json"
    }


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("the model was run")


def test_costs_that_were_stopped_before_their_mark(tmp_path: Path) -> None:
    models = {"whole": tiny("bert")}
    with mock.patch.object(Group, "finish", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        cost(models, study=tmp_path / "study", **QUICK)
    cost(models, study=tmp_path / "study", **QUICK)
    assert hc.open_study(tmp_path / "study")["cost/models"].attrs["complete"]


def test_costs_of_other_models_under_the_same_name(tmp_path: Path) -> None:
    cost({"whole": tiny("bert")}, study=tmp_path / "study", **QUICK)
    with pytest.raises(StudyProblem, match="other options"):
        cost({"whole": tiny("gpt2")}, study=tmp_path / "study", **QUICK)
