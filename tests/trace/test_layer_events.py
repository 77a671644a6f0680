"""Sessions act in the order of entry; each layer is counted for each session, and calls go to those who need them."""

from __future__ import annotations

import torch
from torch import Tensor

from headcount.trace.call import AttentionCall
from headcount.trace.edits import LayerRun, OutputEdit
from headcount.trace.session import session
from tests.contracts.zoo import BY_NAME, inputs, run, tiny

KEY = ("encoder", 1)


class Add(OutputEdit):
    def __init__(self, number: float, needs_call: bool = False) -> None:
        self.number, self.needs_call = number, needs_call
        self.calls: list[AttentionCall | None] = []

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        self.calls.append(call)
        return outputs + self.number


def test_observers_see_all_edits_in_the_order_of_entry() -> None:
    model, batch = tiny("bert"), inputs(BY_NAME["bert"])
    shown: list[LayerRun] = []
    outer, inner = Add(1.0), Add(2.0)
    with (
        session(model, {KEY: outer}, {KEY: shown.append}, purpose="outer"),
        session(model, {KEY: inner}, purpose="inner") as wiring,
    ):
        run(model, batch)
        assert [opened.hits[KEY] for opened in wiring.sessions] == [1, 1]
    assert [layer.edits for layer in shown] == [(outer, inner)]
    plain: list[LayerRun] = []
    with session(model, observers={KEY: plain.append}, purpose="looking"):
        run(model, batch)
    assert torch.equal(shown[0].outputs, plain[0].outputs + 1.0 + 2.0)


def test_a_call_is_kept_for_those_who_need_it() -> None:
    """An edit that needs the call makes it known to all edits of the layer; observers of outputs alone get none."""
    model, batch = tiny("bert"), inputs(BY_NAME["bert"])
    blind = Add(0.0)
    shown: list[LayerRun] = []
    with session(model, {KEY: blind}, {KEY: shown.append}, purpose="blind", outputs_only=True):
        run(model, batch)
    assert blind.calls == [None]
    assert shown[0].call is None
    knowing = Add(0.0, needs_call=True)
    with session(model, {KEY: knowing}, purpose="knowing") as wiring:
        run(model, batch)
        assert not wiring.state.calls_for_edits, "a call is dropped once its layer has run"
    (call,) = knowing.calls
    assert call is not None
    assert call.layer_key == KEY


def test_one_module_for_all_layers() -> None:
    """ALBERT: the second use of the module is layer 1, and its call says so."""
    model, batch = tiny("albert"), inputs(BY_NAME["albert"])
    shown: list[LayerRun] = []
    with session(model, observers={KEY: shown.append}, purpose="looking"):
        run(model, batch)
    assert [(layer.layer_key, layer.call and layer.call.layer_key) for layer in shown] == [(KEY, KEY)]
