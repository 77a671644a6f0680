"""How fast patching all heads is: `sweep(how="patch")` beside TransformerLens and a plain loop over transformers.

    python benchmarks/patching.py --layers 2 --hidden 48 --heads 4 --words 500      # to try it out
    python benchmarks/patching.py                                                   # 2 CPU cores
    python benchmarks/patching.py --device cuda --prompts 64
    python benchmarks/patching.py --how zero --loop-heads 4     # a sweep of the same prompts, beside the loop alone

A GPT-2-shaped decoder with random weights in float32, prompts of random words with counterparts of the same length; the
difference of the logits of two words after the prompt, with each head's output from the clean run at all positions.
All of them run in turns, in one process. Where transformer-lens is not installed (it needs an environment of its own:
`pip install transformer-lens==4.3.0`, with Headcount's sources on PYTHONPATH), it is left out. The whole call of
`hc.sweep` is timed, with tokenizing, baselines and statistics.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import Any

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

import headcount as hc


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--words", type=int, default=30_000)
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--length", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--loop-heads", type=int, default=None, help="of each layer, in both loops; scaled to all")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--how", choices=("patch", "zero"), default="patch")
    given = parser.parse_args()
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=given.words, n_embd=given.hidden, n_layer=given.layers, n_head=given.heads, n_positions=64
    )
    model = GPT2LMHeadModel(config).eval().to(given.device)
    tokenizer, data = make_data(given.words, given.prompts, given.length)
    ids = {name: encode(tokenizer, data[name], given.device) for name in ("prompt", "counterpart")}
    answers = torch.tensor(
        [[tokenizer.convert_tokens_to_ids(row[name].strip()) for name in ("completion", "wrong")] for row in rows(data)]
    ).to(given.device)

    ways: dict[str, Any] = {"sweep": lambda: sweep(model, tokenizer, data, given.how)}
    chosen = range(given.heads if given.loop_heads is None else given.loop_heads)
    sides = (ids["prompt"], ids["counterpart"]) if given.how == "patch" else (None, ids["prompt"])
    ways["plain loop"] = lambda: plain_loop(model, *sides, answers, chosen)
    if given.how == "zero":
        print("TransformerLens has no function for this, and is left out")
    elif lens := make_lens(model, tokenizer):
        ways["TransformerLens"] = lambda: lens_patch(lens, ids["prompt"], ids["counterpart"], answers)
    else:
        print("transformer-lens is not installed and left out")
    times: dict[str, list[float]] = {name: [] for name in ways}
    results: dict[str, np.ndarray] = {}
    sweep(model, tokenizer, data.head(2), given.how, by=["L0H0"])  # warm up: the first pass of a process is slow
    for _ in range(given.repeats):
        for name, run in ways.items():
            if given.device == "cuda":
                torch.cuda.synchronize()
            start = time.perf_counter()
            results[name] = run()
            if given.device == "cuda":
                torch.cuda.synchronize()
            scale = given.heads / len(chosen) if name == "plain loop" else 1
            times[name].append((time.perf_counter() - start) * scale)
    best = {name: min(values) for name, values in times.items()}
    for name, seconds in best.items():
        apart = np.nanmax(np.abs(results[name] - results["sweep"]))
        ratio = seconds / best["sweep"]
        print(f"{name:16} {seconds:7.2f} s  {ratio:.2f} times the sweep  largest difference {apart:.1e}")


def make_data(words: int, prompts: int, length: int) -> tuple[Any, pd.DataFrame]:
    """A tokenizer whose tokens are words, and pairs of prompts that differ in a third of their words."""
    vocabulary = {f"w{number}": number for number in range(words - 1)} | {"[PAD]": words - 1}
    backend = Tokenizer(WordLevel(vocabulary, unk_token="[PAD]"))
    backend.pre_tokenizer = WhitespaceSplit()  # type: ignore[assignment]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="[PAD]", unk_token="[PAD]")
    generator = np.random.default_rng(0)
    table = []
    for _ in range(prompts):
        clean = generator.integers(0, words - 1, length - 1)
        corrupted = np.where(generator.random(length - 1) < 1 / 3, generator.integers(0, words - 1, length - 1), clean)
        answer, wrong = generator.choice(words - 1, 2, replace=False)
        texts = [" ".join(f"w{word}" for word in ids) for ids in (clean, corrupted)]
        table.append({"prompt": texts[0], "counterpart": texts[1], "completion": f" w{answer}", "wrong": f" w{wrong}"})
    return tokenizer, pd.DataFrame(table)


def rows(data: pd.DataFrame) -> list[dict[str, Any]]:
    return [dict(row) for row in data.to_dict("records")]


def encode(tokenizer: Any, texts: pd.Series, device: str) -> torch.Tensor:
    return tokenizer(list(texts), return_tensors="pt")["input_ids"].to(device)  # type: ignore[no-any-return]


def difference(logits: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """[prompt]: of the logits after the last token."""
    last = logits[:, -1]
    return last.gather(1, answers[:, :1])[:, 0] - last.gather(1, answers[:, 1:])[:, 0]


def sweep(model: Any, tokenizer: Any, data: pd.DataFrame, how: str, **options: Any) -> np.ndarray:
    result = hc.sweep(model, tokenizer, data, task="completion", how=how, metric="logit_difference", **options)
    return np.asarray(result["score"].values).squeeze()


@torch.inference_mode()
def plain_loop(model: Any, giving: Any, inputs: Any, answers: Any, chosen: range) -> np.ndarray:
    """A pass of the whole model for each head, with a hook on its output projection; zeros where nothing gives."""
    config, kept = model.config, {}
    size = config.n_embd // config.n_head
    outputs = [block.attn.c_proj for block in model.transformer.h]

    def keep(number: int) -> Any:
        def hook(_: Any, args: Any) -> None:
            kept[number] = args[0]

        return hook

    handles = [module.register_forward_pre_hook(keep(number)) for number, module in enumerate(outputs)]
    if giving is not None:
        model(input_ids=giving, use_cache=False)
    for handle in handles:
        handle.remove()
    scores = np.full((config.n_layer, config.n_head), np.nan)
    for layer, module in enumerate(outputs):
        for head in chosen:

            def patch(_: Any, args: Any, layer: int = layer, head: int = head) -> tuple[Any, ...]:
                edited = args[0].clone()
                columns = slice(head * size, (head + 1) * size)
                edited[..., columns] = kept[layer][..., columns] if kept else 0
                return (edited, *args[1:])

            handle = module.register_forward_pre_hook(patch)
            logits = model(input_ids=inputs, use_cache=False).logits
            handle.remove()
            scores[layer, head] = float(difference(logits, answers).mean())
    return scores


def make_lens(model: Any, tokenizer: Any) -> Any:
    """The model in TransformerLens, or None where it is not installed."""
    try:
        from transformer_lens.model_bridge import TransformerBridge
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return TransformerBridge.boot_transformers(folder, device=model.device)


@torch.inference_mode()
def lens_patch(lens: Any, clean: Any, corrupted: Any, answers: Any) -> np.ndarray:
    from transformer_lens import patching

    _, cache = lens.run_with_cache(clean)

    def metric(logits: Any) -> Any:
        return difference(logits, answers).mean()

    scores = patching.get_act_patch_attn_head_out_all_pos(lens, corrupted, cache, metric)
    return np.asarray(scores.float().cpu().numpy())


if __name__ == "__main__":
    main()
