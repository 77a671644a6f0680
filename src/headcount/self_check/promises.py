"""The promises of Headcount, each checked on one model with random inputs: passed, failed, or skipped and why."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from transformers import PreTrainedModel

from headcount.ablation.ablated import ablated
from headcount.core.heads import HeadSet
from headcount.errors import CannotPrune, HeadcountError
from headcount.models.attention import is_projection
from headcount.models.dispatched import is_dispatched
from headcount.models.surgery import check_can_prune
from headcount.pruning.prune import prune
from headcount.self_check.trial import Failed, Skipped, Trial, begin
from headcount.trace.gates import gated
from headcount.trace.memory import free_memory, is_out_of_memory, spell_bytes
from headcount.trace.modes import evaluating
from headcount.trace.replay import Replay
from headcount.trace.session import session
from headcount.trace.small_passes import at_real_positions, first_output
from headcount.trace.variants import Zero

LONGEST = 60.0
"""Seconds after which no further check begins."""
REPLAYED = 4
"""Heads for which a replay is compared with a loop."""
Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class Check:
    """A promise, what came of it, and how that shows."""

    promise: str
    outcome: Outcome
    why: str


def check_promises(model: PreTrainedModel, longest: float = LONGEST) -> list[Check]:
    """All checks of a model; after the first that every other one needs has failed, the rest is skipped."""
    start = time.perf_counter()
    trials: list[Trial] = []

    def find() -> str:
        trials.append(begin(model))
        shape = " x ".join(map(str, trials[0].plain.shape))
        return f"{trials[0].anatomy.layout.count:,} heads; the output of the pass has {shape} numbers"

    checks = [_check("the heads are found, and a small pass runs", find)]
    for promise, run in PROMISES.items():
        checks.append(_check(promise, partial(_on_trial, run, trials), _reason(checks, start, longest)))
    return checks


def _on_trial(run: Callable[[Trial], str], trials: list[Trial]) -> str:
    return run(trials[0])


def _reason(checks: list[Check], start: float, longest: float) -> str:
    """Why the next check is skipped, if it is."""
    for needed in checks[:2]:
        if needed.outcome != "passed":
            return f"it needs that {needed.promise}"
    return f"the checks before it took {longest:g} seconds" if time.perf_counter() - start > longest else ""


def _check(promise: str, run: Callable[[], str], skip: str = "") -> Check:
    if skip:
        return Check(promise, "skipped", skip)
    try:
        return Check(promise, "passed", run())
    except Skipped as error:
        return Check(promise, "skipped", str(error))
    except HeadcountError as error:
        return Check(promise, "failed", str(error))
    except (RuntimeError, MemoryError) as error:
        if is_out_of_memory(error):
            return Check(promise, "skipped", "not enough memory")
        return Check(promise, "failed", f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}")
    except Exception as error:  # noqa: BLE001  # a doctor names what fails
        return Check(promise, "failed", f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}")


def _repeats(trial: Trial) -> str:
    if not bool(torch.isfinite(trial.plain[trial.plain > -1e8]).all()) or bool(trial.plain.isnan().any()):
        raise Failed(f"the output is not finite in {str(trial.plain.dtype).removeprefix('torch.')}")
    if not torch.equal(trial.run(), trial.plain):
        raise Failed("two passes over the same inputs give different outputs, without Headcount")
    return "two passes over the same inputs are equal bit for bit"


def _gates(trial: Trial) -> str:
    layout = trial.anatomy.layout
    gates = {stack: torch.ones(layout.layers(stack), layout.width(stack)) for stack in layout.stacks}
    with gated(trial.model, gates if len(gates) > 1 else next(iter(gates.values()))):
        through = trial.run()
    if not torch.equal(through, trial.plain):
        raise Failed(f"the outputs differ by {float((through - trial.plain).double().abs().max()):.1e}")
    return "equal bit for bit"


def _zero(trial: Trial) -> str:
    if is_dispatched(trial.model):
        raise Skipped("the model is spread over several devices, and its weights are not changed")
    if not all(is_projection(block.output) for block in trial.anatomy):
        raise Skipped("an output projection is not a plain Linear (quantised, or with an adapter)")
    with ablated(trial.model, trial.heads()):
        without = trial.run()
    with trial.zero_columns():
        zeroed = trial.run()
    said = trial.compare(without, zeroed, "the outputs")
    if not torch.equal(trial.run(), trial.plain):
        raise Failed("the weights were not restored")
    return f"{trial.heads()}: {said}"


def _nothing_stays(trial: Trial) -> str:
    with ablated(trial.model, trial.heads()):
        inside = trial.run()
    after = trial.run()
    with suppress(ZeroDivisionError), ablated(trial.model, trial.heads()):
        trial.run()
        raise ZeroDivisionError
    if not torch.equal(after, trial.plain):
        raise Failed("after the context the model computes something else than before")
    if not torch.equal(trial.run(), trial.plain):
        raise Failed("after an exception inside the context the model computes something else than before")
    if torch.equal(inside, trial.plain):
        raise Skipped(f"{trial.heads()} make no difference to random inputs")
    return "the output is the model's own again, also after an exception"


def _replay(trial: Trial) -> str:
    """As a sweep runs variants: those of each layer in one pass that begins there."""
    heads = list(trial.heads())[:REPLAYED]
    variants = []
    for head in heads:
        block = trial.anatomy.attention(head.stack, head.layer)
        variants.append({block.layer_key: Zero([block.column(head.head)])})
    said = []
    with torch.no_grad(), evaluating(trial.model):
        for head, variant in zip(heads, variants, strict=True):
            with Replay(trial.model, trial.anatomy) as replay:
                replay.record(trial.batch)
                replayed = at_real_positions(first_output(replay.run([variant])), trial.batch)
            with session(trial.model, variant, purpose="the self-check"):
                looped = trial.run()
            with suppress(Skipped):  # a single head may do nothing
                said.append(trial.compare(looped, replayed, f"the outputs without {trial.anatomy.layout.spell(head)}"))
    if not said:
        raise Skipped("no single head that was tried makes a difference beyond rounding to random inputs")
    return f"{len(said)} heads; {said[0]}"


def _cut(trial: Trial) -> str:
    if is_dispatched(trial.model):
        raise Skipped("the model is spread over several devices, and cannot be copied")
    try:
        check_can_prune(trial.anatomy)
    except CannotPrune as error:
        raise Skipped(f"heads of this model cannot be cut: {error}") from error
    needed, free = _bytes(trial.model), _free(trial.model)
    if free is not None and needed > free:
        raise Skipped(f"a copy of the model takes {spell_bytes(needed)}, and {spell_bytes(free)} are free")
    heads = trial.heads()
    if len(heads) == trial.anatomy.layout.count:  # the last head of a model stays
        heads = heads - HeadSet.of(next(iter(heads)), trial.anatomy.layout)
    if not len(heads):
        raise Skipped("the model has a single head, which cannot be cut")
    with ablated(trial.model, heads):
        without = trial.run()
    small = prune(copy.deepcopy(trial.model), heads)
    return f"{heads}: {trial.compare(without, trial.run(small), 'the outputs')}"


def _bytes(model: PreTrainedModel) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in (*model.parameters(), *model.buffers()))


def _free(model: PreTrainedModel) -> int | None:
    if model.device.type == "cuda":
        return int(torch.cuda.mem_get_info(model.device)[0])
    return free_memory()


PROMISES: dict[str, Callable[[Trial], str]] = {
    "the model gives the same output twice": _repeats,
    "all gates at 1 change nothing": _gates,
    "zero ablation equals zeroed columns": _zero,
    "ablation does not stay behind": _nothing_stays,
    "a sweep's replay equals a plain loop": _replay,
    "pruning equals zero ablation": _cut,
}
