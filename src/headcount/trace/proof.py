"""Proofs that a model whose type has no record is understood: what they do not prove is refused, with the step.

A small pass shows which modules call transformers' attention interface. Then, in order:

- interface: every attention of the pass runs through it, each module once;
- projection: random numbers in the place of each attention's outputs arrive, head by head and unchanged, at one output
  projection and at no other;
- layers: the modules make an encoder, a decoder, or both (`models/families/inspect.py`);
- zero: zeros at a head's columns of the projection's input give what zeros at the source give, and what zero columns of
  its weights give; without the heads every layer gives something else;
- maps, uniform: see `kernel_proof.py`;
- replay: a pass that begins in the middle gives what a whole pass gives;
- cut: a model without the heads' weights gives what the model with these heads at zero gives. Only this one may fail:
  then heads are not cut.

All of it runs on a copy in float64; on the model itself, in its own dtype, where a copy would be too large.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.errors import HeadcountError, UnknownFamily
from headcount.models.anatomy import Anatomy, Attention, forget, is_projection, read_anatomy, remember
from headcount.models.example_inputs import example_inputs
from headcount.models.families.inspect import SeenAttention, candidate_family, cut_candidates
from headcount.models.families.plan import Family, StackPlan
from headcount.models.families.registry import recorded_family
from headcount.models.surgery import cut
from headcount.trace.call import AttentionCall
from headcount.trace.edits import OutputEdit
from headcount.trace.interception import InterfaceCall, intercepted
from headcount.trace.kernel_proof import apart, prove_kernel
from headcount.trace.masks import allowed_keys
from headcount.trace.modes import evaluating
from headcount.trace.replay import Replay
from headcount.trace.session import session
from headcount.trace.small_passes import (
    STEPS,
    Inputs,
    SmallPasses,
    at_real_positions,
    first_output,
    hooked,
    real_output,
    step,
)

SEEDS = (0, 1)


@dataclass(frozen=True)
class Proof:
    """The record that was proved, the dtype that it was proved in, and why heads cannot be cut, if they cannot."""

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
            prover = _Prover(model)
            try:
                return prover.proof()
            finally:
                forget(prover.model)
    except HeadcountError as error:
        kind = recorded_family(model.config).model_types[0]
        raise UnknownFamily(
            f"models of type {kind!r} have no record, and a small pass did not prove where their heads are; {error}; "
            "docs/families.md says what is understood, docs/architecture.md how to add a record"
        ) from error


class _Zero(OutputEdit):
    """Some heads give zero."""

    def __init__(self, heads: list[int]) -> None:
        self.heads = heads

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        outputs = outputs.clone()
        outputs[:, :, self.heads] = 0
        return outputs


class _Prover(SmallPasses):
    def proof(self) -> Proof:
        batches = []
        for seed in SEEDS:
            with step("inputs"):
                # One token: with more, a narrow window would leave queries nothing to attend to.
                batches.append(example_inputs(self.model, seed, padded=1))
                self.run(batches[-1])
        calls = self.record(batches[0])
        outputs = [self.projections(batch, seed) for seed, batch in enumerate(batches)]
        if any(again != outputs[0] for again in outputs):
            raise UnknownFamily("projection: the outputs of attention reach other projections for other inputs")
        seen = [_seen(call, self.names[call.module], outputs[0][call.module]) for call in calls]
        family = candidate_family(self.model, seen)
        remember(self.model, family)
        anatomy = read_anatomy(self.model)
        for batch in batches:
            self.zero(anatomy, batch)
            blocks = {block.module: block for block in anatomy}
            for number, call in enumerate([*self.record(batch), *self.cached(batch)]):
                with step("maps"):
                    prove_kernel(call, blocks[call.module], seed=number)
        try:
            self.replay(anatomy, batches)
        except UnknownFamily:
            family = replace(family, fans_out=False)
            remember(self.model, family)
            anatomy = read_anatomy(self.model)
            self.replay(anatomy, batches)
        family, no_cut = self.cut(family, anatomy, batches)
        return Proof(family, self.model.dtype, no_cut)

    def projections(self, batch: Inputs, seed: int) -> dict[nn.Module, str]:
        """For each attention module the projection whose input is the outputs of its heads, side by side."""
        generator = torch.Generator().manual_seed(seed)
        planted: dict[nn.Module, Tensor] = {}
        readers: dict[nn.Module, list[str]] = {}

        def answer(call: InterfaceCall) -> Tensor:
            numbers = torch.randn(call.output.shape, generator=generator, dtype=torch.float64).to(call.output)
            planted[call.module], readers[call.module] = numbers, []
            return numbers

        def look(module: nn.Module, args: tuple[Any, ...]) -> None:
            for attention, numbers in planted.items():
                if args and isinstance(args[0], Tensor) and torch.equal(args[0], numbers.flatten(2)):
                    readers[attention].append(self.names[module])

        linear = [module for module in self.names if is_projection(module)]
        with step("projection"), intercepted(self.model, answer), hooked(linear, look):
            self.run(batch)
        for attention, names in readers.items():
            if len(names) != 1:
                which = "no projection" if not names else ", ".join(names)
                raise UnknownFamily(f"projection: {which} reads the outputs of {self.names[attention]} as they are")
        return {attention: names[0] for attention, names in readers.items()}

    def zero(self, anatomy: Anatomy, batch: Inputs) -> None:
        """Half of the heads of every layer at a time, at the source and at the projection."""
        blocks = {block.module: block for block in anatomy}
        plain = self.layers(anatomy, batch)
        for half in (0, 1):
            gone = {block.module: [head for head in block.heads if head % 2 == half] for block in anatomy}

            def answer(call: InterfaceCall, gone: dict[nn.Module, list[int]] = gone) -> Tensor:
                output = call.output.clone()
                output[:, :, gone[call.module]] = 0
                return output

            with step("zero"), intercepted(self.model, answer):
                source = self.layers(anatomy, batch)
            edits = {(block.stack, block.layer): _Zero(gone[block.module]) for block in anatomy if gone[block.module]}
            with step("zero"), session(self.model, edits, purpose="the proof"):
                ours = self.layers(anatomy, batch)
            for name in plain:
                if apart(ours[name], source[name]) > self.tolerance:
                    raise UnknownFamily(f"zero: something beside its output projection reads the heads of {name}")
                if apart(ours[name], plain[name]) <= 100 * self.tolerance:
                    raise UnknownFamily(f"zero: {name} gives the same without its heads")
            for module, heads in gone.items():
                _prove_columns(blocks[module], heads, self.tolerance)

    def replay(self, anatomy: Anatomy, batches: list[dict[str, Tensor]]) -> None:
        """Heads of every layer at zero, from that layer on and in a whole pass."""
        for batch, block in product(batches, anatomy):
            variants = [{(block.stack, block.layer): _Zero([head])} for head in block.heads[:2]]
            with step("replay"), Replay(self.model, anatomy, first_position=False) as replay:
                replay.record(batch)
                results = first_output(replay.run(variants)).chunk(len(variants))
            plain = self.run(batch)
            for variant, result in zip(variants, results, strict=True):
                with step("replay"), session(self.model, variant, purpose="the proof"):
                    whole = self.run(batch)
                error = apart(at_real_positions(result, batch), whole)
                if error > self.tolerance or error > apart(plain, whole) / 10:
                    raise UnknownFamily(f"replay: a pass that begins at {block.layer_name} gives something else")

    def cut(self, family: Family, anatomy: Anatomy, batches: list[dict[str, Tensor]]) -> tuple[Family, str | None]:
        """The record with the names that a cut needs, or why there are none."""
        if not self.copied:
            return family, "the model is too large for a copy to try a cut on"
        stacks = []
        for plan in family.stacks:
            block = anatomy.stacks[plan.stack][0]
            candidates = cut_candidates(plan, block.module, len(block.heads), block.head_size)
            proved = next((one for one in candidates if self.cut_equals(one, anatomy, batches)), None)
            if proved is None:
                return family, f"no cut of the {plan.stack} gives what the model gives with these heads at zero"
            stacks.append(proved)
        return replace(family, stacks=tuple(stacks), measured=()), None

    def cut_equals(self, plan: StackPlan, anatomy: Anatomy, batches: list[dict[str, Tensor]]) -> bool:
        """Whether cuts by this plan give what the heads at zero give: one head, every other one, a whole layer."""
        layers = anatomy.stacks[plan.stack]
        sets: tuple[dict[int, tuple[int, ...]], ...] = (
            {0: layers[0].heads[-1:]},
            {block.layer: block.heads[block.layer % 2 :: 2] for block in layers},
            {block.layer: block.heads if block is layers[-1] else block.heads[1:2] for block in layers},
        )
        for heads in sets:
            smaller = copy.deepcopy(self.model)
            remember(smaller, replace(anatomy.family, stacks=(plan,), measured=()))
            edits = {(plan.stack, layer): _Zero(list(numbers)) for layer, numbers in heads.items()}
            try:
                cut(smaller, [f"L{layer}H{head}" for layer, numbers in heads.items() for head in numbers])
                for batch in batches:
                    with session(self.model, edits, purpose="the proof"):
                        whole = self.run(batch)
                    if apart(real_output(smaller(**{**self.always, **batch}), batch), whole) > self.tolerance:
                        return False
            except Exception:  # noqa: BLE001 - whatever a wrong guess makes of the family's own code
                return False
        return True


def _seen(call: InterfaceCall, name: str, output: str) -> SeenAttention:
    """What the call says of its layer. Keys that are not the queries' own positions are those of another stack."""
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


def _prove_columns(block: Attention, heads: list[int], tolerance: float) -> None:
    """The projection with zero columns gives what it gives for an input with zeros there."""
    zeroed = replace(block, output=copy.deepcopy(block.output))
    matrix = block.output_matrix
    states = torch.randn(2, 3, len(matrix), generator=torch.Generator().manual_seed(0)).to(matrix)
    without = states.clone()
    for head in heads:
        columns = slice(head * block.head_size, (head + 1) * block.head_size)
        without[..., columns] = 0
        zeroed.output_matrix[columns] = 0
    if apart(block.output(without), zeroed.output(states)) > tolerance:
        raise UnknownFamily(f"zero: zero columns of {block.output_name} give something else")
