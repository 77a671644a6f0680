"""What a model costs to keep and to run: parameters, bytes, operations, memory, time; before and after a cut.

Times are taken in turns (one model, the other, the first again), after a warm-up, each pass waited for: a machine that
slows down slows both.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import PreTrainedModel

from headcount.core.options import belongs_to, no_repeats, without_effect
from headcount.core.results import Labelled
from headcount.core.schema import Schema, with_schemas
from headcount.core.writers import writes_study
from headcount.costs.generation import SCHEMAS as GENERATION
from headcount.costs.generation import check_generates, generation_row, time_generation
from headcount.costs.memory import peak_bytes
from headcount.costs.turns import WARM_UP, in_turns, wait
from headcount.data.number_options import check_numbers
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress
from headcount.engines.run import Run
from headcount.errors import InvalidOption
from headcount.models.anatomy import Anatomy
from headcount.models.attention import Attention
from headcount.models.dispatched import check_whole
from headcount.models.example_inputs import random_images
from headcount.models.fingerprint import find_origin
from headcount.models.longest import longest_positions
from headcount.models.plain_weights import check_plain
from headcount.models.task_heads import is_classifier, is_multiple_choice
from headcount.trace.anatomy import read_anatomy
from headcount.trace.modes import evaluating
from headcount.trace.timing import timed_spans

BATCHES, LENGTHS, REPEATS = (1, 16), (32, 128), 10
SCHEMAS = {
    "model": Schema("Model"),
    "batch": Schema("Batch size", "texts", range=(1, None)),
    "length": Schema("Length", "tokens", "0: images", (0, None)),
    "ms": Schema("Median time of a pass", "ms", range=(0, None)),
    "ms_low": Schema("Time of a pass, lower quartile", "ms", range=(0, None)),
    "ms_high": Schema("Time of a pass, upper quartile", "ms", range=(0, None)),
    "per_second": Schema("Throughput", "texts a second", range=(0, None)),
    "flops": Schema("Operations of a pass", "FLOP", range=(0, None)),
    "peak_bytes": Schema("Peak memory", "bytes", range=(0, None)),
    "parameters": Schema("Parameters", range=(0, None)),
    "attention_parameters": Schema("Attention parameters", range=(0, None)),
    "feed_forward_parameters": Schema("Feed-forward parameters", range=(0, None)),
    "heads": Schema("Heads", range=(0, None)),
    "units": Schema("Feed-forward units", range=(0, None)),
    "bytes": Schema("Size of the weights", "bytes", range=(0, None)),
}


@writes_study("study")
def cost(
    models: Mapping[str, PreTrainedModel],
    *,
    batches: Sequence[int] = BATCHES,
    lengths: Sequence[int] | None = None,
    repeats: int = REPEATS,
    new_tokens: int | None = None,
    study: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """One row for each model, batch size and length: time (median, quartiles), throughput, operations, memory.

    Every row also has the model's parameters, those of its attention and of its feed-forward layers, its heads and
    units, and its bytes on disk. Images have no length.
    `lengths`: 32 and 128 by default. `new_tokens`: decoders also generate so many tokens after prompts of these
    lengths: `prefill` and `decode` (tokens a second of all texts, median and quartiles) and `cache_bytes` at the end.
    `study`: a folder that keeps the numbers, as `cost/NAME` ("models" by default); times differ from run to run, those
    that are there stay and are read.
    """
    check_numbers(repeats=repeats, new_tokens=new_tokens)
    belongs_to("name", name, "study", study)
    vision = any(model.main_input_name == "pixel_values" for model in models.values())
    if vision:
        without_effect("lengths", lengths, "images have no length in tokens")
    lengths = LENGTHS if lengths is None else lengths
    if not batches or not lengths:
        raise InvalidOption(f"got batches={list(batches)} and lengths={list(lengths)}; expected at least one of each")
    no_repeats("batches", batches)
    no_repeats("lengths", lengths)
    for batch, length in product(batches, lengths):
        check_numbers(batches=batch, lengths=length)
    for which, model in models.items():
        check_whole(model, "measure its cost")
        check_plain(model, "measure its cost")
        if new_tokens is not None:
            check_generates(which, model)
        check_length(which, model, max(lengths))
        longest = longest_positions(model)
        if longest is not None and new_tokens is not None and max(lengths) + new_tokens > longest:
            raise InvalidOption(
                f"got new_tokens={new_tokens} after {max(lengths)}; {which} takes at most {longest} tokens in all"
            )
        if max(batches) > 1 and _needs_padding(model) and model.config.pad_token_id is None:
            raise InvalidOption(
                f"{which} has no pad_token_id and takes one text at a time; set it, or give the batch 1"
            )
    shapes = [(batch, length) for batch in batches for length in ((0,) if vision else lengths)]
    run = Run(
        f"cost/{name or 'models'}",
        find_origin(models, "random tokens", 0),
        {"batches": list(batches), "lengths": list(lengths), "repeats": repeats}
        | ({} if new_tokens is None else {"new_tokens": new_tokens}),
        {},
        lambda _: _measure(models, shapes, repeats, new_tokens, progress),
    )
    result = perform(run, study)
    table = pd.DataFrame({key: result[key].values for key in (*SCHEMAS, *GENERATION) if key in result})
    table.attrs = result.attrs
    return table


def _measure(
    models: Mapping[str, PreTrainedModel],
    shapes: list[tuple[int, int]],
    repeats: int,
    new_tokens: int | None,
    progress: Progress | None,
) -> Labelled:
    rows: list[dict[str, Any]] = []
    for number, shape in enumerate(shapes):
        inputs = {name: make_inputs(model, *shape) for name, model in models.items()}
        times = time_in_turns(models, inputs, repeats)
        prompts = {name: batch["input_ids"] for name, batch in inputs.items()} if new_tokens is not None else {}
        generated = {} if new_tokens is None else time_generation(models, prompts, new_tokens, repeats)
        for name, model in models.items():
            low, middle, high = np.quantile(times[name], (0.25, 0.5, 0.75))
            rows.append(
                {
                    "model": name,
                    "batch": shape[0],
                    "length": shape[1],
                    "ms": 1e3 * middle,
                    "ms_low": 1e3 * low,
                    "ms_high": 1e3 * high,
                    "per_second": shape[0] / middle,
                    "flops": flops(model, inputs[name]),
                    "peak_bytes": peak_bytes(model, inputs[name]),
                    **size(model),
                    **(generation_row(generated[name], *shape, new_tokens) if new_tokens is not None else {}),
                }
            )
        if progress is not None:
            progress(number + 1, len(shapes))
    table = pd.DataFrame(rows)
    return with_schemas({key: (("row",), table[key].to_numpy()) for key in rows[0]}, SCHEMAS | GENERATION)


def size(model: PreTrainedModel) -> dict[str, int]:
    """Parameters in all, of attention and of feed-forward layers; heads and units; the bytes of the weights."""
    anatomy = read_anatomy(model)
    tensors = {tensor.data_ptr(): tensor for tensor in model.state_dict().values() if tensor.numel()}
    return {
        "parameters": model.num_parameters(),
        "attention_parameters": _count(_attention_modules(anatomy)),
        "feed_forward_parameters": _count(_feed_forward_modules(anatomy)),
        "heads": anatomy.layout.count,
        "units": anatomy.units.count,
        "bytes": sum(tensor.numel() * tensor.element_size() for tensor in tensors.values()),
    }


def make_inputs(model: PreTrainedModel, batch: int, length: int) -> dict[str, Tensor]:
    """Random tokens without padding (or images), on the model's device."""
    generator = torch.Generator().manual_seed(0)
    config = model.config
    if model.main_input_name == "pixel_values":
        return random_images(model, batch, generator)
    ids = torch.randint(3, max(4, config.vocab_size), (batch, length), generator=generator).to(model.device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if getattr(config, "is_encoder_decoder", False):
        if is_classifier(model):
            ids[:, -1] = config.eos_token_id  # where it reads
        else:
            inputs["decoder_input_ids"] = ids
    if is_multiple_choice(model):
        inputs = {key: tensor[:, None] for key, tensor in inputs.items()}
    return inputs


def check_length(which: str, model: PreTrainedModel, length: int) -> None:
    """An error for texts that are longer than the model takes; images have no length."""
    if model.main_input_name == "pixel_values":
        return
    check_numbers(lengths=length)
    longest = longest_positions(model)
    if longest is not None and length > longest:
        raise InvalidOption(f"got the length {length}; {which} takes at most {longest} tokens")


def _needs_padding(model: PreTrainedModel) -> bool:
    """A decoder that classifies looks for the end of each text."""
    return is_classifier(model) and "decoder" in read_anatomy(model).stacks


@torch.no_grad()
def time_in_turns(
    models: Mapping[str, PreTrainedModel], inputs: Mapping[str, Mapping[str, Tensor]], repeats: int
) -> dict[str, list[float]]:
    """Seconds of every pass, by model."""
    times: dict[str, list[float]] = {name: [] for name in models}
    for name, timed in in_turns(models, repeats):
        model = models[name]
        with evaluating(model):
            wait(model)
            start = time.perf_counter()
            model(**inputs[name])
            wait(model)
        if timed:
            times[name].append(time.perf_counter() - start)
    return times


def time_both(
    whole: PreTrainedModel, smaller: PreTrainedModel, batch: int, length: int, repeats: int
) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of every pass of a model and of a smaller one, in turns: what disturbs one disturbs the other."""
    models = {"whole": whole, "smaller": smaller}
    inputs = {name: make_inputs(model, batch, length) for name, model in models.items()}
    times = time_in_turns(models, inputs, repeats)
    return np.array(times["whole"]), np.array(times["smaller"])


def flops(model: PreTrainedModel, inputs: Mapping[str, Tensor]) -> int:
    """Floating-point operations of the matrix products of one pass.

    A layer without heads counts none: the head of zeros that stands in for them is how it runs, not what it costs.
    """
    return count_operations(model, inputs)[0]


@torch.no_grad()
def count_operations(model: PreTrainedModel, inputs: Mapping[str, Tensor]) -> tuple[int, dict[str, int]]:
    """The operations of one pass, and those inside each module by its name; an empty layer's stand-in counts none."""
    # The counter does not know the fused attention kernel of CPUs.
    with evaluating(model), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(**inputs)
    root = f"{type(model).__name__}."
    counts = {
        name.removeprefix(root): int(sum(by_kind.values())) for name, by_kind in counter.get_flop_counts().items()
    }
    blocks = [block for layers in read_anatomy(model).stacks.values() for block in layers if not block.heads]
    empty = {block.name: counts.get(block.name, 0) for block in blocks}
    return int(counter.get_total_flops()) - sum(empty.values()), counts | dict.fromkeys(empty, 0)


class Shares(NamedTuple):
    """Of the time of a pass."""

    attention: float
    feed_forward: float | None
    """None where the model's feed-forward layers are not known."""


@torch.no_grad()
def time_shares(model: PreTrainedModel, inputs: Mapping[str, Tensor], repeats: int = 5) -> Shares:
    """The shares of a pass's time that the attention and the feed-forward blocks take: what cuts can win.

    Attention includes its output projection, a feed-forward block what lies between its projections.
    """

    def clock() -> float:
        wait(model)
        return time.perf_counter()

    anatomy = read_anatomy(model)
    units = {block.output: block.inputs[0][1] for blocks in anatomy.feed_forwards.values() for block in blocks}
    shares = []
    with (
        evaluating(model),
        timed_spans(((module, module) for module in _attention_modules(anatomy)), clock) as in_attention,
        timed_spans(((first, last) for last, first in units.items()), clock) as in_units,
    ):
        for turn in range(WARM_UP + repeats):
            in_attention.clear()
            in_units.clear()
            start = time.perf_counter()
            model(**inputs)
            whole = clock() - start
            if turn >= WARM_UP:
                shares.append((sum(in_attention) / whole, sum(in_units) / whole))
    of_attention, of_units = np.median(shares, axis=0)
    return Shares(float(of_attention), float(of_units) if units else None)


def _count(modules: Iterable[nn.Module]) -> int:
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


def _attention_modules(anatomy: Anatomy) -> list[nn.Module]:
    """The attention modules and those output projections that stand beside them, each once."""

    def parts(block: Attention) -> Iterable[nn.Module]:
        yield block.module
        if not block.output_name.startswith(f"{block.name}."):
            yield block.output

    blocks = [block for layers in anatomy.stacks.values() for block in layers]
    return list(dict.fromkeys(module for block in blocks for module in parts(block)))


def _feed_forward_modules(anatomy: Anatomy) -> list[nn.Module]:
    """The projections into units and out of them, each once."""
    blocks = [block for blocks in anatomy.feed_forwards.values() for block in blocks]
    return list(
        dict.fromkeys(module for block in blocks for module in (*(one for _, one in block.inputs), block.output))
    )
