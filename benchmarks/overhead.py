"""What a context costs: a BERT-base forward pass inside `ablated`, as a ratio to the plain pass in the same run.

    python benchmarks/overhead.py [--rounds 30] [--batch 4] [--length 128]

Passes alternate, so that a machine that slows down slows both; the ratio is of medians.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from transformers import BertConfig, BertModel

import headcount as hc


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=128)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = BertModel(BertConfig()).eval()
    ids = torch.randint(1000, 30000, (options.batch, options.length))
    lengths = torch.linspace(options.length * 0.6, options.length, options.batch).long()
    mask = (torch.arange(options.length) < lengths[:, None]).long()
    contexts: dict[str, Callable[[], AbstractContextManager[object]]] = {
        "plain": nullcontext,
        "plain again": nullcontext,
        "zero, one head": lambda: hc.ablated(model, "L6H3", how="zero"),
        "uniform, one head": lambda: hc.ablated(model, "L6H3", how="uniform"),
        "uniform, a layer": lambda: hc.ablated(model, "L6", how="uniform"),
        "gates, all heads": lambda: hc.gated(model, torch.ones(12, 12)),
    }
    print(
        f"BERT-base shape, {options.batch} x {options.length}, sdpa, float32, {torch.get_num_threads()} threads, "
        f"torch {torch.__version__}, {platform.machine()}"
    )
    for padding, inputs in (("no padding", {"input_ids": ids}), ("padded", {"input_ids": ids, "attention_mask": mask})):
        times: dict[str, list[float]] = {name: [] for name in contexts}
        with torch.no_grad():
            for number in range(options.rounds + 3):
                for name, context in contexts.items():
                    with context():
                        start = time.perf_counter()
                        model(**inputs)
                        if number >= 3:
                            times[name].append(time.perf_counter() - start)
        plain = statistics.median(times["plain"])
        for name, found in times.items():
            median = statistics.median(found)
            print(f"  {padding:<10}  {name:<18} {median * 1000:8.1f} ms   {median / plain:.3f} x plain")


if __name__ == "__main__":
    main()
