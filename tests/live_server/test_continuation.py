"""Continuations: the tokens of `generate`, whole and ablated, a few at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.errors import InvalidOption
from headcount.live_server.continuation import AT_ONCE, continue_text
from headcount.live_server.live_model import LiveModel
from tests.live_server import small
from tests.measures.tiny import hooks_of


def run(live: LiveModel, *texts: str, **fields: Any) -> list[dict[str, Any]]:
    events = []
    for event in continue_text(live, small.ask(live, *texts, **fields)):
        assert hooks_of(live.model) == 0, "between steps the model is untouched"
        events.append(event)
    return events


@pytest.mark.parametrize("make", [small.decoder, small.translator])
@torch.no_grad()
def test_it_is_what_generate_gives(make: Any) -> None:
    live = make()
    off = "L0H1, L1" if make is small.decoder else "encoder.L0H1, cross.L1"
    events = run(live, "the dog chased", off=[{"heads": off, "how": "uniform"}], new_tokens=10)
    inputs = live.tokenizer("the dog chased", return_tensors="pt")
    start = inputs["input_ids"].shape[1] if make is small.decoder else 1
    options = {"max_new_tokens": 10, "do_sample": False, "num_beams": 1, "pad_token_id": 0}
    expected = {"whole": live.model.generate(**inputs, **options)}
    with hc.ablated(live.model, off, how="uniform"):
        expected["without"] = live.model.generate(**inputs, **options)
    for side, sequences in expected.items():
        last = [event for event in events if event.get("side") == side][-1]
        assert last["done"] is True
        assert last["tokens"] == sequences.shape[1] - start
        assert last["text"] == live.tokenizer.decode(sequences[0, start:], skip_special_tokens=True)
    assert events[-1]["same"] == torch.equal(expected["whole"], expected["without"])


@torch.no_grad()
def test_a_step_does_not_end_the_text() -> None:
    """BART's and Marian's configurations force the end at the last of the tokens that are asked for."""
    live, most = small.translator(), 3 * AT_ONCE
    config = live.model.generation_config
    config.update(forced_eos_token_id=config.eos_token_id, num_beams=4, num_return_sequences=2, min_new_tokens=2)
    events = run(live, "the dog chased", new_tokens=most)
    config.update(num_beams=1, num_return_sequences=1)
    inputs = live.tokenizer("the dog chased", return_tensors="pt")
    expected = live.model.generate(**inputs, max_new_tokens=most)[0, 1:]
    assert AT_ONCE < len(expected) == events[-2]["tokens"]
    assert events[-2]["text"] == live.tokenizer.decode(expected, skip_special_tokens=True)


def test_both_models_write_in_turn() -> None:
    events = run(small.decoder(), "the dog", off=[{"heads": "L0"}], new_tokens=2 * AT_ONCE)
    assert [event["side"] for event in events[:2]] == ["whole", "without"]
    assert [event["tokens"] for event in events[:2]] == [AT_ONCE, AT_ONCE] or any(event["done"] for event in events[:2])


def test_only_models_that_write(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="writes no text"):
        run(small.planted_live(tmp_path), "good")
