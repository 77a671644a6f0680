"""Prove where a model whose type has no record keeps its heads; what is not proved is refused, with the step.

A small pass shows which modules call transformers' attention interface. Then, in order:

- interface: every attention of the pass runs through it, each module once (`small_passes.py`);
- projection: random numbers in place of each attention's outputs arrive, head by head and unchanged, at one output
  projection and at no other (`projection_proof.py`);
- layers: the modules make an encoder, a decoder, or both (`models/families/inspect.py`);
- zero: zeros in a head's columns of the projection's input give what zeros at the source give, and what zero columns of
  its weights give; without the heads every layer gives something else (`projection_proof.py`);
- maps, uniform: see `kernel_proof.py`;
- replay: a pass that begins in the middle gives what a whole pass gives;
- cut: a model without the heads' weights gives what the model with these heads at zero gives (`cut_proof.py`). Only
  this one may fail: then heads cannot be cut.

All of it runs on a copy in float64; on the model itself, in its own dtype, where a copy would be too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import torch
from transformers import PreTrainedModel

from headcount.errors import HeadcountError, UnknownFamily
from headcount.models.anatomy import Anatomy, read_anatomy
from headcount.models.dispatched import check_whole
from headcount.models.example_inputs import example_inputs
from headcount.models.families.inspect import SeenAttention, candidate_family
from headcount.models.families.lookup import forget_proved, remember_proved
from headcount.models.families.plan import Family
from headcount.models.families.registry import recorded_family
from headcount.trace.call import AttentionCall
from headcount.trace.cut_proof import prove_cut
from headcount.trace.interception import InterfaceCall
from headcount.trace.kernel_proof import apart, prove_kernel
from headcount.trace.masks import allowed_keys
from headcount.trace.modes import evaluating
from headcount.trace.projection_proof import find_projections, prove_zero
from headcount.trace.replay import Replay
from headcount.trace.session import session
from headcount.trace.small_passes import STEPS, Inputs, SmallPasses, at_real_positions, first_output, step
from headcount.trace.variants import Zero

SEEDS = (0, 1)


@dataclass(frozen=True)
class Proof:
    """The record that was proved, the dtype of the passes, and why heads cannot be cut, if they cannot."""

    family: Family
    dtype: torch.dtype
    no_cut: str | None = None

    def __str__(self) -> str:
        steps = ", ".join((*STEPS, *(() if self.no_cut else ("cut",))))
        dtype = str(self.dtype).removeprefix("torch.")
        unproved = f" Not proved: cut ({self.no_cut}); heads can be ablated, not cut." if self.no_cut else ""
        return f"Proved on small passes in {dtype}: {steps}.{unproved}"


def prove(model: PreTrainedModel) -> Proof:
    """Prove where the model keeps its heads; `UnknownFamily` names the step that failed."""
    try:
        with torch.no_grad(), evaluating(model):
            check_whole(model, "prove where its heads are")
            passes = SmallPasses(model)
            try:
                return _prove_steps(passes)
            finally:
                forget_proved(passes.model)
    except HeadcountError as error:
        model_type = recorded_family(model.config).model_types[0]
        raise UnknownFamily(
            f"models of type {model_type!r} have no record, and a small pass did not prove where their heads are; "
            f"{error}; docs/families.md says what is understood, docs/architecture.md how to add a record"
        ) from error


def _prove_steps(passes: SmallPasses) -> Proof:
    batches = []
    for seed in SEEDS:
        with step("inputs"):
            # One token: with more, a narrow window would leave queries nothing to attend to.
            batches.append(example_inputs(passes.model, seed, padded=1))
            passes.run(batches[-1])
    calls = passes.record(batches[0])
    projections = [find_projections(passes, batch, seed) for seed, batch in enumerate(batches)]
    if any(others != projections[0] for others in projections):
        raise UnknownFamily("projection: the outputs of attention reach other projections for other inputs")
    seen = [_seen_attention(call, passes.names[call.module], projections[0][call.module]) for call in calls]
    family = candidate_family(passes.model, seen)
    remember_proved(passes.model, family)
    anatomy = read_anatomy(passes.model)
    blocks = {block.module: block for block in anatomy}
    for batch in batches:
        prove_zero(passes, anatomy, batch)
        for number, call in enumerate([*passes.record(batch), *passes.cached(batch)]):
            with step("maps"):
                prove_kernel(call, blocks[call.module], seed=number)
    try:
        _prove_replay(passes, anatomy, batches)
    except UnknownFamily:
        family = replace(family, fans_out=False)
        remember_proved(passes.model, family)
        anatomy = read_anatomy(passes.model)
        _prove_replay(passes, anatomy, batches)
    family, no_cut = prove_cut(passes, family, anatomy, batches)
    return Proof(family, passes.model.dtype, no_cut)


def _seen_attention(call: InterfaceCall, name: str, output: str) -> SeenAttention:
    """What the call shows of its layer. Keys that differ in number from the queries are those of another stack."""
    heads, queries = call.query.shape[1:3]
    kv_heads, keys, size = call.value.shape[1:]
    if keys != queries:
        return SeenAttention(name, output, "cross", heads, size, kv_heads)
    module: Any = call.module
    block: Any = SimpleNamespace(module=module, heads=range(heads), name=name)
    implementation = module.config._attn_implementation
    allowed = allowed_keys(AttentionCall(block, implementation, call.value, call.mask, queries, options=call.options))
    # The first example is not padded.
    causal = allowed is not None and not bool(allowed[0].triu(1).any()) and queries > 1
    return SeenAttention(name, output, "decoder" if causal else "encoder", heads, size, kv_heads)


def _prove_replay(passes: SmallPasses, anatomy: Anatomy, batches: Sequence[Inputs]) -> None:
    """Heads of every layer at zero give the same in a pass that begins at that layer as in a whole pass."""
    for batch, block in product(batches, anatomy):
        variants = [{block.layer_key: Zero([head])} for head in block.heads[:2]]
        with step("replay"), Replay(passes.model, anatomy, first_position=False) as replay:
            replay.record(batch)
            results = first_output(replay.run(variants)).chunk(len(variants))
        plain = passes.run(batch)
        for variant, result in zip(variants, results, strict=True):
            with step("replay"), session(passes.model, variant, purpose="the proof"):
                whole = passes.run(batch)
            error = apart(at_real_positions(result, batch), whole)
            if error > passes.tolerance or error > apart(plain, whole) / 10:
                raise UnknownFamily(f"replay: a pass that begins at {block.layer_name} gives something else")
