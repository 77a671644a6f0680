"""The answer to a typed text: of the whole model and without some heads, with the map of a head."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from headcount.live_server.answer_rows import answer_rows
from headcount.live_server.asked import Asked, Off
from headcount.live_server.head_maps import packed, watching
from headcount.live_server.images import seen_image
from headcount.live_server.interventions import needs_means, without
from headcount.live_server.live_model import LiveModel, Reading
from headcount.live_server.worker import Event

SIDES = {"encoder": ("encoder", "encoder"), "decoder": ("decoder", "decoder"), "cross": ("decoder", "encoder")}
"""The sides of the queries and of the keys of a stack in an encoder-decoder."""


def answer(live: LiveModel, asked: Asked) -> Iterator[Event]:
    """One step, whose event is the whole answer."""
    started = time.perf_counter()
    reading = live.read(asked.texts)
    whole, map_whole = _run(live, reading, asked, ())
    theirs, map_without = _run(live, reading, asked, asked.off) if asked.off else (None, None)
    found: Event = {
        "kind": live.kind.name,
        "tokens": reading.tokens,
        "segments": reading.typed.row.get("token_type_ids") if "" in reading.tokens else None,
        "cut": reading.typed.cut,
        "unlike": live.unlike(asked.texts, reading),
        "off": [{"heads": str(one.heads), "how": one.how, "strength": one.strength} for one in asked.off],
        "questions": answer_rows(
            reading.typed.questions, whole, theirs, asked.top, live.names, live.kind.has_probabilities
        ),
    }
    if live.images:
        found["seen"] = seen_image(live.tokenizer, reading.inputs["pixel_values"])
    if not reading.typed.questions:
        found["note"] = live.kind.no_question
    if asked.map is not None and map_whole is not None:
        found["map"] = _map(live, asked, reading, map_whole, map_without)
    found["milliseconds"] = round(1000 * (time.perf_counter() - started), 1)
    yield found


def _run(live: LiveModel, reading: Reading, asked: Asked, off: tuple[Off, ...]) -> tuple[Tensor, Tensor | None]:
    """The answers [question, option] and the map of a pass."""
    means = live.means() if needs_means(off) else None
    with live.passes(), without(live.model, live.anatomy, off, means), watching(live.model, asked.map) as maps:
        result = live.model(**reading.inputs)
        return live.answers(reading, result)[0], maps[0] if maps else None


def _map(live: LiveModel, asked: Asked, reading: Reading, whole: Tensor, theirs: Tensor | None) -> dict[str, Any]:
    assert asked.map is not None
    name = live.anatomy.layout.spell(asked.map)
    query, key = ("", "") if "" in reading.tokens else SIDES[asked.map.stack]
    queries, keys = len(reading.tokens[query]), len(reading.tokens[key])  # without the padding of a first row

    def cut(weights: Tensor) -> dict[str, Any]:
        return packed(weights[:queries, :keys], name)

    return {
        "head": name,
        "query_side": query,
        "key_side": key,
        "whole": cut(whole),
        "without": None if theirs is None else cut(theirs),
    }
