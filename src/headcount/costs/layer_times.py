"""How long a model takes with any number of heads and units in each layer: a table, measured on this machine.

One layer of each stack is run alone, with what it is called with in a real pass: with each number of heads and without
units, with several numbers of units and without heads. What a layer takes more than without both is the time of its
heads or units. The whole model, and the model without any heads and units, run in the same turns: the second is what
no cut can save, and the times of the parts are scaled so that those of all layers make up the difference of the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from transformers import PreTrainedModel

from headcount.core.results import Labelled, label_axes
from headcount.core.schema import Schema, with_schemas
from headcount.core.units import SUFFIX
from headcount.core.writers import writes_study
from headcount.costs.cost import check_length, make_inputs
from headcount.costs.turns import WARM_UP, in_turns, wait
from headcount.data.number_options import check_numbers
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress
from headcount.engines.run import Run, group_name
from headcount.models.anatomy import Anatomy
from headcount.models.compiled import takes_compiled
from headcount.models.fingerprint import find_origin
from headcount.models.surgery import check_can_prune
from headcount.models.thinner import Block, thinner_copy
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey
from headcount.trace.layer_arguments import layer_arguments
from headcount.trace.modes import evaluating

BATCH, LENGTH, REPEATS = 16, 128, 10
POINTS, MULTIPLE = 12, 32
"""Widths of the feed-forward block: about so many, each a multiple of this, as kernels like them."""
SCHEMAS = {
    "block": Schema("Attention or feed-forward (units) of a stack"),
    "count": Schema("Heads or units of the layer", range=(0, None)),
    "seconds": Schema("Time of the heads or units of a layer", "s", range=(0, None)),
    "whole": Schema("Heads or units of each layer of the whole model", range=(0, None)),
    "rest": Schema("Time of a pass without heads and units", "s", range=(0, None)),
}


@dataclass(frozen=True)
class LayerTimes:
    """Times of a pass over `batch` texts of `length` tokens, by the numbers of heads and units in each layer.

    >>> counts, times = {"encoder": np.array([0, 2])}, {"encoder": np.array([0, 0.3])}
    >>> table = LayerTimes(counts, times, {("encoder", 0): 2}, rest=0.1, batch=1, length=8)
    >>> round(table.seconds(("encoder", 0), 1), 3), round(table.predict({}), 3)
    (0.15, 0.4)
    """

    counts: Mapping[str, np.ndarray]
    """For each stack (and `stack.units`), the numbers of heads or units that were measured, from 0 to all."""
    times: Mapping[str, np.ndarray]
    """The seconds that so many heads or units of one layer take."""
    whole: Mapping[LayerKey, int]
    """The heads or units of each block of the model that was measured."""
    rest: float
    """The seconds of a pass without any heads and units."""
    batch: int
    length: int

    def seconds(self, key: LayerKey, count: float) -> float:
        """The time of so many heads or units of a layer; between the numbers that were measured, on a line."""
        return float(np.interp(count, self.counts[key[0]], self.times[key[0]]))

    def predict(self, counts: Mapping[LayerKey, int]) -> float:
        """The seconds of a pass with so many heads and units; blocks that are not named keep all of theirs."""
        return self.rest + sum(self.seconds(key, count) for key, count in {**self.whole, **counts}.items())

    def faster(self, counts: Mapping[LayerKey, int]) -> float:
        """How many times as fast as the whole model a model with so many heads and units is."""
        return self.predict({}) / self.predict(counts)

    def arrays(self) -> Labelled:
        """As labelled arrays along (block, point) and (block, layer), NaN where a block has fewer of them."""
        blocks = list(self.counts)
        layers = 1 + max(layer for _, layer in self.whole)
        count, seconds = (_table([one[block] for block in blocks]) for one in (self.counts, self.times))
        whole = [[self.whole.get((block, layer), np.nan) for layer in range(layers)] for block in blocks]
        arrays = {
            "count": (("block", "point"), count),
            "seconds": (("block", "point"), seconds),
            "whole": (("block", "layer"), np.array(whole)),
            "rest": ((), np.float64(self.rest)),
        }
        return with_schemas({**label_axes({"block": blocks, "layer": np.arange(layers)}), **arrays}, SCHEMAS)

    @classmethod
    def read(cls, stored: xr.Dataset, batch: int, length: int) -> LayerTimes:
        """From the arrays of `arrays`."""
        blocks = [str(block) for block in stored["block"].values]
        counts, times = (
            {block: row[np.isfinite(row)] for block, row in zip(blocks, stored[name].values, strict=True)}
            for name in ("count", "seconds")
        )
        whole = {
            (block, layer): int(number)
            for block, numbers in zip(blocks, stored["whole"].values, strict=True)
            for layer, number in enumerate(numbers)
            if np.isfinite(number)
        }
        return cls(counts, times, whole, float(stored["rest"]), batch, length)


def _table(rows: list[np.ndarray]) -> np.ndarray:
    filled = np.full((len(rows), max(map(len, rows))), np.nan)
    for row, values in zip(filled, rows, strict=True):
        row[: len(values)] = values
    return filled


@takes_compiled
@writes_study("study")
def layer_times(
    model: PreTrainedModel,
    *,
    batch: int = BATCH,
    length: int = LENGTH,
    repeats: int = REPEATS,
    study: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> LayerTimes:
    """Measure the table of times of a model, on its device and with the threads that torch uses.

    `study`: a folder that keeps the table, as `cost/layer-times`; one that is there is read, so that a resumed choice
    uses the same times.
    """
    check_numbers(batches=batch, repeats=repeats)
    check_length("the model", model, length)
    anatomy = read_anatomy(model)
    check_can_prune(anatomy)
    run = Run(
        group_name("cost/layer-times", name),
        find_origin(model, "random tokens", 0),
        {"batch": batch, "length": length, "repeats": repeats},
        {"threads": torch.get_num_threads()},
        lambda _: _measure(model, anatomy, (batch, length), repeats, progress).arrays(),
    )
    return LayerTimes.read(perform(run, study), batch, length)


def _measure(
    model: PreTrainedModel, anatomy: Anatomy, shape: tuple[int, int], repeats: int, progress: Progress | None
) -> LayerTimes:
    """Run everything in turns; the shortest of each: other programs only add to a time."""
    inputs = make_inputs(model, *shape)
    blocks = list(anatomy.blocks())
    samples = _samples(blocks)
    arguments = layer_arguments(model, {block.layer_module for block in samples.values()}, inputs)
    empty = dict.fromkeys((block.layer_key for block in blocks), 0)
    without_parts = thinner_copy(model, blocks, empty)
    calls: dict[str, Callable[[], Any]] = {"whole": partial(model, **inputs), "rest": partial(without_parts, **inputs)}
    for stack, block in samples.items():
        args, kwargs = arguments[block.layer_module]
        inside = [other for other in blocks if other.layer_module is block.layer_module]
        for count in _counts(block):
            layer = thinner_copy(block.layer_module, inside, {**empty, block.layer_key: count})
            calls[f"{stack} {count}"] = partial(layer.eval(), *args, **kwargs)
    with evaluating(model), evaluating(without_parts):
        seconds = _time(model, calls, repeats, progress)
    counts = {stack: np.array(_counts(block)) for stack, block in samples.items()}
    alone = {stack: np.array([seconds[f"{stack} {count}"] for count in counts[stack]]) for stack in samples}
    times = {stack: _ascending(taken - taken[0]) for stack, taken in alone.items()}
    whole = {block.layer_key: block.count for block in blocks}
    found = LayerTimes(counts, times, whole, seconds["rest"], *shape)
    return _scaled(found, seconds["whole"])


def _scaled(found: LayerTimes, whole: float) -> LayerTimes:
    """Layers that run alone find their inputs in faster memory: the times that make up that of the whole model."""
    alone = found.predict({}) - found.rest
    factor = max(whole - found.rest, 0.0) / alone if alone > 0 else 1.0
    times = {stack: factor * taken for stack, taken in found.times.items()}
    return LayerTimes(found.counts, times, found.whole, found.rest, found.batch, found.length)


def _samples(blocks: list[Block]) -> dict[str, Block]:
    """For each stack a block to measure: of those with the most parts one in the middle, as first layers may differ."""
    found = {}
    for stack in dict.fromkeys(block.layer_key[0] for block in blocks):
        those = [block for block in blocks if block.layer_key[0] == stack]
        largest = [block for block in those if block.count == max(other.count for other in those)]
        found[stack] = largest[len(largest) // 2]
    return found


def _counts(block: Block) -> list[int]:
    """The numbers of parts to measure: all numbers of heads, and a grid of widths."""
    if not block.layer_key[0].endswith(SUFFIX):
        return list(range(block.count + 1))
    return widths(block.count)


def widths(count: int) -> list[int]:
    """Numbers of units that are measured, of a block with so many: multiples of 32, with 0 and all of them.

    >>> widths(1536)[:4], len(widths(1536)), widths(40)
    ([0, 128, 256, 384], 13, [0, 32, 40])
    """
    step = max(1, round(count / POINTS / MULTIPLE)) * MULTIPLE
    return [*range(0, count, step), count]


@torch.no_grad()
def _time(
    model: PreTrainedModel, calls: Mapping[str, Callable[[], Any]], repeats: int, progress: Progress | None
) -> dict[str, float]:
    """The shortest of each call's times, in seconds."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    total = (WARM_UP + repeats) * len(calls)
    for number, (name, timed) in enumerate(in_turns(calls, repeats)):
        wait(model)
        start = time.perf_counter()
        calls[name]()
        wait(model)
        if timed:
            taken[name].append(time.perf_counter() - start)
        if progress is not None:
            progress(number + 1, total)
    return {name: float(np.min(durations)) for name, durations in taken.items()}


def _ascending(values: np.ndarray) -> np.ndarray:
    """The nearest values, by squared differences, that never fall: that more parts take less time is noise.

    >>> _ascending(np.array([0.0, 2.0, 1.0, 3.0])).tolist()
    [0.0, 1.5, 1.5, 3.0]
    """
    pools: list[list[float]] = []
    for value in values:
        pools.append([float(value)])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    level = np.concatenate([np.full(len(pool), np.mean(pool)) for pool in pools])
    return np.asarray(level - level[0])
