"""What probing costs: `hc.probe` on a treebank against plain eager passes over the same batches.

    python benchmarks/probe.py --data UD_English-EWT/test.parquet      # bundled:pretrained, 12x12x384, float32

The whole call is timed, from reading the file to the intervals: without the control against the plain passes, with the
control, which runs a second model, against twice the plain passes. Each is the best of `--repeats`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import headcount as hc
from headcount.data.batches import by_length, collate, plan_batches
from headcount.measures.measurement import CPU_TOKENS
from headcount.models.longest import longest_input
from headcount.probing.dependencies.dependencies import DependencyTrees
from headcount.probing.words.sentences import encode_sentences


def best(work: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="bundled:pretrained")
    parser.add_argument("--data", required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    model, tokenizer = hc.load(options.model, dtype="float32")
    eager, _ = hc.load(options.model, dtype="float32")
    eager.set_attn_implementation("eager")
    longest = longest_input(model, tokenizer, None)
    texts = DependencyTrees().read(options.data, tokenizer, longest)
    inputs = encode_sentences(texts, model, tokenizer, options.limit, 0, longest).inputs
    order = by_length(inputs.lengths)
    batches = [
        collate([inputs.rows[number] for number in order[start:stop]], tokenizer.pad_token_id)
        for start, stop in plan_batches(inputs.lengths[order], CPU_TOKENS)
    ]

    def plain() -> None:
        with torch.no_grad():
            for batch in batches:
                eager(**batch)

    def probe(control: bool) -> None:
        hc.probe(model, tokenizer, options.data, limit=options.limit, control=control)

    plain()
    seconds = {
        "plain": best(plain, options.repeats),
        "probe": best(lambda: probe(False), options.repeats),
        "probe_with_control": best(lambda: probe(True), options.repeats),
    }
    ratios = {
        "probe_to_plain": seconds["probe"] / seconds["plain"],
        "with_control_to_two_plain": seconds["probe_with_control"] / 2 / seconds["plain"],
    }
    print(json.dumps({"sentences": len(inputs.ids), "tokens": int(np.sum(inputs.lengths)), **seconds, **ratios}))


if __name__ == "__main__":
    main()
