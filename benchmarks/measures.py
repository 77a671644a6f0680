"""What measuring costs: all measures against one eager pass, entropy alone against one sdpa pass, and a GPU run.

    python benchmarks/measures.py                    # CPU: 12x12x384, 64 texts of 128 tokens, float32
    python benchmarks/measures.py --device cuda      # GPU: BERT-base, 1,000 texts of 128 tokens, all measures

The texts are random words of the bundled vocabulary with random annotations, so that every measure has work to do.
Annotated sentences are single texts, and two measures (`sentences`, `repeated`) ask about pairs: the GPU run times
these two apart, on pairs of the same length. What is printed names the measures behind each number. CPU numbers are the
best of `--repeats`, GPU numbers are of one run after a warm-up.
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
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

import headcount as hc
from headcount.data.batches import collate
from headcount.measures.catalogue import MEASURES
from headcount.measures.layers import run_measures
from headcount.measures.measure import measure
from headcount.measures.measurement import Measurement, prepare_measurement


def random_sentences(tokenizer: Any, count: int, words: int, seed: int = 0) -> pd.DataFrame:
    """Annotated sentences of words that are one token each, with tags and relations at random."""
    rng = np.random.default_rng(seed)
    vocabulary = [word for word in tokenizer.get_vocab() if word.isalpha() and len(word) > 2]
    tags = ["NOUN", "VERB", "PRON", "ADJ", "ADP"]
    rows = []
    for number in range(count):
        tokens = [str(word) for word in rng.choice(vocabulary, words)]
        upos = [str(tag) for tag in rng.choice(tags, words)]
        heads = [0] + [int(rng.integers(1, place + 1)) for place in range(1, words)]
        relations = ["root"] + [
            str(one) for one in rng.choice(["nsubj", "obj", "amod", "case"], words - 1, p=[0.08, 0.06, 0.43, 0.43])
        ]
        rows.append({"sent_id": str(number), "tokens": tokens, "upos": upos, "heads": heads, "deprels": relations})
    return pd.DataFrame(rows)


def random_pairs(tokenizer: Any, count: int, words: int, seed: int = 1) -> pd.DataFrame:
    """Pairs of texts that share some of their words, `words` in both together."""
    rng = np.random.default_rng(seed)
    vocabulary = [word for word in tokenizer.get_vocab() if word.isalpha() and len(word) > 2]
    rows = []
    for _ in range(count):
        first = rng.choice(vocabulary, words // 2)
        second = [*rng.choice(first, words // 4), *rng.choice(vocabulary, words - words // 2 - words // 4)]
        rows.append({"sentence1": " ".join(first), "sentence2": " ".join(second)})
    return pd.DataFrame(rows)


def best(work: Callable[[], Any], repeats: int) -> float:
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def on_cpu(task: Measurement, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds of the passes over all texts, in batches of `--batch`."""
    numbers = np.arange(len(task.inputs.ids))
    parts = [numbers[start : start + options.batch] for start in range(0, len(numbers), options.batch)]
    model = task.model

    def plain(kernel: str) -> None:
        model.set_attn_implementation(kernel)
        with torch.no_grad():
            for part in parts:
                rows = [task.inputs.rows[number] for number in part]
                model(**collate(rows, 0), output_attentions=kernel == "eager")

    def measured(names: list[str]) -> None:
        model.set_attn_implementation("sdpa")
        for part in parts:
            batch, source, target = task.batch(part)
            wanted = [MEASURES[name] for name in names]
            run_measures(model, task.anatomy, batch, source, target, task.setting.classes, wanted)

    every = [one.name for one in MEASURES.values() if one.kind == "layers" and not one.lacking(task.setting)]
    eager, sdpa = best(lambda: plain("eager"), options.repeats), best(lambda: plain("sdpa"), options.repeats)
    whole, entropy = (
        best(lambda: measured(every), options.repeats),
        best(lambda: measured(["entropy"]), options.repeats),
    )
    found: dict[str, Any] = {"eager_s": eager, "sdpa_s": sdpa, "all_s": whole, "all_names": every, "entropy_s": entropy}
    return found | {"all_to_eager": whole / eager, "entropy_to_sdpa": entropy / sdpa}


def on_gpu(model: Any, tokenizer: Any, texts: pd.DataFrame, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds of the whole call with everything that single texts allow in it, of pairs, and of the kinds of passes."""
    pairs = random_pairs(tokenizer, len(texts), 125)
    on_pairs = ["sentences", "repeated"]
    layers = [one.name for one in MEASURES.values() if one.kind == "layers" and one.name not in on_pairs]
    calls: dict[str, tuple[pd.DataFrame, list[str]]] = {
        "all": (texts, [name for name in MEASURES if name not in on_pairs]),
        "pairs": (pairs, on_pairs),
        "layers": (texts, layers),
        "gradients": (texts, ["gradients"]),
        "distances": (texts, ["distances"]),
    }
    found: dict[str, Any] = {"measures": len(MEASURES)}
    for table, names in calls.values():
        measure(model, tokenizer, table.head(128), only=names, distance_examples=2)  # warm up
    for name, (table, names) in calls.items():
        torch.cuda.synchronize()
        start = time.perf_counter()
        measure(model, tokenizer, table, only=names)
        found |= {f"{name}_s": time.perf_counter() - start, f"{name}_names": names}
    start = time.perf_counter()
    prepare_measurement(model, tokenizer, texts)
    found["reading_s"] = time.perf_counter() - start
    return found


def peak_memory(model: Any, tokenizer: Any, batch: int = 8) -> dict[str, float]:
    """Peak memory of one pass over texts of 512 tokens, plain and measured: the GPU's allocator counts every byte."""
    task = prepare_measurement(model, tokenizer, random_sentences(tokenizer, batch, 510))
    tensors, source, target = task.batch(np.arange(batch))
    wanted = [one for one in MEASURES.values() if one.kind == "layers" and not one.lacking(task.setting)]

    def plain() -> None:
        with torch.no_grad():
            model(**tensors)

    def measured() -> None:
        run_measures(model, task.anatomy, tensors, source, target, task.setting.classes, wanted)

    peaks = {}
    for name, work in {"plain_mb": plain, "measured_mb": measured}.items():
        work()
        torch.cuda.reset_peak_memory_stats()
        work()
        peaks[name] = torch.cuda.max_memory_allocated() / 2**20
    maps = batch * 12 * 512 * 512 * 4 / 2**20
    return peaks | {"above_mb": peaks["measured_mb"] - peaks["plain_mb"], "one_layers_maps_mb": maps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--texts", type=int, default=0)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(hc.bundled("pretrained"))
    gpu = options.device == "cuda"
    hidden = 768 if gpu else 384
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=hidden, intermediate_size=4 * hidden)
    model = BertForMaskedLM(config).eval().to(options.device)
    texts = random_sentences(tokenizer, options.texts or (1000 if gpu else 64), 126)
    found: dict[str, Any] = {
        "machine": torch.cuda.get_device_name() if gpu else "cpu",
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "texts": len(texts),
        "tokens": 128,
    }
    if gpu:
        tokenizer.model_max_length = 512
        found |= peak_memory(model.base_model, tokenizer)
        found |= on_gpu(model.to(torch.bfloat16), tokenizer, texts, options)
    else:
        found |= on_cpu(prepare_measurement(model, tokenizer, texts), options)
    print(json.dumps(found, indent=1))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
