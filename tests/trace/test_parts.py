"""Parts of heads: kept from a pass, put into another; parity for all parts is in tests/ablation/test_donors.py."""

from __future__ import annotations

import pytest
import torch

import headcount as hc
from headcount.errors import DataProblem, InvalidOption
from headcount.trace.parts import PARTS, keep_part
from tests.closeness import assert_same
from tests.contracts.zoo import BY_NAME, exact, inputs


@pytest.mark.parametrize("name", ["bert", "llama", "qwen3", "gpt2", "t5", "modernbert"])
@pytest.mark.parametrize("part", PARTS)
def test_the_own_part_changes_nothing(name: str, part: str) -> None:
    model, batch = exact(name), inputs(BY_NAME[name], "right")
    stack = next(iter(hc.read_anatomy(model).layout.stacks))
    with torch.no_grad():
        plain = model(**batch)[0]
        with hc.ablated(model, f"{stack}.L1H2", how=hc.Patch(part=part), reference=batch):
            same = model(**batch)[0]
    real = batch["attention_mask"].bool() if plain.shape[1] == batch["attention_mask"].shape[1] else slice(None)
    assert_same(same[real], plain[real], 1e-7)


def test_another_input_and_its_shape() -> None:
    model, batch = exact("llama"), inputs(BY_NAME["llama"])
    other = {"input_ids": batch["input_ids"].flip(0)}
    layers = [("decoder", layer) for layer in range(3)]
    with torch.no_grad():
        result, kept = keep_part(model, layers, "output", lambda: model(**other))
        assert kept["decoder", 1].tensor.shape[:2] == batch["input_ids"].shape
        assert_same(result[0], model(**other)[0])
        with hc.ablated(model, "L0, L1, L2", how="patch", reference=other):
            seen = hc.observe(model, {"input_ids": batch["input_ids"]}, maps=False).outputs["decoder"]
    assert_same(seen, hc.observe(model, other, maps=False).outputs["decoder"])
    with (
        torch.no_grad(),
        pytest.raises(DataProblem, match="3 texts of 5 tokens"),
        hc.ablated(model, "L1H0", how="patch", reference={"input_ids": batch["input_ids"][:, :5]}),
    ):
        model(**batch)


def test_what_a_context_refuses() -> None:
    model, batch = exact("llama"), inputs(BY_NAME["llama"])
    with (
        pytest.raises(InvalidOption, match="needs reference=: a batch of inputs"),
        hc.ablated(model, "L1", how="patch"),
    ):
        pass
    noise = hc.Patch(direction="noise")
    with pytest.raises(InvalidOption, match="only part= can be given"), hc.ablated(model, "L1", noise, batch):
        pass
