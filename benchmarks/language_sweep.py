"""How fast a sweep over all heads of a language model is, against a careful loop: loss, `zero`, all query heads.

    python benchmarks/language_sweep.py                                  # a tiny model on the CPU, to try it out
    python benchmarks/language_sweep.py --device cuda --shapes 135M 1B 8B --out sweep.json

Llama-shaped models with random weights in bfloat16 (float32 on a CPU), texts of random ids. The careful loop: the same
dtype and kernel, one pass for each head inside `ablated`, the loss as transformers computes it, at the batch size whose
half and double are both slower; timed over some heads, spread over the layers, and scaled. The share of the arithmetic
limit is that of the multiplications of the layers that each head's variant must run, and of the vocabulary, at the
speed of the device's own large matrix product.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

import headcount as hc
from headcount.ablation.budget import plan_budget
from headcount.ablation.choices import choose_head_sets
from headcount.ablation.plan import plan_sweep, plan_units, widest_group
from headcount.ablation.runner import Runner, join_batches
from headcount.data.encode import Encodings
from headcount.data.kinds.catalogue import KINDS
from headcount.models.anatomy import read_anatomy
from headcount.trace.late_logits import find_late_logits


@dataclass
class Shape:
    layers: int
    heads: int
    groups: int
    hidden: int
    inner: int
    words: int
    texts: int
    length: int


SHAPES = {
    "tiny": Shape(2, 4, 2, 32, 64, 500, 4, 16),
    "135M": Shape(30, 9, 3, 576, 1536, 49152, 64, 256),
    "1B": Shape(16, 32, 8, 2048, 8192, 128256, 16, 512),
    "8B": Shape(32, 32, 8, 4096, 14336, 128256, 8, 512),
}
KIND = KINDS["causal-lm"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shapes", nargs="*", default=["tiny"], choices=SHAPES)
    parser.add_argument("--texts", type=int, help="instead of the shape's number")
    parser.add_argument("--loop-heads", type=int, default=8)
    parser.add_argument("--loop-batches", type=int, nargs="*", help="batch sizes of the careful loop; 4 to 64 texts")
    parser.add_argument("--compile", action="store_true", help="also time the sweep with compiled layers")
    parser.add_argument("--only-compiled", action="store_true", help="time the sweep with compiled layers alone")
    parser.add_argument("--kept-logits", action="store_true", help="also time the sweep with all logits kept")
    parser.add_argument("--profile", action="store_true", help="print the kernels that take most of the time")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    results = []
    for name in arguments.shapes:
        shape = replace(SHAPES[name], texts=arguments.texts or SHAPES[name].texts)
        results.append(measure(name, shape, arguments))
        print(json.dumps(results[-1]), flush=True)
        if arguments.out is not None:
            arguments.out.write_text(json.dumps(results, indent=1))


def measure(name: str, shape: Shape, arguments: argparse.Namespace) -> dict[str, Any]:
    cuda = arguments.device == "cuda"
    model = make_model(shape, arguments.device)
    rows = make_rows(shape)
    numbers: dict[str, Any] = {"shape": name, "texts": f"{shape.texts} x {shape.length}", "torch": torch.__version__}
    numbers["machine"] = torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} threads"
    ways = {} if arguments.only_compiled else {"sweep": (True, False)}
    ways |= {"compiled": (True, True)} if arguments.compile or arguments.only_compiled else {}
    ways |= {"kept_logits": (False, False)} if arguments.kept_logits else {}
    losses = {}
    for way, (late, compiled) in ways.items():
        sweep = prepare(model, rows, late, compiled)
        first, _, _ = timed(sweep, cuda)  # kernels are loaded, layers compiled
        seconds, peak, losses[way] = timed(sweep, cuda)
        numbers |= {f"{way}_s": seconds, f"{way}_first_s": first, f"{way}_peak_gb": peak / 1e9}
        print(way, numbers, flush=True)
    if arguments.profile and cuda:
        print_profile(prepare(model, rows, True, arguments.compile))
    spread = np.linspace(0, shape.layers * shape.heads - 1, arguments.loop_heads).round().astype(int)
    heads = [f"L{number // shape.heads}H{number % shape.heads}" for number in spread]
    loops, found = {}, np.zeros(0)
    batches = arguments.loop_batches or [size for size in (4, 8, 16, 32, 64) if size <= shape.texts] or [shape.texts]
    for batch in batches:
        try:
            loops[batch], found = careful_loop(model, rows, heads, batch, cuda)
        except torch.cuda.OutOfMemoryError:
            break
    best = min(loops, key=loops.__getitem__)
    numbers |= {
        "loop_s": loops[best] * shape.layers * shape.heads / len(heads),
        "loop_batch": best,
        "largest_gap": float(np.abs(next(iter(losses.values()))[spread] - found).max()),
    }
    for way in ways:
        numbers[f"{way}_ratio"] = numbers["loop_s"] / numbers[f"{way}_s"]
    if cuda:
        speed = matrix_speed(arguments.device)
        numbers |= {
            "matrix_tflops": speed / 1e12,
            "limit_share": multiplications(shape) / speed / numbers[f"{next(iter(ways))}_s"],
        }
    return numbers


def make_model(shape: Shape, device: str) -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=shape.words,
        hidden_size=shape.hidden,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.groups,
        max_position_embeddings=shape.length,
    )
    with torch.device(device):
        model = LlamaForCausalLM(config)
    return model.to(torch.bfloat16 if device == "cuda" else torch.float32).eval()


def make_rows(shape: Shape) -> list[dict[str, Any]]:
    ids = np.random.default_rng(0).integers(10, shape.words, (shape.texts, shape.length)).tolist()
    return [{"input_ids": text, "attention_mask": [1] * len(text), "labels": text} for text in ids]


def prepare(model: Any, rows: list[dict[str, Any]], late: bool, compiled: bool) -> Any:
    """A function that sweeps all heads: the mean loss [head, text]."""
    lengths = np.array([len(row["input_ids"]) for row in rows])
    anatomy = read_anatomy(model)
    choices = choose_head_sets(anatomy.layout)
    small = {"input_ids": torch.tensor([rows[0]["input_ids"][:8]], device=model.device)}
    postponed = find_late_logits(model, small) if late else None
    assert not late or postponed is not None
    budget = plan_budget(model, anatomy, postponed is None, widest_group(choices, True), None, None, int(lengths.max()))
    units = plan_units(lengths, budget.tokens)
    plan = plan_sweep(choices, lengths, budget.tokens, budget.width, units, True)
    runner = Runner(
        model,
        SimpleNamespace(pad_token_id=0, eos_token_id=0),
        anatomy,
        choices,
        plan,
        KIND,
        Encodings(rows, lengths, 0, int(lengths.max())),
        np.arange(len(rows)),
        "zero",
        compiled=compiled,
        late=postponed,
    )
    print(f"budget: {budget}", flush=True)

    def run() -> np.ndarray:
        batches = [batch for unit in range(len(plan.units)) for batch in runner.split(unit)]
        arrays = join_batches([runner.run(batch) for batch in batches])[1]
        return np.asarray(arrays["loss"] / arrays["tokens"])

    return run


def timed(function: Any, cuda: bool) -> tuple[float, int, Any]:
    if cuda:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    result = function()
    if cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start, torch.cuda.max_memory_allocated() if cuda else 0, result


def careful_loop(
    model: Any, rows: list[dict[str, Any]], heads: list[str], batch: int, cuda: bool
) -> tuple[float, np.ndarray]:
    """Seconds for these heads, and their mean losses [head, text]."""
    ids = torch.tensor([row["input_ids"] for row in rows], device=model.device).split(batch)

    def losses(part: torch.Tensor) -> torch.Tensor:
        logits = model(input_ids=part, use_cache=False).logits[:, :-1].float()
        entropies = functional.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten(), reduction="none")
        return entropies.view(len(part), -1).mean(1)

    def run() -> np.ndarray:
        found = []
        for head in heads:
            with hc.ablated(model, head):
                found.append(torch.cat([losses(part) for part in ids]))
        return torch.stack(found).cpu().numpy()

    with torch.inference_mode():
        losses(ids[0])
        seconds, _, found = timed(run, cuda)
    return seconds, found


def multiplications(shape: Shape) -> float:
    """Floating-point operations that no way of sweeping can avoid: for every head, the layers above and the words."""
    size = shape.hidden // shape.heads
    attention = shape.hidden * (2 * shape.hidden + 2 * shape.groups * size)
    scores = shape.length * shape.hidden  # queries and keys, weights and values, half of them hidden by the mask
    layer = 2 * (attention + scores + 3 * shape.hidden * shape.inner)
    own = 2 * (shape.hidden * shape.hidden + 3 * shape.hidden * shape.inner)  # what follows the head in its layer
    vocabulary = 2 * shape.hidden * shape.words
    tokens = shape.texts * shape.length
    variants = [own + (shape.layers - 1 - at) * layer + vocabulary for at in range(shape.layers)]
    return float(tokens * shape.heads * sum(variants))


def matrix_speed(device: str) -> float:
    """Operations a second of a large bfloat16 matrix product."""
    a, b = (torch.randn(8192, 8192, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        a @ b
    torch.cuda.synchronize()
    return 20 * 2 * 8192**3 / (time.perf_counter() - start)


def print_profile(run: Any) -> None:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        run()
    print(profiler.key_averages().table(sort_by="cuda_time_total", row_limit=25, max_name_column_width=60), flush=True)


if __name__ == "__main__":
    main()
