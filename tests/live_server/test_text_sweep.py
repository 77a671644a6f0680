"""The sweep of one text by replay: each head's change is that of `hc.ablated`, and a planted head has the largest."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.errors import HeadcountError, InvalidOption
from headcount.live_server import text_sweep
from headcount.live_server.live_model import LiveModel
from headcount.live_server.text_sweep import sweep_text
from tests.live_server import small
from tests.measures.tiny import hooks_of


def run(live: LiveModel, *texts: str, **fields: Any) -> tuple[dict[str, Any], dict[str, float], dict[str, Any]]:
    """The first event, the change by head, and the last event; between steps the model is untouched."""
    events = []
    for event in sweep_text(live, small.ask(live, *texts, **fields)):
        assert hooks_of(live.model) == 0
        events.append(event)
    first, *layers, last = events
    spell = live.anatomy.layout.spell
    names = {(head.stack, head.layer, head.head): spell(head) for head in live.anatomy.layout}
    changes = {
        names[layer["stack"], layer["layer"], head]: change
        for layer in layers
        for head, change in zip(layer["heads"], layer["change"], strict=True)
    }
    return first, changes, last


def test_the_planted_heads_stand_out(tmp_path: Path) -> None:
    live = small.planted_live(tmp_path)
    first, changes, last = run(live, "good down")
    assert first["name"] == "negative", "the misleading head is the stronger one"
    assert max(changes, key=lambda head: abs(changes[head])) == "L0H1"
    assert changes["L0H1"] < -1
    assert changes["L0H0"] == changes["L1H0"] == changes["L1H1"] == 0
    assert last["heads"] == 4


@pytest.mark.parametrize("how", ["zero", "uniform", "mean"])
@pytest.mark.parametrize("make", [small.decoder, small.translator])
def test_every_change_is_that_of_ablated(make: Any, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    live = make()
    monkeypatch.setattr(text_sweep, "BATCH_TOKENS", 8)  # a layer takes several passes
    first, changes, _ = run(live, "the dog chased", how=how)
    reading = live.read(("the dog chased",))
    reference = live.means() if how == "mean" else None
    assert len(changes) == live.anatomy.layout.count
    with torch.no_grad():
        for head, change in changes.items():
            with hc.ablated(live.model, head, how=how, reference=reference):
                without = live.answers(reading, live.model(**reading.inputs))[0, 0, first["option"]]
            assert float(without) - math.log(first["whole"]) == pytest.approx(change, abs=1e-7), head


def test_a_pair_of_rows(tmp_path: Path) -> None:
    """Of a similarity, every variant is two rows inside the model."""
    live = small.sentences(tmp_path)
    texts = ("good", "so bad up down")
    first, *layers, _ = sweep_text(live, small.ask(live, *texts))
    assert first is not None
    assert first["of"] == "number"
    changes = [change for layer in layers if layer for change in layer["change"]]
    reading = live.read(texts)
    for head, change in zip(live.anatomy.layout, changes, strict=True):
        with torch.no_grad(), hc.ablated(live.model, [head]):
            without = live.answers(reading, live.model(**reading.inputs))[0, 0, 0]
        assert float(without) - first["whole"] == pytest.approx(change, abs=1e-9), head


def test_of_another_question_and_option() -> None:
    live = small.masked()
    first, _, _ = run(live, "the [MASK] [MASK]", question=1, option=7)
    assert (first["question"], first["option"]) == (1, 7)
    for fields, words in (
        ({"question": 2}, "questions 0 to 1"),
        ({"option": 10**6}, "the answer has the options"),
    ):
        with pytest.raises(InvalidOption, match=words):
            run(live, "the [MASK] [MASK]", **fields)
    with pytest.raises(InvalidOption, match="asks nothing"):
        run(live, "the dog")


def test_short_of_memory_fewer_heads_run_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = small.planted_live(tmp_path)
    expected = run(live, "good down")[1]
    own, widths = text_sweep.Replay.run, []

    def run_few(self: Any, variants: Any, *more: Any) -> Any:
        widths.append(len(variants))
        if len(variants) > most[0]:
            raise torch.OutOfMemoryError
        return own(self, variants, *more)

    monkeypatch.setattr(text_sweep.Replay, "run", run_few)
    most = [1]
    assert run(live, "good down")[1] == pytest.approx(expected)
    assert 1 in widths
    assert 2 in widths
    most[0] = 0
    with pytest.raises(HeadcountError, match="not enough memory"):
        run(live, "good down")
