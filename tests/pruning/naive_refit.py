"""What output projections read and give, caught with plain hooks, and least squares over the tokens themselves."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

import headcount as hc
from headcount.models.anatomy import read_anatomy
from headcount.models.output_weights import all_keys, parts_of
from tests.contracts.zoo import Case, inputs

Key = tuple[str, int]
FAMILIES = ("bert", "gpt2", "llama", "t5", "opt", "modernbert")
"""Biases, weights the other way round, no biases, three stacks, units as one sequence, gate and value in one matrix."""


def batches(case: Case, count: int = 8) -> list[dict[str, Tensor]]:
    """Texts of unlike length: more tokens than any block has columns."""
    return [inputs(case, "right", seed=seed) for seed in range(count)]


def cut_names(case: Case) -> list[str]:
    """Some heads and units of each kind of block; a layer without any; one stack stays whole where there are three."""
    names = ["L0H1", "L2H0", "L2H3", "L0U1-17", "L1U", "L2U3"]
    return [*(f"encoder.{name}" for name in names), "cross.L0H0-1", "decoder.L2U0-20"] if case.kind == "pair" else names


def cut(model: Any, case: Case) -> Any:
    return hc.prune(copy.deepcopy(model), cut_names(case))


def read_by_outputs(model: Any, batches: list[dict[str, Tensor]]) -> dict[Key, Tensor]:
    """By block, what its output projection reads at real tokens: [token, column]."""
    anatomy = read_anatomy(model)
    found: dict[Key, list[Tensor]] = {key: [] for key in all_keys(anatomy)}
    for batch in batches:

        def catch(key: Key, batch: dict[str, Tensor] = batch) -> Any:
            mask = batch["attention_mask"].bool().flatten()
            if anatomy.block(key).stack != "encoder" and "encoder" in anatomy.stacks:
                mask = torch.ones(batch["decoder_input_ids"].numel(), dtype=torch.bool)

            def hook(module: Any, args: Any) -> None:
                found[key].append(args[0].reshape(-1, args[0].shape[-1])[mask])

            return hook

        handles = [anatomy.block(key).output.register_forward_pre_hook(catch(key)) for key in found]
        with torch.no_grad():
            model(**batch)
        for handle in handles:
            handle.remove()
    return {key: torch.cat(parts) for key, parts in found.items()}


def columns(model: Any, whole: Any, key: Key) -> list[int]:
    """The columns of the whole block that the cut one still has."""
    ours, theirs = read_anatomy(model).block(key), read_anatomy(whole).block(key)
    places = [parts_of(theirs).index(part) for part in parts_of(ours)]
    return [place * theirs.size + column for place in places for column in range(theirs.size)]


def given(block: Any, read: Tensor) -> Tensor:
    with torch.no_grad():
        found: Tensor = block.output(read)
    return found


def token_weights(block: Any, read: Tensor) -> Tensor:
    """Of each token: 1, or less where a feed-forward block adds more than the (lower) median of all tokens."""
    if not block.layer_key[0].endswith(".units"):
        return torch.ones(len(read), dtype=read.dtype)
    sizes = given(block, read).pow(2).sum(-1)
    return (sizes.sort().values[(len(sizes) - 1) // 2] / sizes).clamp(max=1)


def errors(model: Any, whole: Any, read: dict[Key, Tensor]) -> dict[Key, float]:
    """By block, the weighted mean square error of its output if it reads what the whole model gives it."""
    cut_anatomy, anatomy = read_anatomy(model), read_anatomy(whole)
    found = {}
    for key, states in read.items():
        ours = given(cut_anatomy.block(key), states[:, columns(model, whole, key)])
        weights = token_weights(anatomy.block(key), states)
        apart = (ours - given(anatomy.block(key), states)).pow(2).sum(-1)
        found[key] = float((weights * apart).sum() / weights.sum())
    return found
