"""What does `hc.HeadCallback` add to the time of a training with transformers' Trainer, at its default interval?

    python benchmarks/head_callback.py --steps 200 --repeats 3                 # the bundled model, CPU
    python benchmarks/head_callback.py --device cuda --steps 2000 --large      # a BERT of base size, GPU
    python benchmarks/head_callback.py --what gates --steps 2000               # gates instead of importance

Trainings with and without the callback run in turns, with the same batches; both end with the same weights. The ratio
of each pair is printed, of the time and of the CPU time of this process (which other programs disturb less), their
medians, and the share of the time that the callback itself reports. The bar is 1.05.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import tempfile
import time
from typing import Any

import pandas as pd
import torch
from transformers import BertConfig, BertForSequenceClassification, PrinterCallback, Trainer, TrainingArguments

import headcount as hc

NAMES = ["entailment", "not_entailment"]


def make_model(large: bool) -> tuple[Any, Any]:
    """The bundled model, or random weights of base size; what is trained does not matter for the time."""
    bundled, tokenizer = hc.load("bundled:qnli")
    if not large:
        return bundled.float(), tokenizer
    torch.manual_seed(0)
    return BertForSequenceClassification(
        BertConfig(vocab_size=len(tokenizer), id2label=dict(enumerate(NAMES)))
    ), tokenizer


def train(
    model: Any, tokenizer: Any, table: pd.DataFrame, options: argparse.Namespace, watched: bool
) -> tuple[float, float, float, int, Any]:
    """Seconds of a training, its CPU seconds, the callback's share and number of measurements, the trained model."""
    model = copy.deepcopy(model).to(options.device)
    texts, held_out = table.iloc[100:], table.iloc[:100]
    rows = [
        tokenizer(row.question, row.sentence, truncation=True, max_length=options.length)
        | {"labels": NAMES.index(row.label)}
        for row in texts.itertuples()
    ]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=options.steps,
            learning_rate=1e-5,
            per_device_train_batch_size=options.batch,
            use_cpu=options.device == "cpu",
            bf16=options.device != "cpu",
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            logging_steps=100,
        )
        trainer = Trainer(model, arguments, train_dataset=rows, processing_class=tokenizer)
        trainer.remove_callback(PrinterCallback)
        callback = None
        if watched:
            callback = hc.HeadCallback(
                trainer, held_out, task="qnli", what=options.what, limit=options.texts, log="layers"
            )
            trainer.add_callback(callback)
        start, busy = time.perf_counter(), time.process_time()
        trainer.train()
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
    if callback is None:
        return seconds, busy, 0.0, 0, model
    shares = [entry["heads/time_share"] for entry in trainer.state.log_history if "heads/time_share" in entry]
    return seconds, busy, shares[-1], callback.result.sizes["checkpoint"], model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--texts", type=int, default=32, help="of a measurement")
    parser.add_argument("--what", default="importance", choices=["importance", "gates"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--large", action="store_true", help="12 x 12 x 768 instead of the bundled model")
    options = parser.parse_args()
    model, tokenizer = make_model(options.large)
    table = pd.read_json(hc.bundled_pairs(), lines=True).sample(frac=1, random_state=0)
    train(model, tokenizer, table, argparse.Namespace(**vars(options) | {"steps": 3}), watched=False)  # warm-up
    ratios: dict[str, list[float]] = {"time": [], "cpu_time": []}
    shares, counts, plain_seconds = [], [], []
    for _ in range(options.repeats):
        plain, plain_busy, _, _, first = train(model, tokenizer, table, options, watched=False)
        watched, watched_busy, share, count, second = train(model, tokenizer, table, options, watched=True)
        weights = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
        if options.device == "cpu" and not all(torch.equal(one, other) for one, other in weights):
            raise SystemExit("the callback changed the training")
        ratios["time"].append(watched / plain)
        ratios["cpu_time"].append(watched_busy / plain_busy)
        shares.append(share)
        counts.append(count)
        plain_seconds.append(plain)
        said = ", ".join(f"{key} x {values[-1]:.3f}" for key, values in ratios.items())
        print(f"{plain:.1f} s, with the callback {watched:.1f} s: {said}; {count} measurements", flush=True)
    found = {
        "what": options.what,
        "device": options.device,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "seconds": statistics.median(plain_seconds),
        "ratio": {key: statistics.median(values) for key, values in ratios.items()},
        "ratios": ratios,
        "reported_share": statistics.median(shares),
        "measurements": counts,
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
