"""What does the importance of all heads cost, as a multiple of a forward pass over the same batches?"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from transformers import PreTrainedModel

import headcount as hc
from headcount.ablation.job import prepare_job
from headcount.choosing.importance import CPU_TOKENS, GPU_TOKENS, batch_of, importance, padding_of
from headcount.data.batches import by_length, plan_batches
from headcount.zoo.bundled import bundled_pairs


def seconds(work: Callable[[], object], repeats: int, device: str) -> list[float]:
    found = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return found[1:]


def forward(model: PreTrainedModel, tokenizer: object, table: pd.DataFrame, tokens: int) -> None:
    """Plain passes over the batches that importance makes."""
    job = prepare_job(model, tokenizer, table, "qnli", "zero", None, None, 0, None, False)
    order = by_length(job.encodings.lengths)
    with torch.inference_mode():
        for start, stop in plan_batches(job.encodings.lengths[order], tokens):
            model(**batch_of(job, order[start:stop], padding_of(tokenizer))[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--copies", type=int, default=1, help="times over the bundled pairs")
    options = parser.parse_args()
    model, tokenizer = hc.load(hc.bundled("qnli"))
    model.float().to(options.device)
    table = pd.concat([pd.read_json(bundled_pairs(), lines=True)] * options.copies, ignore_index=True)
    tokens = GPU_TOKENS if options.device == "cuda" else CPU_TOKENS
    plain = seconds(lambda: forward(model, tokenizer, table, tokens), options.repeats, options.device)
    whole = seconds(lambda: importance(model, tokenizer, table, task="qnli"), options.repeats, options.device)
    ratio = np.median(whole) / np.median(plain)
    times = f"forward {np.median(plain):.2f} s, importance {np.median(whole):.2f} s"
    print(f"{len(table)} pairs: {times}: {ratio:.2f} times (bar 3.5)")


if __name__ == "__main__":
    main()
