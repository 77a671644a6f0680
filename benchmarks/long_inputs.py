"""What measuring costs on a long text: all questions about layers against one plain pass, in time and memory.

    python benchmarks/long_inputs.py                                     # a tiny model on the CPU, to try it out
    python benchmarks/long_inputs.py --device cuda --shape 1B --tokens 2048 4096 8192 32768 --each --out long.json

A Llama-shaped model with random weights, in bfloat16 (float32 on a CPU), and one text of random ids, which repeat as
words do. The plain pass is that of the model without its output embedding, with the same kernel (sdpa). Everything runs
once to warm up; times are the best of `--repeats`. `--distances`: also the distances between heads, on their sample.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from headcount.data.marks import Facts, mark
from headcount.data.rarity import RAREST
from headcount.data.spans import COMPLETION, NEEDLE
from headcount.measures.catalogue import MEASURES
from headcount.measures.contract import Question, Setting
from headcount.measures.distances import head_distances, sampled_queries
from headcount.measures.layers import run_measures
from headcount.models.task_heads import language_of
from headcount.trace import blocks, fused_kernels
from headcount.trace.anatomy import read_anatomy
from headcount.trace.observe import observe
from headcount.trace.unembedding_proof import prove_unembedding


@dataclass
class Shape:
    layers: int
    heads: int
    groups: int
    hidden: int
    inner: int
    words: int


SHAPES = {
    "tiny": Shape(2, 4, 2, 64, 128, 500),
    "small": Shape(4, 12, 12, 384, 1024, 5000),
    "135M": Shape(30, 9, 3, 576, 1536, 49152),
    "1B": Shape(16, 32, 8, 2048, 8192, 128256),
    "8B": Shape(32, 32, 8, 4096, 14336, 128256),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shape", default="tiny", choices=SHAPES)
    parser.add_argument("--tokens", type=int, nargs="*", default=[256, 1024])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--each", action="store_true", help="also time each question alone")
    parser.add_argument("--whole", action="store_true", help="also time whole maps, as for short texts")
    parser.add_argument("--block", type=float, help="bytes of a block, such as 5e8, instead of the default")
    parser.add_argument("--tiles", type=int, nargs=4, help="queries, keys, warps and stages of the kernels' tiles")
    parser.add_argument("--distances", action="store_true", help="also time the distances between heads")
    parser.add_argument("--profile", action="store_true", help="print the kernels that take most of the time")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.block:
        blocks.CPU_BLOCK = blocks.GPU_BLOCK = blocks.CPU_CACHED = int(arguments.block)
    if arguments.tiles:
        kernels = fused_kernels
        kernels.QUERIES, kernels.KEYS, kernels.WARPS, kernels.STAGES = arguments.tiles
    model = make_model(SHAPES[arguments.shape], max(arguments.tokens), arguments.device)
    results = []
    for tokens in arguments.tokens:
        results.append({"shape": arguments.shape} | compare(model, tokens, arguments))
        print(json.dumps(results[-1]), flush=True)
        if arguments.out is not None:
            arguments.out.write_text(json.dumps(results, indent=1))


def make_model(shape: Shape, tokens: int, device: str) -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=shape.words,
        hidden_size=shape.hidden,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.groups,
        max_position_embeddings=max(tokens, 64),
    )
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    with torch.device(device):
        return LlamaForCausalLM(config).to(dtype).eval()


def make_facts(ids: np.ndarray) -> Facts:
    """A text without special tokens; its last tokens complete it, as a needle in the middle says."""
    count = len(ids)
    answer, needle = list(range(count - 8, count)), list(range(count // 2, count // 2 + 16))
    ids[needle[4:12]] = ids[answer]
    punctuation = np.flatnonzero(ids < 2).tolist()
    other = np.flatnonzero(ids >= 2).tolist()
    classes = {"first": [0], "punctuation": punctuation, "other": other, "special": [], RAREST: [count // 3]}
    classes |= {NEEDLE: needle, COMPLETION: answer}
    return Facts(count, [0] * count, ids.tolist(), classes, {}, ids.tolist())


def compare(model: Any, tokens: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Seconds and memory of one text of so many tokens."""
    cuda, device = arguments.device == "cuda", arguments.device
    rng = np.random.default_rng(0)
    # As often as words: the share of rank n is about 1 / (n + 10), 2 % for the most frequent one.
    shares = 1 / (np.arange(model.config.vocab_size) + 10)
    ids = rng.choice(model.config.vocab_size, tokens, p=shares / shares.sum())
    facts = make_facts(ids)
    source, batch = mark([facts], device), {"input_ids": torch.from_numpy(ids)[None].to(device)}
    anatomy, classes = read_anatomy(model), tuple(facts.classes)
    layout = anatomy.layout
    setting = Setting(classes, False, False, language_of(model), {"decoder": layout.layers("decoder")}, layout.count)
    questions = [one for one in MEASURES.values() if one.kind == "layers" and not one.lacking(setting)]
    unembedding = prove_unembedding(model, anatomy)

    def plain() -> None:
        with torch.no_grad():
            model.base_model(**batch, use_cache=False)

    def measured(wanted: list[Question]) -> None:
        run_measures(model, anatomy, {**batch, "use_cache": False}, source, None, classes, wanted, unembedding)

    def distances() -> None:
        rows = sampled_queries(tokens, tokens, layout.count, 0)
        queries = None if rows is None else torch.from_numpy(rows).to(device)
        with torch.no_grad():
            maps = observe(model.base_model, batch, outputs=False, queries=queries).maps["decoder"][:, :, 0]
        head_distances(maps, maps.shape[2])

    numbers: dict[str, Any] = {
        "tokens": tokens,
        "pairs": int(source.earlier().counts.sum()),
        "torch": torch.__version__,
        "machine": torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} threads",
        "questions": [one.name for one in questions],
    }
    numbers["plain_s"], numbers["plain_peak_gb"] = timed(plain, arguments.repeats, cuda)
    numbers["measured_s"], numbers["measured_peak_gb"] = timed(lambda: measured(questions), arguments.repeats, cuda)
    numbers["time_ratio"] = numbers["measured_s"] / numbers["plain_s"]
    if cuda:
        numbers["memory_ratio"] = numbers["measured_peak_gb"] / numbers["plain_peak_gb"]
    if arguments.whole:
        limits = blocks.CPU_BLOCK, blocks.GPU_BLOCK
        blocks.CPU_BLOCK = blocks.GPU_BLOCK = sys.maxsize
        numbers["whole_s"], numbers["whole_peak_gb"] = timed(lambda: measured(questions), arguments.repeats, cuda)
        blocks.CPU_BLOCK, blocks.GPU_BLOCK = limits
    if arguments.each:
        numbers["each_s"] = {}
        for one in questions:
            numbers["each_s"][one.name] = timed(lambda one=one: measured([one]), 1, cuda)[0]  # type: ignore[misc]
    if arguments.distances:
        numbers["distances_s"], numbers["distances_peak_gb"] = timed(distances, 1, cuda)
    if arguments.profile:
        print_profile(lambda: measured(questions), cuda)
    return numbers


