"""What the Trainer costs: training steps a second of `headcount finetune` against a plain PyTorch loop.

    python benchmarks/finetune.py                 # the bundled model and a 12x12x384 BERT, CPU, float32

Both see the same batches (texts of like length together, padded to the longest), the same optimizer, schedule and
clipping; they are timed in turns, and the best of `--repeats` counts.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

import headcount as hc
from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.tables import read_table
from headcount.data.tasks import find_task
from headcount.training.trainer import Settings, make_trainer


def rows_of(tokenizer: Any, labels: dict[int, str], count: int) -> list[dict[str, Any]]:
    table = read_table(hc.bundled_pairs()).head(count)
    return encode(read_examples(table, find_task("qnli"), labels), tokenizer, 128).rows


def with_trainer(model: Any, tokenizer: Any, rows: list[dict[str, Any]], settings: Settings) -> float:
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(copy.deepcopy(model), tokenizer, rows, Path(folder), settings, seed=0)
        start = time.perf_counter()
        trainer.train()
        return int(trainer.state.global_step) / (time.perf_counter() - start)


def with_loop(model: Any, tokenizer: Any, rows: list[dict[str, Any]], settings: Settings) -> float:
    model = copy.deepcopy(model)
    with tempfile.TemporaryDirectory() as folder:
        # The batches of the Trainer, so that both do the same work.
        batches = list(make_trainer(model, tokenizer, rows, Path(folder), settings, seed=0).get_train_dataloader())
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.rate)
    steps = len(batches) * int(settings.epochs)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    model.train()
    start = time.perf_counter()
    for _ in range(int(settings.epochs)):
        for batch in batches:
            model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
    return steps / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(hc.bundled("pretrained"))
    settings = Settings(per_device_train_batch_size=options.batch, num_train_epochs=1, learning_rate=1e-5)
    names = {0: "entailment", 1: "not_entailment"}
    small, _ = hc.load(hc.bundled("qnli"))
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=384, intermediate_size=1536, id2label=names)
    found: dict[str, Any] = {"threads": torch.get_num_threads(), "torch": torch.__version__}
    for name, model in {"bundled": small.float(), "12x12x384": BertForSequenceClassification(config)}.items():
        rows = rows_of(tokenizer, names, options.texts)
        speeds: dict[str, list[float]] = {"trainer": [], "loop": []}
        for _ in range(options.repeats):
            speeds["trainer"].append(with_trainer(model, tokenizer, rows, settings))
            speeds["loop"].append(with_loop(model, tokenizer, rows, settings))
        best = {key: max(values) for key, values in speeds.items()}
        found[name] = best | {"trainer_to_loop": best["trainer"] / best["loop"]}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
