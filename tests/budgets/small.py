"""Small models whose score depends on what goes: labels are the whole model's own answers, dead parts do nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

import headcount as hc
from headcount.core.units import Selection
from headcount.costs.cost import flops, make_inputs
from tests import planted
from tests.contracts.zoo import tiny
from tests.pruning import jobs
from tests.pruning import planted_groups as groups

LENGTH = 8
QUICK: dict[str, Any] = {"steps": 2, "randoms": 1, "batch": 1, "length": LENGTH}
DEAD = ["L0H1", "L2H3", "L0U7-10", "L1U3-5", "L1U20"]
"""What `with_dead_parts` needs for nothing, in the order in which a selection spells it."""
TASKS = {"bert": "sst2", "gpt2": "causal-lm", "llama": "causal-lm", "t5": "translation"}


@torch.no_grad()
def classifier() -> Any:
    """3 layers of 4 heads and 40 units, with random weights; half of the texts are positive to it."""
    model = jobs.random_model().float()
    model.classifier.bias.zero_()
    return model


@torch.no_grad()
def with_dead_parts() -> Any:
    """The same with heads and units whose output columns are zero, and units that are never active (L0U7-10)."""
    model = classifier()
    layers = model.bert.encoder.layer
    for layer, head in ((0, 1), (2, 3)):
        layers[layer].attention.output.dense.weight[:, 8 * head : 8 * head + 8] = 0
    layers[1].output.dense.weight[:, [3, 4, 5, 20]] = 0
    layers[0].intermediate.dense.weight[7:11] = 0
    layers[0].intermediate.dense.bias[7:11] = -100
    return model


@torch.no_grad()
def own_answers(model: Any, tokenizer: Any, count: int = 60, seed: int = 0) -> pd.DataFrame:
    """Texts with the answers of the model, whose bias is set so that half of them are positive: its accuracy is 1."""
    table = planted.texts(count, seed)
    batch = tokenizer(list(table["sentence"]), padding=True, return_tensors="pt")
    logits = model(**batch).logits
    apart = logits[:, 1] - logits[:, 0]
    middle = apart.sort().values[count // 2 - 1 : count // 2 + 1].mean()
    model.classifier.bias[0] += middle
    return table.assign(label=(apart > middle).long().numpy())


def family(name: str) -> tuple[Any, pd.DataFrame]:
    """A tiny model of a family and examples for it."""
    texts = planted.texts(48)["sentence"]
    if name == "bert":
        return classifier(), planted.texts(48)
    if name == "llama":
        return groups.llama(), groups.texts(48)
    if name == "gpt2":
        return tiny("gpt2", head="AutoModelForCausalLM"), pd.DataFrame({"text": texts})
    model = tiny(name, head="AutoModelForSeq2SeqLM")
    return model, pd.DataFrame({"source": texts, "target": texts.values[::-1]})


def operations_left(smaller: Any, model: Any, length: int = LENGTH) -> float:
    counts = [flops(each, make_inputs(each, 1, length)) for each in (smaller, model)]
    return counts[0] / counts[1]


def weights_left(smaller: Any, model: Any) -> float:
    return float(smaller.num_parameters() / model.num_parameters())


def gone(smaller: Any, model: Any) -> str:
    """The heads and units that the smaller model lacks, as a selection spells them."""
    old, new = hc.read_anatomy(model), hc.read_anatomy(smaller)
    heads = [old.layout.spell(head) for head in old.layout if head not in set(new.layout)]
    units = [
        f"{stack}.L{layer}U{unit}"
        for stack, layers in old.units.stacks.items()
        for layer, numbers in enumerate(layers)
        for unit in numbers
        if unit not in new.units.stacks[stack][layer]
    ]
    return str(Selection.of([*heads, *units], old.layout, old.units))


def scores_of(model: Any, seed: int = 0) -> dict[Any, np.ndarray]:
    """Random scores for all parts."""
    generator = np.random.default_rng(seed)
    return {block.layer_key: generator.random(block.count) for block in hc.read_anatomy(model).blocks()}