def timed(work: Callable[[], None], repeats: int, cuda: bool) -> tuple[float, float]:
    """The best time in seconds and the peak memory in GB, of a GPU; the peak of the process so far, on a CPU."""
    work()
    times, peaks = [], []
    for _ in range(repeats):
        if cuda:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        work()
        if cuda:
            torch.cuda.synchronize()
            peaks.append(torch.cuda.max_memory_allocated() / 1e9)
        times.append(time.perf_counter() - start)
    return min(times), max(peaks) if cuda else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def print_profile(work: Callable[[], None], cuda: bool) -> None:
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
    with profile(activities=activities) as profiled:
        work()
    averages = profiled.key_averages()
    side = "self_device_time_total" if cuda else "self_cpu_time_total"
    # Of kernels alone: an operation's row repeats the time of those that it starts.
    rows = [one for one in averages if not cuda or one.device_type != DeviceType.CPU]
    rows.sort(key=lambda one: -getattr(one, side))
    total = sum(getattr(one, side) for one in rows)
    print(f"{total / 1e3:.1f} ms in {sum(one.count for one in rows)} {'kernels' if cuda else 'operations'}")
    for one in rows[:30]:
        time = getattr(one, side)
        print(f"{time / 1e3:9.2f} ms {time / total:6.1%} {one.count:7d} x  {one.key[:110]}")
    if cuda:
        host = sorted(averages, key=lambda one: -one.self_cpu_time_total)
        print("\nby time of the CPU that starts them")
        for one in host[:15]:
            print(f"{one.self_cpu_time_total / 1e3:9.2f} ms {one.count:7d} x  {one.key[:110]}")


if __name__ == "__main__":
    main()
