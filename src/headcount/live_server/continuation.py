"""How a model goes on writing, whole and without some heads: a few tokens at a time, the most probable ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, StoppingCriteria, StoppingCriteriaList

from headcount.errors import InvalidOption
from headcount.live_server.asked import Asked, Off
from headcount.live_server.interventions import needs_means, without
from headcount.live_server.live_model import LiveModel, Reading
from headcount.live_server.worker import Event

AT_ONCE = 4
"""Tokens of a step: other requests wait for no more."""


class _Length(StoppingCriteria):  # type: ignore[misc]
    """Ends a step. The text itself may go on: with `max_new_tokens` for a step, BART would end it there."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __call__(self, input_ids: Tensor, scores: Any, **_: Any) -> Tensor:
        return torch.full((len(input_ids),), input_ids.shape[1] >= self.most, device=input_ids.device)


class Writing:
    """A text that is being written by one of the two models."""

    def __init__(self, live: LiveModel, reading: Reading, side: str, off: tuple[Off, ...]) -> None:
        self.live, self.side, self.off = live, side, off
        self.means = live.means() if needs_means(off) else None
        self.inputs = {key: value for key, value in reading.inputs.items() if isinstance(value, Tensor)}
        self.key = "decoder_input_ids" if "decoder_input_ids" in self.inputs else "input_ids"
        self.start = self.inputs[self.key].shape[1]
        self.cache: Any = None
        self.done = False

    @property
    def written(self) -> list[int]:
        found: list[int] = self.inputs[self.key][0, self.start :].tolist()
        return found

    def go_on(self, most: int) -> Event:
        """Write a few tokens more, up to `most` in all."""
        count = min(AT_ONCE, most - len(self.written))
        before = len(self.written)
        kept = {} if self.cache is None else {"past_key_values": self.cache}
        live = self.live
        with live.passes(), without(live.model, live.anatomy, self.off, self.means):
            made = live.model.generate(
                **self.inputs,
                **kept,
                generation_config=_greedy(live.model, most - before),
                stopping_criteria=StoppingCriteriaList([_Length(self.inputs[self.key].shape[1] + count)]),
                return_dict_in_generate=True,
            )
        self._extend(made.sequences)
        if self.key == "input_ids":  # of an encoder-decoder, the encoder's part would have to be kept too
            self.cache = made.past_key_values
        ends = _end_tokens(live.model)
        new = self.written[before:]
        self.done = len(new) < count or any(token in ends for token in new) or len(self.written) >= most
        text = live.tokenizer.decode(self.written, skip_special_tokens=True)
        return {"side": self.side, "text": text, "tokens": len(self.written), "done": self.done}

    def _extend(self, sequences: Tensor) -> None:
        added = sequences.shape[1] - self.inputs[self.key].shape[1]
        self.inputs[self.key] = sequences
        mask = self.inputs.get("attention_mask")
        if self.key == "input_ids" and mask is not None:
            self.inputs["attention_mask"] = torch.cat([mask, mask.new_ones(len(mask), added)], 1)


def continue_text(live: LiveModel, asked: Asked) -> Iterator[Event]:
    """Steps of a few tokens of each model in turn; each event has the text that was written so far."""
    if not live.kind.writes:
        raise InvalidOption(f"{type(live.model).__name__} writes no text; ask for its answer")
    started = time.perf_counter()
    reading = live.read(asked.texts)
    writing = [Writing(live, reading, "whole", ())]
    if asked.off:
        writing.append(Writing(live, reading, "without", asked.off))
    while any(not one.done for one in writing):
        for one in writing:
            if not one.done:
                yield one.go_on(asked.new_tokens)
    yield {
        "same": len({tuple(one.written) for one in writing}) == 1,
        "seconds": round(time.perf_counter() - started, 3),
    }


def _greedy(model: Any, count: int) -> GenerationConfig:
    """The model's own configuration of generation, but the most probable token each time, and so many at most.

    `generate` takes what is None here from the model's configuration.
    """
    config = GenerationConfig.from_dict(model.generation_config.to_dict())
    config.update(
        max_new_tokens=count,
        max_length=None,
        min_length=0,
        min_new_tokens=0,
        num_return_sequences=1,
        do_sample=False,
        num_beams=1,
        temperature=None,
        top_k=None,
        top_p=None,
        use_cache=True,
    )
    if config.pad_token_id is None:
        config.pad_token_id = next(iter(_end_tokens(model)), 0)
    return config


def _end_tokens(model: Any) -> set[int]:
    ends = model.generation_config.eos_token_id
    if ends is None:
        return set()
    return set(ends) if isinstance(ends, list) else {int(ends)}
