"""Does the pre-trained model learn whether a sentence answers a question? QNLI pairs in, scores and a checkpoint out.

It may see questions made from plain text first (`--first`). Every seed is trained and scored; the checkpoint kept is
the one of the median seed, neither a lucky nor an unlucky one.
"""

import argparse
import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor, nn
from transformers import AutoTokenizer, BertForSequenceClassification, PreTrainedTokenizerFast

from recipes.bundled_bert.pretrain import parameter_groups

LABELS = {0: "entailment", 1: "not_entailment"}
WARM_UP = 0.06  # of the steps

Encoded = list[tuple[list[int], list[int], int]]  # ids, token types, label


def read_pairs(paths: list[Path], tokenizer: PreTrainedTokenizerFast, length: int) -> Encoded:
    """The pairs of `.parquet` or `.jsonl` files with the columns sentence1, sentence2 and label."""
    table = pd.concat(
        [pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_json(path, lines=True) for path in paths]
    )
    coded = tokenizer(list(table.sentence1), list(table.sentence2), truncation=True, max_length=length)
    return list(zip(coded["input_ids"], coded["token_type_ids"], (int(label) for label in table.label), strict=True))


def collate(pairs: Encoded, device: str, width: int = 0) -> dict[str, Tensor]:
    """One batch, padded to `width` or to its longest pair."""
    width = max(width, *(len(ids) for ids, _, _ in pairs))
    rows = {
        "input_ids": [ids + [0] * (width - len(ids)) for ids, _, _ in pairs],
        "token_type_ids": [types + [0] * (width - len(types)) for _, types, _ in pairs],
        "attention_mask": [[1] * len(ids) + [0] * (width - len(ids)) for ids, _, _ in pairs],
        "labels": [label for _, _, label in pairs],
    }
    return {name: torch.tensor(row).to(device, non_blocking=True) for name, row in rows.items()}


def accuracy(model: BertForSequenceClassification, pairs: Encoded, device: str) -> float:
    """The share of pairs whose label the model gives."""
    model.eval()
    ordered = sorted(pairs, key=lambda pair: len(pair[0]))
    right = 0
    for start in range(0, len(ordered), 256):
        batch = collate(ordered[start : start + 256], device)
        labels = batch.pop("labels")
        with torch.no_grad(), torch.compiler.set_stance("force_eager"):
            right += int((model(**batch).logits.argmax(1) == labels).sum())
    return right / len(pairs)


def train(
    model: BertForSequenceClassification,
    pairs: Encoded,
    options: argparse.Namespace,
    rate: float,
    epochs: int,
    size: int,
) -> Iterator[int]:
    """Train, with a learning rate that rises and falls once; yields the number of each epoch as it ends."""
    optimizer = torch.optim.AdamW(parameter_groups(model, options.decay), lr=rate, fused=options.device != "cpu")
    starts = range(0, len(pairs) - size + 1, size)  # the rest is in another epoch's batches
    steps = len(starts) * epochs
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(step / (WARM_UP * steps + 1), (1 - step / steps) / (1 - WARM_UP))
    )
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(len(pairs)).tolist()
        for start in starts:
            drawn = [pairs[n] for n in order[start : start + size]]
            batch = collate(drawn, options.device, options.length if options.compile else 0)
            model(**batch).loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
        yield epoch


