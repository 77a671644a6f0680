"""How long a sweep over pairs of heads takes, and what sharing passes saves.

    python benchmarks/pairs.py                          # CPU: 12x12x384, float32, 64 texts, the pairs of 20 heads
    python benchmarks/pairs.py --device cuda --all      # all 10,296 pairs on a GPU, in bfloat16
    python benchmarks/pairs.py --layers 2 --heads 4 --texts 8 --all     # a rehearsal

The model is a BERT with random weights, and texts have about 42 tokens; only the time is of interest. Beside the sweep
(statistics included) the same pairs are swept without sharing, as sets: every pair then starts at its first head's
layer (`--no-sets` leaves that out). The load of the machine is printed, since the time means little on a busy one, and
the time that the process had a core: that of all cores together.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

import headcount as hc
from headcount.ablation.choices import choose_head_sets
from headcount.ablation.plan import plan_sweep

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(995))]
NAMES = {0: "negative", 1: "positive"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=384)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--among", type=int, default=20, help="heads, drawn at random, whose pairs are swept")
    parser.add_argument("--all", action="store_true", help="the pairs of all heads")
    parser.add_argument("--no-sets", action="store_true", help="only the sweep over pairs")
    parser.add_argument("--out", type=Path, help="a JSON file for the numbers")
    options = parser.parse_args()
    numbers = measure(options)
    print(json.dumps(numbers, indent=1))
    if options.out:
        options.out.write_text(json.dumps(numbers, indent=1))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    model, tokenizer, texts = make(options)
    layout = hc.read_anatomy(model).layout
    every = list(layout)
    drawn = np.random.default_rng(0).choice(len(every), min(options.among, len(every)), replace=False)
    heads = every if options.all else [every[number] for number in sorted(drawn)]
    choices = choose_head_sets(layout, hc.Pairs(heads))
    plain = choose_head_sets(layout, choices.sets)

    def timed(by: Any) -> tuple[float, float]:
        start, busy = time.perf_counter(), time.process_time()
        hc.sweep(model, tokenizer, texts, task="sst2", by=by)
        synchronise(options.device)
        return round(time.perf_counter() - start, 1), round(time.process_time() - busy, 1)

    hc.sweep(model, tokenizer, texts.head(2), task="sst2", by=hc.Pairs(heads[:2]))  # what is only done once
    numbers: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if options.device == "cuda" else f"{torch.get_num_threads()} threads",
        "load": os.getloadavg()[0],
        "heads": len(heads),
        "pairs": len(choices.sets) - len(heads),
        "texts": len(texts),
        "layers_run": layers_run(choices, options.layers),
        "layers_run_as_sets": layers_run(plain, options.layers),
    }
    numbers["seconds"], numbers["cpu_seconds"] = timed(hc.Pairs(heads))
    if not options.no_sets:
        numbers["seconds_as_sets"], numbers["cpu_seconds_as_sets"] = timed(choices.sets)
    return numbers


def layers_run(choices: Any, layers: int) -> int:
    return plan_sweep(choices, np.array([1]), 1, 1000, [(0, 1)]).layers_run(layers)


def make(options: argparse.Namespace) -> tuple[Any, Any, pd.DataFrame]:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=options.hidden,
        num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        intermediate_size=4 * options.hidden,
        id2label=NAMES,
        label2id={name: number for number, name in NAMES.items()},
    )
    dtype = torch.bfloat16 if options.device == "cuda" else torch.float32
    model = BertForSequenceClassification(config).eval().to(options.device, dtype)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "vocab.txt").write_text("\n".join(WORDS))
        tokenizer = BertTokenizer(vocab=f"{folder}/vocab.txt", model_max_length=128)
    generator = np.random.default_rng(0)
    rows = [
        {"sentence": " ".join(generator.choice(WORDS[5:], generator.integers(20, 61))), "label": number % 2}
        for number in range(options.texts)
    ]
    return model, tokenizer, pd.DataFrame(rows)


def synchronise(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
