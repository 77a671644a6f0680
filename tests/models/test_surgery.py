"""Is a cut right, can it be taken back, and is nothing changed where it is refused or fails?"""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
import transformers as tf
from torch import nn

import headcount as hc
from headcount.errors import CannotPrune, UnknownHead
from headcount.models import shrink, surgery
from headcount.models.anatomy import read_anatomy
from headcount.models.surgery import check_can_prune, cut, kept_by_v4, make_record, removed_heads
from tests.closeness import assert_same
from tests.contracts.pruned import PRUNABLE, Before, uneven
from tests.contracts.zoo import BY_NAME, Case, exact, inputs, run, tiny

BERT = BY_NAME["bert"]
FAMILY = pytest.mark.parametrize("case", PRUNABLE, ids=lambda case: case.name)


@FAMILY
def test_a_cut_can_be_taken_back(case: Case) -> None:
    """The first one, and one after another that stays: parameters are the very ones that an optimiser holds."""
    model = tiny(case.name, case.kernels[0])
    for words in (uneven(case), case.spell("L2H2")):
        before = Before(model, inputs(case))
        parameters = dict(model.named_parameters())
        undo = cut(model, words)
        assert read_anatomy(model).layout.count < 12 * len(case.stacks)
        undo()
        before.check()
        assert all(parameter is parameters[key] for key, parameter in model.named_parameters())
        cut(model, words)


def test_hooks_of_others_can_be_removed_after_a_cut() -> None:
    model = tiny("bert")
    handles = [module.register_forward_hook(lambda *_: None) for module in model.modules()]
    cut(model, ["L0H1", "L1"])
    for handle in handles:
        handle.remove()
    assert not any(module._forward_hooks for module in model.modules())


def test_hooks_of_others_can_be_removed_after_a_cut_that_was_taken_back() -> None:
    model = tiny("bert")
    handles = [module.register_forward_hook(lambda *_: None) for module in model.modules()]
    cut(model, ["L0H1", "L1"])()
    for handle in handles:
        handle.remove()
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize(
    "error",
    [pytest.param(one) for one in (RuntimeError, KeyboardInterrupt, torch.OutOfMemoryError)],
)
@pytest.mark.parametrize("name", ["bert", "t5"])
def test_an_error_in_the_middle_of_a_cut(
    name: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No room on the device for the second layer, or Ctrl-C: the first one is as it was."""
    case = BY_NAME[name]
    model = tiny(name)
    before, calls, take = Before(model, inputs(case)), 0, shrink._take

    def fail(*args: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 6:
            raise error
        take(*args)

    monkeypatch.setattr(shrink, "_take", fail)
    with pytest.raises(error):
        cut(model, uneven(case))
    before.check()


class Quantised(nn.Linear):
    """Not a plain Linear: its weights mean something else."""


@pytest.mark.parametrize("role", ["query", "key", "value", "output"])
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
def test_other_projections_are_refused(name: str, role: str) -> None:
    """Even in a layer that keeps all of its heads, before anything is changed."""
    case = BY_NAME[name]
    model = tiny(name)
    block = read_anatomy(model).attention(case.stacks[0], 1)
    module = block.output if role == "output" else block.projection(role)[0]
    kind = type("QuantisedLinear", (type(module),), {})
    module.__class__ = kind
    before = Before(model, inputs(case))
    with pytest.raises(CannotPrune, match="a projection of type QuantisedLinear; expected a plain Linear") as caught:
        cut(model, case.spell("L0H1"))
    assert "\n" not in str(caught.value)
    assert "quantised" in str(caught.value)
    before.check()


def test_other_position_projections_are_refused() -> None:
    config = BY_NAME["deberta-v2"].make_config()
    config.share_att_key = False
    model = tf.DebertaV2Model(config).eval()
    model.encoder.layer[1].attention.self.pos_key_proj.__class__ = Quantised
    with pytest.raises(CannotPrune, match="Quantised"):
        cut(model, "L0H1")


def test_what_can_be_pruned() -> None:
    for case in PRUNABLE:
        check_can_prune(read_anatomy(tiny(case.name, case.kernels[0])))
    with pytest.raises(CannotPrune, match="albert"):
        check_can_prune(read_anatomy(tiny("albert")))


@pytest.mark.parametrize(
    ("heads", "kind", "expected"),
    [
        ("L3H0", UnknownHead, "layers L0 to L2"),
        ("L0H4", UnknownHead, "L0 has heads 0-3"),
        ("L1H", UnknownHead, "expected L3H7"),
        ("encoder.L0H9", UnknownHead, "0-3"),
        ("decoder.L0H1", UnknownHead, "no stack 'decoder'"),
        (["L0H1", 3], UnknownHead, "got 3 for a head"),
        ("L0 L1 L2", CannotPrune, "got all 12 heads of the model; expected at least one that stays"),
    ],
)
def test_what_is_refused(heads: Any, kind: type[Exception], expected: str) -> None:
    model = tiny("bert")
    before = Before(model, inputs(BERT))
    with pytest.raises(kind, match=expected) as caught:
        cut(model, heads)
    assert "\n" not in str(caught.value)
    before.check()


def test_the_record() -> None:
    """What a config can hold, the original numbers, and what is gone."""
    model = tiny("bart")
    cut(model, ["encoder.L0H1", "encoder.L0H3", "cross.L2"])
    record = model.config.headcount
    assert json.loads(json.dumps(record)) == record
    assert record["format"] == surgery.FORMAT
    assert [one["stack"] for one in record["stacks"]] == ["encoder", "decoder", "cross"]
    assert [one["kept"] for one in record["stacks"]] == [
        [[0, 2], [0, 1, 2, 3], [0, 1, 2, 3]],
        [[0, 1, 2, 3]] * 3,
        [[0, 1, 2, 3], [0, 1, 2, 3], []],
    ]
    assert removed_heads(record) == {"encoder": {0: [1, 3]}, "decoder": {}, "cross": {2: [0, 1, 2, 3]}}
    # The largest numbers go in every layer: the record still knows how many there were.
    cut(model, ["encoder.L0H2", "encoder.L1H3", "encoder.L2H3"])
    assert {one["stack"]: one["heads"] for one in model.config.headcount["stacks"]} == dict.fromkeys(
        ("encoder", "decoder", "cross"), 4
    )
    assert removed_heads(model.config.headcount)["encoder"] == {0: [1, 2, 3], 1: [3], 2: [3]}


def test_the_config_of_the_bare_model_inside_knows_it_too() -> None:
    model = tiny("bert", head="AutoModelForSequenceClassification")
    cut(model, "L0H1")
    assert model.bert.config.headcount == model.config.headcount


def test_the_record_of_transformers_4() -> None:
    anatomy = read_anatomy(tiny("bert"))
    kept = kept_by_v4(anatomy, {"0": [1, 3], 2: ["0"]})
    assert kept == {"encoder": [[0, 2], [0, 1, 2, 3], [1, 2, 3]]}
    assert removed_heads(make_record(anatomy, kept)) == {"encoder": {0: [1, 3], 2: [0]}}
    assert kept_by_v4(anatomy, {}) == {"encoder": [[0, 1, 2, 3]] * 3}


def test_a_cut_computes_what_zeros_do() -> None:
    model, batch = exact("bert"), inputs(BERT, "right")
    with hc.ablated(model, ["L0H1", "L1"]):
        expected = run(model, batch)
    cut(model, ["L0H1", "L1"])
    assert_same(run(model, batch), expected)