def finetune(options: argparse.Namespace, seed: int, rate: float) -> dict[str, float]:
    """Train one seed at one rate, save it under the seed's folder, and return its score after every epoch."""
    torch.manual_seed(seed)
    torch.set_float32_matmul_precision("high")
    tokenizer = AutoTokenizer.from_pretrained(options.checkpoint)
    pairs = read_pairs(options.train, tokenizer, options.length)
    held_out = read_pairs([options.validation], tokenizer, options.length)
    model = BertForSequenceClassification.from_pretrained(
        options.checkpoint,
        dtype=torch.float32,
        id2label=LABELS,
        label2id={name: label for label, name in LABELS.items()},
        hidden_dropout_prob=options.dropout,
        attention_probs_dropout_prob=options.dropout,
    ).to(options.device)
    if options.compile:  # one shape for all batches, so that a single layer is compiled, once
        for layer in model.bert.encoder.layer:
            layer.compile(dynamic=False)

    def told(stage: str, epoch: int) -> None:
        score = accuracy(model, held_out, options.device)
        print(f"seed {seed}, rate {rate:g}, {stage}, epoch {epoch + 1}: {score:.4f}", flush=True)

    if options.first:
        made = read_pairs(options.first, tokenizer, options.length)
        for epoch in train(model, made, options, rate, options.first_epochs, options.first_batch):
            told("made questions", epoch)
    for epoch in train(model, pairs, options, rate, options.epochs, options.batch):
        told("QNLI", epoch)
    model.half().float()  # score what is saved
    score = accuracy(model, held_out, options.device)
    folder = run_folder(options, seed, rate)
    model.half().save_pretrained(folder)
    AutoTokenizer.from_pretrained(options.checkpoint).save_pretrained(folder)  # the used one cuts at --length
    return {"seed": seed, "rate": rate, "accuracy": score}


def run_folder(options: argparse.Namespace, seed: int, rate: float) -> Path:
    return Path(options.out) / f"seed-{seed}-rate-{rate:g}"


def median_run(runs: list[dict[str, float]]) -> dict[str, float]:
    """The run in the middle by accuracy (the lower one of two), at the rate whose middle run is best.

    >>> median_run([{"seed": n, "rate": 1e-4, "accuracy": score} for n, score in enumerate([0.7, 0.9, 0.8])])
    {'seed': 2, 'rate': 0.0001, 'accuracy': 0.8}
    """
    medians = []
    for rate in {run["rate"] for run in runs}:
        ordered = sorted((run for run in runs if run["rate"] == rate), key=lambda run: run["accuracy"])
        medians.append(ordered[(len(ordered) - 1) // 2])
    return max(medians, key=lambda run: run["accuracy"])


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    jobs = list(product(options.seeds, options.rates))
    if options.jobs == 1:
        runs = [finetune(options, seed, rate) for seed, rate in jobs]
    else:
        with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            runs = list(pool.map(finetune, [options] * len(jobs), *zip(*jobs, strict=True)))
    chosen = median_run(runs)
    options.out.mkdir(parents=True, exist_ok=True)
    run_folder(options, int(chosen["seed"]), chosen["rate"]).rename(options.out / "checkpoint")
    (options.out / "scores.json").write_text(json.dumps({"runs": runs, "chosen": chosen}, indent=1))
    print(f"chosen: seed {chosen['seed']}, rate {chosen['rate']}, accuracy {chosen['accuracy']:.4f}", flush=True)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("checkpoint", type=Path, help="the folder checkpoint/ that pretrain.py wrote")
    add("--first", type=Path, nargs="*", default=[], help="pairs to train on first, such as questions.py makes")
    add("--first-epochs", type=int, default=1)
    add("--first-batch", type=int, default=256)
    add("--train", type=Path, nargs="+", required=True, help="QNLI pairs, .parquet or .jsonl")
    add("--validation", type=Path, required=True)
    add("--out", type=Path, required=True, help="for checkpoint/, of the median seed, and scores.json")
    add("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    add("--rates", type=float, nargs="+", default=[3e-4], help="learning rates to try")
    add("--epochs", type=int, default=5)
    add("--batch", type=int, default=32)
    add("--length", type=int, default=128, help="longer pairs are cut")
    add("--dropout", type=float, default=0.1)
    add("--decay", type=float, default=0.01)
    add("--jobs", type=int, default=1, help="runs side by side")
    add("--device", default="cuda")
    add("--compile", action="store_true", help="compile the layers, and pad all pairs to --length")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
