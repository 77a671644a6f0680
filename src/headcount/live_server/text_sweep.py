"""Which head matters here? The change of the answer to one text without each head, by replay, layer by layer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from headcount.ablation.replacements import REPLACEMENTS, make_edit
from headcount.errors import HeadcountError, InvalidOption
from headcount.live_server.asked import Asked
from headcount.live_server.live_model import LiveModel, Reading
from headcount.live_server.worker import Event
from headcount.models.attention import Attention
from headcount.trace.memory import try_in_memory
from headcount.trace.replay import Replay
from headcount.trace.variants import Variant

BATCH_TOKENS = 2048
"""Tokens of all variants that run as one batch."""


def sweep_text(live: LiveModel, asked: Asked) -> Iterator[Event]:
    """A step for each layer: what the answer is of, then the changes of each layer's heads, then the time it took.

    `change`: of the option's log-probability without the head, minus that of the whole model; of kinds without
    probabilities, of the number. Negative: the head supports the answer.
    """
    started = time.perf_counter()
    reading = live.read(asked.texts)
    if not reading.typed.questions:
        raise InvalidOption(f"this text asks nothing: {live.kind.no_question}")
    if asked.question >= len(reading.typed.questions):
        most = len(reading.typed.questions) - 1
        raise InvalidOption(f"question: got {asked.question}; this text has the questions 0 to {most}")
    means = live.means() if REPLACEMENTS[asked.how].needs_reference else None
    replay = Replay(live.model, live.anatomy)
    with live.passes(), replay:
        whole = live.answers(reading, replay.record(reading.inputs))[0, asked.question]
    option = int(whole.argmax()) if asked.option is None else asked.option
    if option >= len(whole):
        raise InvalidOption(f"option: got {option}; the answer has the options 0 to {len(whole) - 1}")
    yield {
        "question": asked.question,
        "option": option,
        "name": live.names([option])[0],
        "whole": _shown(whole[option], live),
        "how": asked.how,
        "of": "log_probability" if live.kind.has_probabilities else "number",
    }
    heads = 0
    for block in live.anatomy:
        variants: list[Variant] = [
            {block.layer_key: make_edit(asked.how, block, (head,), means)} for head in block.heads
        ]
        changed = [values[asked.question] for values in _run(live, reading, replay, variants)]
        heads += len(changed)
        yield _layer(live, block, whole, changed, option)
    yield {"heads": heads, "seconds": round(time.perf_counter() - started, 3)}


def _run(live: LiveModel, reading: Reading, replay: Replay, variants: list[Variant]) -> list[Tensor]:
    """The answers [question, option] of each variant; fewer at once where memory is short."""
    width = max(1, BATCH_TOKENS // reading.length)
    found: list[Tensor] = []
    while len(found) < len(variants):
        part = variants[len(found) : len(found) + width]

        def run(part: list[Variant] = part) -> Tensor:
            with live.passes(), replay:
                return live.answers(reading, replay.run(part))

        answers = try_in_memory(run)
        if answers is None and width == 1:
            raise HeadcountError("there is not enough memory for this text; shorten it")
        if answers is None:
            width //= 2
            continue
        found += list(answers)
    return found


def _layer(live: LiveModel, block: Attention, whole: Tensor, changed: list[Tensor], option: int) -> Event:
    event: dict[str, Any] = {
        "stack": block.stack,
        "layer": block.layer,
        "heads": list(block.heads),
        "change": [float(values[option] - whole[option]) for values in changed],
        "flips": [len(whole) > 1 and int(values.argmax()) != int(whole.argmax()) for values in changed],
    }
    if live.kind.has_probabilities:
        event["without"] = [_shown(values[option], live) for values in changed]
    return event


def _shown(value: Tensor, live: LiveModel) -> float:
    return float(value.exp() if live.kind.has_probabilities else value)
