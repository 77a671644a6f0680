"""`hc.circuit`: the two planted heads, their exact amounts on held-out examples, parity with `ablated`, bad input."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.choosing.circuit import Target
from headcount.choosing.halves import halves
from headcount.core.circuits import circuit_heads
from headcount.errors import DataProblem, InvalidOption
from headcount.trace.anatomy import read_anatomy
from tests import planted
from tests.choosing import planted_pair


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return planted_pair.classifier(), planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.mark.parametrize("how", ["zero", "resample", "mean", "patch"])
def test_the_two_planted_heads_are_the_circuit(both: tuple[Any, Any], how: Any) -> None:
    task = hc.find_task("sst2", metric="loss") if how == "patch" else "sst2"
    found = hc.circuit(*both, planted_pair.texts(), task=task, how=how, randoms=4)
    assert found.attrs["circuit"] == planted_pair.HEADS
    assert float(found["faithfulness"]) == pytest.approx(1, abs=1e-6)
    assert found.attrs["verdict"] == "confirmed"
    assert found.attrs["examples"] == found.attrs["selecting"] == 60
    names = [[f"L{layer}H{head}" for head in range(2)] for layer in range(2)]
    inside = [["L0H0", "L1H1"].count(name) for row in names for name in row]
    assert found["in_circuit"].values.ravel().tolist() == inside
    assert float(found["random_high"]) < 0.5  # the other two heads do nothing
    assert float(found["beyond_random_low"]) > 0.5
    # The circuit is all there is: without any part of it, model and circuit are the same.
    np.testing.assert_allclose(found["gap"].values, 0, atol=1e-6)


def test_minimality_is_the_planted_amount(both: tuple[Any, Any]) -> None:
    texts = planted_pair.texts()
    found = hc.circuit(*both, texts, task="sst2", how="zero", randoms=2)
    held_out = halves(texts, None, 0)[1]
    assert float(found["whole"]) == 1
    for head, kind in ((("encoder", 0, 0), 0), (("encoder", 1, 1), 1)):
        lost = float(((held_out["kind"] == kind) & (held_out["label"] == 1)).mean())
        stack, layer, number = head
        one = found.sel(stack=stack, layer=layer, head=number)
        assert float(one["minimality"]) == pytest.approx(lost)
        assert float(one["minimality_low"]) < lost < float(one["minimality_high"])
        assert float(one["minimality_q"]) < 0.05
    outside = found["minimality"].values.ravel()[[1, 2]]
    assert np.isnan(outside).all()


def test_a_naive_loop_gives_the_same_numbers(tmp_path: Path) -> None:
    """Scores of every trial with `ablated`, on a random model in which every head does something."""
    torch.manual_seed(0)
    model = planted.classifier()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    tokenizer = planted.tokenizer(tmp_path)
    texts = planted_pair.texts(60)
    found = hc.circuit(model, tokenizer, texts, task="sst2", how="zero", metric="loss", keep=2, randoms=2, subsets=3)
    held_out = halves(texts, None, 0)[1]
    layout = read_anatomy(model).layout
    everything, kept = list(layout), list(circuit_heads(found, layout))

    def loss(replaced: list[Any]) -> float:
        batch = tokenizer(held_out["sentence"].tolist(), return_tensors="pt", padding=True)
        with torch.no_grad(), hc.ablated(model, replaced, how="zero") if replaced else nullcontext():
            logits = model(**batch).logits.double()
        return float(torch.nn.functional.cross_entropy(logits, torch.tensor(held_out["label"].tolist())))

    def without(*gone: Any) -> list[Any]:
        return [head for head in everything if head not in kept or head in gone]

    whole, replaced, alone = loss([]), loss(everything), loss(without())
    assert len(kept) == 2
    assert float(found["whole"]) == pytest.approx(whole, abs=1e-5)
    assert float(found["replaced"]) == pytest.approx(replaced, abs=1e-5)
    assert float(found["circuit"]) == pytest.approx(alone, abs=1e-5)
    for head in kept:
        one = found.sel(stack=head.stack, layer=head.layer, head=head.head)
        assert float(one["minimality"]) == pytest.approx(loss(without(head)) - alone, abs=1e-5)
        place = list(found["subset"].values).index(layout.spell(head))
        assert float(found["gap"][place]) == pytest.approx(loss([head]) - loss(without(head)), abs=1e-5)
    share = float(found["faithfulness"])
    assert np.isnan(share) or share == pytest.approx((alone - replaced) / (whole - replaced), abs=1e-3)


def test_a_fixed_size_and_a_tolerance_in_points(both: tuple[Any, Any]) -> None:
    one = hc.circuit(*both, planted_pair.texts(), task="sst2", how="zero", keep=1, randoms=1)
    assert one.attrs["size"] == 1
    assert one.attrs["verdict"] == ""
    assert float(one["faithfulness"]) == pytest.approx(0.5, abs=0.2)
    points = hc.circuit(*both, planted_pair.texts(400), task="sst2", how="zero", tolerance=2, randoms=1)
    assert points.attrs["circuit"] == planted_pair.HEADS
    assert points.attrs["tolerance"] == "2 points"


def test_an_order_of_its_own(both: tuple[Any, Any], tmp_path: Path) -> None:
    """The passes drop what a bad order brought in."""
    (tmp_path / "order").write_text("L0H0 L1H1 L0H1 L1H0")  # the least needed first: the wrong way round
    options: dict[str, Any] = {"task": "sst2", "how": "zero", "order": f"file:{tmp_path / 'order'}", "randoms": 1}
    assert hc.circuit(*both, planted_pair.texts(), **options).attrs["circuit"] == planted_pair.HEADS
    assert hc.circuit(*both, planted_pair.texts(), passes=0, **options).attrs["size"] == 4


def test_targets() -> None:
    assert Target.parse(None, None).share == 0.05
    assert Target.parse("1", None).spelled == "1 point"
    for wrong in ("100%", "-1", "much", "nan"):
        with pytest.raises(InvalidOption, match="expected points of the score such as 1, or a share such as 5%"):
            Target.parse(wrong, None)


def test_bad_input(both: tuple[Any, Any]) -> None:
    texts = planted_pair.texts(60)
    with pytest.raises(InvalidOption, match=r"tolerance= and keep=; expected one"):
        hc.circuit(*both, texts, task="sst2", tolerance=1, keep=2)
    with pytest.raises(InvalidOption, match=r"keep=4; expected fewer than the 4 heads"):
        hc.circuit(*both, texts, task="sst2", keep=4)
    with pytest.raises(InvalidOption, match=r"direction='denoise'; expected 'noise'"):
        hc.circuit(*both, texts, task="sst2", how=hc.Patch())
    with pytest.raises(InvalidOption, match="by_estimate=, which has no effect"):
        hc.circuit(*both, texts, task="sst2", keep=2, by_estimate=True)
    with pytest.raises(InvalidOption, match="reference=, which has no effect"):
        hc.circuit(*both, texts, task="sst2", reference=texts)
    with pytest.raises(InvalidOption, match="order='random'"):
        hc.circuit(*both, texts, task="sst2", order="random")
    with pytest.raises(DataProblem, match=r"within the tolerance of 60 points without any head"):
        hc.circuit(*both, texts, task="sst2", how="zero", tolerance=60)
    with pytest.raises(DataProblem, match="expected at least 40"):
        hc.circuit(*both, texts.iloc[:10], task="sst2")
