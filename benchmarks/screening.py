"""How much faster a screened sweep is than one over all heads: `screen`, then `sweep` over its heads, beside the whole.

    python benchmarks/screening.py                                          # a tiny model on the CPU, to try it out
    python benchmarks/screening.py --device cuda --shape 8B --top 64 --control 32 --out screening.json

The Llama shapes of `language_sweep.py` with random weights, texts of random words. Whole calls are timed, with
tokenizing and statistics: `hc.sweep` over all heads, and `hc.screen` (one backward pass) with `hc.sweep(by=...)` after
it. Says also how many of the heads with the largest effects the screening has selected: little can be expected of
random weights, the number only shows what the control is for.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

import headcount as hc
from language_sweep import SHAPES, make_model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shape", default="tiny", choices=SHAPES)
    parser.add_argument("--top", type=int, default=2)
    parser.add_argument("--control", type=int, default=2)
    parser.add_argument("--texts", type=int, help="the shape's number by default")
    parser.add_argument("--no-whole", action="store_true", help="only the screened sweep")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    shape, cuda = SHAPES[given.shape], given.device == "cuda"
    model = make_model(shape, given.device)
    tokenizer, data = make_data(shape.words, given.texts or shape.texts, shape.length)
    options: dict[str, Any] = {"task": "causal-lm", "max_length": shape.length}
    hc.sweep(model, tokenizer, data.head(1), by=["L0H0"], **options)  # what is only done once
    hc.screen(model, tokenizer, data.head(1), top=given.top, control=given.control, **options)

    def screened() -> Any:
        heads = hc.screen(model, tokenizer, data, top=given.top, control=given.control, **options)
        between.append(time.perf_counter())
        layers.append(sum(shape.layers - head.layer for head in (*heads.top, *heads.control)))
        return hc.sweep(model, tokenizer, data, by=heads, **options)

    between: list[float] = []
    layers: list[int] = []
    start = time.perf_counter()
    some, numbers = timed(screened, cuda)
    numbers = {"shape": given.shape, "heads": shape.layers * shape.heads, "texts": len(data)} | {
        "torch": torch.__version__,
        "machine": torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} threads",
        "top": given.top,
        "control": given.control,
        "screen_s": between[0] - start,
        # A head in a low layer takes more: all layers above it run again.
        "share_of_layers_run": layers[0] / (shape.heads * shape.layers * (shape.layers + 1) / 2),
        **{f"screened_{name}": value for name, value in numbers.items()},
    }
    print(json.dumps(numbers), flush=True)
    if not given.no_whole:
        whole, times = timed(lambda: hc.sweep(model, tokenizer, data, **options), cuda)
        numbers |= {f"whole_{name}": value for name, value in times.items()}
        numbers["times_faster"] = numbers["whole_s"] / numbers["screened_s"]
        effects, kept = (np.abs(one["delta"].values).ravel() for one in (whole, some))
        largest = np.argsort(effects)[-given.top :]
        numbers["selected_of_largest"] = int(np.isfinite(kept[largest]).sum())
        both = np.isfinite(kept)
        numbers["largest_difference"] = float(np.abs(effects - kept)[both].max())
    print(json.dumps(numbers), flush=True)
    if given.out:
        given.out.write_text(json.dumps(numbers, indent=1))


def make_data(words: int, texts: int, length: int) -> tuple[Any, pd.DataFrame]:
    """A tokenizer whose tokens are words, and texts of random words."""
    vocabulary = {f"w{number}": number for number in range(words - 1)} | {"[PAD]": words - 1}
    backend = Tokenizer(WordLevel(vocabulary, unk_token="[PAD]"))
    backend.pre_tokenizer = WhitespaceSplit()  # type: ignore[assignment]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="[PAD]", unk_token="[PAD]")
    ids = np.random.default_rng(0).integers(0, words - 1, (texts, length))
    return tokenizer, pd.DataFrame({"text": [" ".join(f"w{word}" for word in row) for row in ids]})


def timed(run: Callable[[], Any], cuda: bool) -> tuple[Any, dict[str, float]]:
    if cuda:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    result = run()
    numbers = {"s": time.perf_counter() - start}
    if cuda:
        numbers["peak_gb"] = torch.cuda.max_memory_allocated() / 1e9
    return result, numbers


if __name__ == "__main__":
    main()
