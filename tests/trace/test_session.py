"""Observers see every layer once, as all edits left it; they change nothing, and nothing of them stays."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor

import headcount as hc
from headcount.errors import NotReached
from headcount.models.anatomy import read_anatomy
from headcount.trace.edits import LayerRun
from headcount.trace.gates import Gate
from headcount.trace.session import session
from tests.checkpointed import switch_on
from tests.closeness import assert_same
from tests.contracts.zoo import BY_NAME, exact, inputs, run, tiny
from tests.measures.tiny import assert_untouched, first_output

FAMILIES = ("bert", "albert", "modernbert", "mpnet", "deberta-v2", "gpt2", "llama", "t5", "bart")


def keys_of(model: Any) -> list[tuple[str, int]]:
    return [(block.stack, block.layer) for block in read_anatomy(model)]


@pytest.mark.parametrize("outputs_only", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_layer_is_seen_once_and_the_pass_is_the_models_own(name: str, outputs_only: bool) -> None:
    model, batch = tiny(name, BY_NAME[name].kernels[0]), inputs(BY_NAME[name], "right")
    before, expected = first_output(model, batch), hc.observe(model, batch)
    seen: list[tuple[str, int]] = []

    def look(run: LayerRun) -> None:
        stack, layer = run.layer_key
        seen.append(run.layer_key)
        assert (run.call is None) == outputs_only
        assert torch.equal(run.outputs.permute(2, 0, 1, 3), expected.outputs[stack][layer])
        if not outputs_only:
            assert torch.equal(run.attention().map.transpose(0, 1), expected.maps[stack][layer])

    observers = dict.fromkeys(keys_of(model), look)
    with torch.no_grad(), session(model, observers=observers, purpose="looking", outputs_only=outputs_only):
        assert torch.equal(first_output(model, batch), before)
    assert sorted(seen) == sorted(observers)
    assert_untouched(model, batch, before)


def test_what_is_seen_is_what_all_edits_left() -> None:
    """Edits of a session around it, of its own, and of one inside."""
    model, batch = exact("bert"), inputs(BY_NAME["bert"])
    plain = hc.observe(model, batch).outputs["encoder"][1]
    gate, key = Gate(torch.tensor([2.0, 2.0, 2.0, 2.0])), ("encoder", 1)
    seen: list[Tensor] = []
    look = {key: lambda run: seen.append(run.outputs)}
    with session(model, {key: gate}, purpose="around"), session(model, {key: gate}, look, purpose="looking"):
        run(model, batch)
        with session(model, {key: gate}, purpose="inside"):
            run(model, batch)
    for found, times in zip(seen, (4, 8), strict=True):
        assert_same(found.permute(2, 0, 1, 3), times * plain)


def test_outputs_are_seen_where_attention_runs_past_the_interface() -> None:
    config = BY_NAME["gpt2"].make_config()
    config.reorder_and_upcast_attn = True
    model, batch = tf.GPT2Model._from_config(config, attn_implementation="eager").eval(), inputs(BY_NAME["gpt2"])
    before, seen = first_output(model, batch), []
    observers = dict.fromkeys(keys_of(model), lambda run: seen.append(run.layer_key))
    with session(model, observers=observers, purpose="looking", outputs_only=True):
        run(model, batch)
    assert seen == keys_of(model)
    with (
        pytest.raises(NotReached, match="looking did not reach L0, L1, L2"),
        session(model, observers=observers, purpose="looking"),
    ):
        run(model, batch)
    with pytest.raises(NotReached, match="observation did not reach L0, L1, L2"):
        hc.observe(model, batch)
    assert hc.observe(model, batch, maps=False).outputs["decoder"].isfinite().all()
    assert_untouched(model, batch, before)


@pytest.mark.parametrize("name", ["bert", "deberta-v2", "llama"])
def test_what_checkpointing_repeats_is_not_seen_again(name: str) -> None:
    model, batch = tiny(name, BY_NAME[name].kernels[0]), inputs(BY_NAME[name])
    switch_on(model)
    model.train()
    seen = []
    with session(model, observers=dict.fromkeys(keys_of(model), lambda run: seen.append(run.layer_key)), purpose="one"):
        result = model(**batch).last_hidden_state
        assert seen == keys_of(model)
        result.sum().backward()
    assert seen == keys_of(model)


class Mistake(Exception):
    pass


@pytest.mark.parametrize("name", ["bert", "mpnet", "deberta-v2"])
def test_an_observer_that_fails_leaves_nothing(name: str) -> None:
    model, batch = tiny(name, BY_NAME[name].kernels[0]), inputs(BY_NAME[name])
    before = first_output(model, batch)

    def fail(run: LayerRun) -> None:
        raise Mistake

    with pytest.raises(Mistake), session(model, observers={("encoder", 1): fail}, purpose="looking") as wiring:
        run(model, batch)
    assert not any((wiring.state.calls_for_edits, wiring.state.calls_for_observers, wiring.state.runs))
    assert_untouched(model, batch, before)
