"""Do races decide as full sweeps do, and in how many passes? All heads of fine-tuned models, zero.

    python benchmarks/racing.py qnli=bundled:qnli=bundled:pairs --margins 0.02 --limit 100     # to try it out
    python benchmarks/racing.py mrpc=runs/mrpc/model=GLUE/MRPC ... --device cuda --out racing.json

Each argument is TASK=MODEL=DATA. A full sweep over the validation examples gives every head's change on these examples;
a race (`stop_when=`) decides whether it lies beyond the margin or within it. A wrong decision is one that the full
sweep's change refutes. Every task is raced for its mean loss, and for accuracy where it has one, at each margin.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import headcount as hc
from headcount.core.races import WITHIN, decide
from headcount.data.tasks import find_task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="TASK=MODEL=DATA")
    parser.add_argument("--margins", type=float, nargs="+", default=[0.002, 0.005, 0.01, 0.02])
    parser.add_argument("--metrics", nargs="+", default=["accuracy", "loss"])
    parser.add_argument("--limit", type=int, help="validation examples at most")
    parser.add_argument("--seeds", type=int, default=1, help="races of each kind, with other orders of the examples")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for each in given.models:
        task, folder, data = each.split("=")
        model, tokenizer = hc.load(folder, head=find_task(task).kind.name)
        model.to(given.device)
        known = [metric.name for metric in find_task(task).kind.metrics]
        for metric in (name for name in given.metrics if name in known):
            rows += race_all(model, tokenizer, task, data, metric, given)
            if given.out:
                given.out.write_text(json.dumps(rows, indent=1))
    for row in rows:
        print(json.dumps(row))


def race_all(
    model: Any, tokenizer: Any, task: str, data: str, metric: str, given: argparse.Namespace
) -> list[dict[str, Any]]:
    options: dict[str, Any] = {"task": task, "metric": metric, "limit": given.limit, "max_length": 128}
    start = time.perf_counter()
    full = hc.sweep(model, tokenizer, data, **options)
    seconds = time.perf_counter() - start
    changes = full["delta"].values
    rows = []
    for margin in given.margins:
        for seed in range(given.seeds):
            start = time.perf_counter()
            raced = hc.sweep(model, tokenizer, data, stop_when=margin, seed=seed, **options)
            decided = raced["decision"].values
            truth = decide(changes, changes, margin)  # an interval of one point; on the margin counts as within
            known = np.isfinite(decided)
            rows.append(
                {
                    "task": task,
                    "metric": metric,
                    "margin": margin,
                    "seed": seed,
                    "examples": int(full.sizes["example"]),
                    "heads": int(known.sum()),
                    "beyond": int((truth != WITHIN)[known].sum()),
                    "wrong": int((decided != truth)[known].sum()),
                    "passes": round(1 - float(raced["passes_saved"]), 4),
                    "sweep_s": round(seconds, 2),
                    "race_s": round(time.perf_counter() - start, 2),
                    "machine": torch.cuda.get_device_name() if given.device == "cuda" else "CPU",
                }
            )
            print(rows[-1], flush=True)
    return rows


if __name__ == "__main__":
    main()
