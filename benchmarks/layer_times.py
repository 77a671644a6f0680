"""How near does the table of layer times come to the measured time of really cut models?"""

import argparse
import copy
import random

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

import headcount as hc
from headcount.costs.cost import make_inputs, time_in_turns
from headcount.costs.layer_times import layer_times
from headcount.costs.operations import part_costs
from headcount.models.anatomy import read_anatomy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a folder or a name on the hub")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    whole = AutoModelForSequenceClassification.from_pretrained(options.model).eval()
    table = layer_times(whole, batch=options.batch, length=options.length, repeats=options.repeats)
    costs = part_costs(whole, options.length)
    models = {"whole": whole}
    for share in (0.25, 0.5, 0.75):
        models[f"{share:.0%} of each layer"] = cut(whole, lambda count, share=share: share * count)
    draw = random.Random(0)
    models["random numbers"] = cut(whole, lambda count: draw.random() * count)
    inputs = {name: make_inputs(whole, options.batch, options.length) for name in models}
    times = time_in_turns(models, inputs, options.repeats)
    print(f"{options.batch} x {options.length}, {torch.get_num_threads()} threads, median of {options.repeats}")
    print(
        "| parts kept | operations | measured ms | predicted ms | predicted / measured | faster: measured, predicted |"
    )
    print("|---|---|---|---|---|---|")
    first = float(np.median(times["whole"]))
    for name, model in models.items():
        counts = left(model)
        measured, predicted = float(np.median(times[name])), table.predict(counts)
        share = costs.operations_left(counts) / costs.whole_operations
        print(
            f"| {name} | {share:.0%} | {1e3 * measured:.1f} | {1e3 * predicted:.1f} | {predicted / measured:.3f} "
            f"| {first / measured:.2f}, {table.faster(counts):.2f} |"
        )


def cut(model, share):  # type: ignore[no-untyped-def]
    """A copy that keeps so many heads, and so many units in steps of 32, of each layer."""
    anatomy = read_anatomy(model)
    names = []
    for block in anatomy.blocks():
        stack, layer = block.layer_key
        units = stack.endswith(".units")
        kept = round(share(block.count) / 32) * 32 if units else max(1, round(share(block.count)))
        if kept < block.count:
            mark = "U" if units else "H"
            names.append(f"{stack.removesuffix('.units')}.L{layer}{mark}{kept}-{block.count - 1}")
    return hc.prune(copy.deepcopy(model), names)


def left(model):  # type: ignore[no-untyped-def]
    """The heads and units of each block."""
    anatomy = read_anatomy(model)
    groups = (*anatomy.stacks.values(), *anatomy.feed_forwards.values())
    return {block.layer_key: block.count for group in groups for block in group}


if __name__ == "__main__":
    main()
