"""Prove that heads can be cut out of a model whose type has no record: the cut model equals the ablated one."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

from headcount.models.anatomy import Anatomy
from headcount.models.families.inspect import cut_candidates
from headcount.models.families.lookup import remember_proved
from headcount.models.families.plan import Family, StackPlan
from headcount.models.surgery import cut
from headcount.trace.kernel_proof import apart
from headcount.trace.session import session
from headcount.trace.small_passes import Inputs, SmallPasses, real_output
from headcount.trace.variants import Zero


def prove_cut(
    passes: SmallPasses, family: Family, anatomy: Anatomy, batches: Sequence[Inputs]
) -> tuple[Family, str | None]:
    """The record with the names that a cut needs; the record as it is, and the reason, where no cut was proved."""
    if not passes.copied:
        return family, "the model is too large for a copy to try a cut on"
    stacks = []
    for plan in family.stacks:
        block = anatomy.stacks[plan.stack][0]
        candidates = cut_candidates(plan, block.module, len(block.heads), block.head_size)
        proved = next((candidate for candidate in candidates if _is_exact(candidate, passes, anatomy, batches)), None)
        if proved is None:
            return family, f"no cut of the {plan.stack} gives what the model gives with these heads at zero"
        stacks.append(proved)
    return replace(family, stacks=tuple(stacks), measured=()), None


def _is_exact(plan: StackPlan, passes: SmallPasses, anatomy: Anatomy, batches: Sequence[Inputs]) -> bool:
    """Whether cuts by this plan give what the heads at zero give: one head, every other one, a whole layer."""
    layers = anatomy.stacks[plan.stack]
    cuts: tuple[dict[int, tuple[int, ...]], ...] = (
        {0: layers[0].heads[-1:]},
        {block.layer: block.heads[block.layer % 2 :: 2] for block in layers},
        {block.layer: block.heads if block is layers[-1] else block.heads[1:2] for block in layers},
    )
    for heads in cuts:
        smaller = copy.deepcopy(passes.model)
        remember_proved(smaller, replace(anatomy.family, stacks=(plan,), measured=()))
        edits = {(plan.stack, layer): Zero(list(numbers)) for layer, numbers in heads.items()}
        try:
            cut(smaller, [f"L{layer}H{head}" for layer, numbers in heads.items() for head in numbers])
            for batch in batches:
                with session(passes.model, edits, purpose="the proof"):
                    whole = passes.run(batch)
                if apart(real_output(smaller(**{**passes.always, **batch}), batch), whole) > passes.tolerance:
                    return False
        except Exception:  # noqa: BLE001 - a wrong candidate may break the family's own code in any way
            return False
    return True
