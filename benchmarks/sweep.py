"""How fast a sweep over all heads is: replay against a careful loop and against the original programs' way.

    python benchmarks/sweep.py                         # CPU: 12x12x384, float32, 64 texts
    python benchmarks/sweep.py --device cuda           # GPU: BERT-base, bfloat16, 2,048 texts of mean length 42
    python benchmarks/sweep.py --device cuda --compile

The careful loop: the same dtype and kernel, texts sorted by length, one forward pass for each head inside `ablated`, at
the batch size (a power of two) whose half and whose double are both slower; only one text, and all texts, are ends of
that search. The original way: float32, every text padded to 128, batch 1 (CPU) or 32 (GPU). Both loops are timed over
the same heads (`--heads`), spread over the layers, and all texts, and scaled to 144 heads; all in one run.
With `--model FOLDER --task NAME --data FILE` it also counts how many predictions of a trained model differ between
dtypes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

import headcount as hc
from headcount.ablation.choices import choose_head_sets
from headcount.ablation.plan import plan_sweep, plan_units, widest_group
from headcount.ablation.runner import Runner, join_batches
from headcount.data.batches import by_length, collate
from headcount.data.encode import Encodings
from headcount.data.kinds.catalogue import KINDS
from headcount.engines.workers import spread
from headcount.models.anatomy import read_anatomy

PADDED = 128


@dataclass
class Setting:
    device: str
    dtype: torch.dtype
    hidden: int
    texts: int
    batch_tokens: int
    loop_batch: int
    """Where the search for the best batch size of the careful loop begins."""
    padded_batch: int


SETTINGS = {
    "cpu": Setting("cpu", torch.float32, 384, 64, 128, 8, 1),
    "cuda": Setting("cuda", torch.bfloat16, 768, 2048, 8192, 512, 32),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=SETTINGS, default="cpu")
    parser.add_argument("--texts", type=int)
    parser.add_argument("--heads", type=int, default=12, help="heads that the loops are timed over")
    parser.add_argument("--tokens", type=int, nargs="*", help="batch sizes of the replay, in tokens; the best counts")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--model")
    parser.add_argument("--task")
    parser.add_argument("--data")
    parser.add_argument("--out", type=Path, help="a JSON file for the numbers")
    options = parser.parse_args()
    setting = SETTINGS[options.device]
    setting.texts = options.texts or setting.texts
    numbers = measure(setting, options.heads, options.tokens or [setting.batch_tokens], options.compile)
    if options.model:
        numbers["agreement"] = agreement(options.model, options.task, options.data, options.device)
    print(json.dumps(numbers, indent=1))
    if options.out:
        options.out.write_text(json.dumps(numbers, indent=1))


def measure(setting: Setting, heads: int, tokens: list[int], compiled: bool) -> dict[str, Any]:
    torch.manual_seed(0)
    config = BertConfig(hidden_size=setting.hidden, intermediate_size=4 * setting.hidden, num_labels=2)
    model = BertForSequenceClassification(config).to(setting.device, setting.dtype).eval()
    rows = make_rows(setting.texts)
    numbers: dict[str, Any] = {
        "machine": torch.cuda.get_device_name() if setting.device == "cuda" else f"{torch.get_num_threads()} threads",
        "torch": torch.__version__,
        "model": f"12x12x{setting.hidden}",
        "dtype": str(setting.dtype),
        "texts": len(rows),
        "mean_length": float(np.mean([len(row["input_ids"]) for row in rows])),
    }
    times = {}
    for size in tokens:
        sweep_all(
            model, rows if setting.device == "cuda" else rows[: max(8, len(rows) // 8)], size, compiled
        )  # warm up
        start = clock(setting)
        logits = sweep_all(model, rows, size, compiled)
        times[size] = clock(setting) - start
        print(f"replay, {size} tokens a batch: {times[size]:.2f} s", flush=True)
    best = min(times, key=times.__getitem__)
    numbers |= {"replay_s": times[best], "replay_tokens": best, "compiled": compiled}
    names = [f"L{n * 144 // heads // 12}H{n * 144 // heads % 12}" for n in range(heads)]
    kept: dict[int, np.ndarray] = {}

    def loop(batch: int) -> float:
        seconds, kept[batch] = careful_loop(model, rows, batch, names, setting)
        print(f"careful loop, batch {batch}: {seconds:.2f} s for 144 heads", flush=True)
        return seconds

    loops = search_batch(loop, setting.loop_batch, len(rows))
    chosen = min(loops, key=loops.__getitem__)
    found = kept[chosen]
    places = [(int(name[1:].split("H")[0]), int(name.split("H")[1])) for name in names]
    gap = max(float(np.abs(logits[layer * 12 + head] - found[n]).max()) for n, (layer, head) in enumerate(places))
    numbers |= {
        "loop_s": loops[chosen],
        "loop_batch": chosen,
        "loop_batches_s": {str(batch): loops[batch] for batch in sorted(loops)},
        "loop_heads": names,
        "faster_than_loop": loops[chosen] / times[best],
        "largest_gap": gap,
    }
    padded = padded_loop(model, rows, names, setting)
    numbers |= {"padded_s": padded, "padded_batch": setting.padded_batch, "faster_than_padded": padded / times[best]}
    return numbers


def make_rows(count: int) -> list[dict[str, Any]]:
    """Texts of random ids with lengths like those of sentence pairs: mean about 42, from 12 to 128."""
    generator = np.random.default_rng(0)
    lengths = np.clip(generator.gamma(6, 7, count).round().astype(int), 12, PADDED)
    ids = [generator.integers(1000, 30000, length).tolist() for length in lengths]
    return [{"input_ids": one, "attention_mask": [1] * len(one), "labels": 0} for one in ids]


def sweep_all(model: Any, rows: list[dict[str, Any]], tokens: int, compiled: bool) -> np.ndarray:
    """Logits [144, text, class] of all heads left out, by replay."""
    lengths = np.array([len(row["input_ids"]) for row in rows])
    order = by_length(lengths)
    anatomy = read_anatomy(model)
    choices = choose_head_sets(anatomy.layout)
    plan = plan_sweep(choices, lengths[order], tokens, widest_group(choices), plan_units(lengths[order], tokens))
    runner = Runner(
        model,
        SimpleNamespace(pad_token_id=0),
        anatomy,
        choices,
        plan,
        KINDS["classification"],
        Encodings(rows, lengths, 0, PADDED),
        order,
        "uniform",
        compiled=compiled,
    )
    batches = [batch for unit in range(len(plan.units)) for batch in runner.split(unit)]
    with closing(spread(runner.run, batches, 1 if compiled or model.device.type == "cuda" else len(batches))) as parts:
        logits: np.ndarray = join_batches(list(parts))[1]["logits"]
    return logits[:, np.argsort(order)]


def careful_loop(
    model: Any, rows: list[dict[str, Any]], batch: int, names: list[str], setting: Setting
) -> tuple[float, np.ndarray]:
    """Seconds for 144 heads from some of them, and their logits."""
    order = by_length(np.array([len(row["input_ids"]) for row in rows]))
    batches = [
        collate([rows[row] for row in order[start : start + batch]], 0, setting.device)
        for start in range(0, len(rows), batch)
    ]
    for one in batches:
        one.pop("labels")
    found = []
    with torch.inference_mode():
        model(**batches[0])
        start = clock(setting)
        for name in names:
            with hc.ablated(model, name, how="uniform"):
                found.append(
                    torch.cat([model(**one).logits for one in batches]).float().cpu().numpy()[np.argsort(order)]
                )
        seconds = clock(setting) - start
    return seconds * 144 / len(names), np.stack(found)


def search_batch(seconds: Callable[[int], float], start: int, most: int) -> dict[int, float]:
    """Seconds by batch size, doubled and halved from `start` until the best has a slower neighbour on either side.

    Batches of one text and of all texts have no neighbour beyond.

    >>> sorted(search_batch(lambda batch: abs(batch - 16), 2, 1000))
    [1, 2, 4, 8, 16, 32]
    """
    start = min(start, most)
    times = {start: seconds(start)}
    while True:
        best = min(times, key=times.__getitem__)
        beside = [one for one in (max(1, best // 2), min(most, best * 2)) if one not in times]
        if not beside:
            return times
        for one in beside:
            times[one] = seconds(one)


def padded_loop(model: Any, rows: list[dict[str, Any]], names: list[str], setting: Setting) -> float:
    """Seconds for 144 heads in the original programs' way, from the same heads as the careful loop and all texts."""
    plain = model.float()
    batches = [pad(rows[at : at + setting.padded_batch], setting) for at in range(0, len(rows), setting.padded_batch)]
    with torch.inference_mode():
        plain(**batches[0])
        start = clock(setting)
        for name in names:
            with hc.ablated(plain, name, how="uniform"):
                for one in batches:
                    plain(**one)
        seconds = clock(setting) - start
    model.to(setting.dtype)
    return seconds * 144 / len(names)


def pad(rows: list[dict[str, Any]], setting: Setting) -> dict[str, torch.Tensor]:
    ids = torch.tensor([row["input_ids"] + [0] * (PADDED - len(row["input_ids"])) for row in rows])
    return {"input_ids": ids.to(setting.device), "attention_mask": (ids > 0).long().to(setting.device)}


def agreement(model: str, task: str, data: str, device: str) -> dict[str, float]:
    """The share of a sweep's predictions that are those of float32, for each smaller dtype."""
    found = {}
    for name in ("float32", "bfloat16", "float16"):
        loaded, tokenizer = hc.load(model, dtype=getattr(torch, name))
        result = hc.sweep(loaded.to(device), tokenizer, data, task=task, how="uniform")
        found[name] = np.append(
            result["logits"].values.reshape(-1, 2), result["baseline_logits"].values, axis=0
        ).argmax(-1)
    return {name: float((found[name] == found["float32"]).mean()) for name in found} | {
        "predictions": len(found["float32"])
    }


def clock(setting: Setting) -> float:
    if setting.device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    main()
