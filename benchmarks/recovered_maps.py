"""Attention maps of a model that runs sdpa: `headcount.observe` beside the package attnread, on a CPU.

    python -m venv attnread-env
    attnread-env/bin/pip install attnread==0.1.2 -e .
    attnread-env/bin/python benchmarks/recovered_maps.py --tokens 256 1024 2048

attnread recovers maps by passes with other values, one for each head size of keys, and one more; `observe` computes
them beside the kernel, in one pass, for all layers. `observe` has no choice of layers or heads: asked for one map, it
computes all, and the block form (`queries=`, 256 at a time, one pass each) keeps the wanted ones alone. A Llama-shaped
model with random weights, float32, one text of random ids. Every contender runs in a process of its own, which gives
its peak memory beyond that of a plain pass; times are seconds of the processor, summed over threads, which other work
on the machine changes little, the best of `--repeats` after a warm-up.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

LAYERS, HEADS, GROUPS, HIDDEN, WORDS = 6, 9, 3, 576, 5000
LAYER, HEAD, BLOCK = 3, 4, 256
WANTED = {"one map": [(LAYER, HEAD)], "all heads of a layer": [(LAYER, head) for head in range(HEADS)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="*", default=[256, 1024])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    print(json.dumps({"torch": torch.__version__, "machine": platform.machine(), "threads": arguments.threads}))
    for tokens in arguments.tokens:
        for what in WANTED:
            print(json.dumps(compare(what, tokens, arguments.repeats, arguments.threads)), flush=True)


def compare(what: str, tokens: int, repeats: int, threads: int) -> dict[str, Any]:
    """Seconds, memory and the largest difference from attnread's maps of each contender, in processes of their own."""
    numbers: dict[str, Any] = {"what": what, "tokens": tokens}
    with tempfile.TemporaryDirectory() as folder:
        for name in CONTENDERS:
            path = Path(folder) / f"{name}.pt"
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                numbers |= pool.apply(run, (name, what, tokens, repeats, threads, path))
        maps = {name: torch.load(Path(folder) / f"{name}.pt") for name in CONTENDERS}
    for name in CONTENDERS[1:]:
        numbers[f"{name}_difference"] = float((maps[name] - maps["attnread"]).abs().max())
        numbers[f"{name}_times_faster"] = numbers["attnread_s"] / numbers[f"{name}_s"]
    return numbers


CONTENDERS = ("attnread", "observe", "observe_blocks")


def run(name: str, what: str, tokens: int, repeats: int, threads: int, path: Path) -> dict[str, Any]:
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=HIDDEN,
        intermediate_size=1536,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=GROUPS,
        max_position_embeddings=tokens,
        initializer_range=0.1,  # maps of the usual 0.02 are nearly uniform
        attn_implementation="sdpa",
    )
    model = LlamaForCausalLM(config).eval().requires_grad_(False)
    inputs = {"input_ids": torch.randint(WORDS, (1, tokens))}
    work = {"attnread": by_attnread, "observe": by_observe, "observe_blocks": by_blocks}[name](model, inputs, what)
    with torch.no_grad():
        model(**inputs, use_cache=False, logits_to_keep=1)
    before = peak()
    maps = work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        maps = work()
        times.append(time.process_time() - start)
    torch.save(maps, path)
    return {f"{name}_s": min(times), f"{name}_more_mb": (peak() - before) / 1e3}


def peak() -> int:
    """The most memory of this process so far, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def by_attnread(model: Any, inputs: dict[str, Any], what: str) -> Callable[[], torch.Tensor]:
    from attnread import extract_attention

    def work() -> torch.Tensor:
        return torch.stack([found[0] for found in extract_attention(model, inputs, heads=WANTED[what]).values()])

    return work


def by_observe(model: Any, inputs: dict[str, Any], what: str) -> Callable[[], torch.Tensor]:
    seen = observer(model, inputs)
    return lambda: chosen(seen(None), what)


def by_blocks(model: Any, inputs: dict[str, Any], what: str) -> Callable[[], torch.Tensor]:
    tokens, seen = inputs["input_ids"].shape[1], observer(model, inputs)

    def work() -> torch.Tensor:
        starts = range(0, tokens, BLOCK)
        parts = [chosen(seen((start, min(start + BLOCK, tokens))), what) for start in starts]
        return torch.cat(parts, dim=1)

    return work


def observer(model: Any, inputs: dict[str, Any]) -> Callable[[tuple[int, int] | None], torch.Tensor]:
    """From a range of queries, or None for all, to the maps [layer, head, query, key]."""
    from headcount.trace.observe import observe  # before memory is counted

    passed = {**inputs, "use_cache": False, "logits_to_keep": 1}
    return lambda queries: observe(model, passed, outputs=False, queries=queries).maps["decoder"][:, :, 0]


def chosen(maps: torch.Tensor, what: str) -> torch.Tensor:
    return torch.stack([maps[layer, head] for layer, head in WANTED[what]])


if __name__ == "__main__":
    main()
