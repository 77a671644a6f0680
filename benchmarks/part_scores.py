"""What do the scores of all heads and feed-forward units cost, as a multiple of a plain backward pass?"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast, PreTrainedModel

from headcount.ablation.job import Job, prepare_job
from headcount.choosing.importance import CPU_TOKENS, GPU_TOKENS, batch_of, frozen, importance, padding_of
from headcount.data.batches import by_length, plan_batches
from headcount.engines.compute import Compute

WORDS = [f"w{number}" for number in range(1000)]


def seconds(work: Callable[[], object], device: str) -> float:
    start = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def make_model() -> PreTrainedModel:
    """12 layers of 12 heads and 1,536 units, 384 wide, with random weights: the time does not depend on them."""
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=384,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=1536,
        vocab_size=1005,
        id2label={0: "negative", 1: "positive"},
        label2id={"negative": 0, "positive": 1},
    )
    return BertForSequenceClassification(config).eval()


def make_tokenizer(folder: Path) -> BertTokenizerFast:
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    return BertTokenizerFast(str(folder / "vocab.txt"))


def make_texts(count: int, longest: int) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(WORDS, generator.integers(4, longest - 1))) for _ in range(count)]
    return pd.DataFrame({"sentence": texts, "label": generator.integers(0, 2, count)})


def backward(job: Job, tokenizer: object, tokens: int) -> None:
    """Forward and backward passes over the batches that importance makes."""
    order = by_length(job.encodings.lengths)
    for start, stop in plan_batches(job.encodings.lengths[order], tokens):
        _, inputs, labels = batch_of(job, order[start:stop], padding_of(tokenizer))
        if not any(parameter.requires_grad for parameter in job.model.parameters()):
            # As without any gradient of a weight: only what flows back through the layers.
            embedded = job.model.get_input_embeddings()(inputs.pop("input_ids")).requires_grad_()
            inputs["inputs_embeds"] = embedded
        job.task.kind.losses(job.model(**inputs), labels).sum().backward()
    job.model.zero_grad()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--texts", type=int, default=1024)
    parser.add_argument("--longest", type=int, default=64, help="tokens of the longest text")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    model = make_model().to(options.device)
    table = make_texts(options.texts, options.longest)
    tokens = GPU_TOKENS if options.device == "cuda" else CPU_TOKENS
    compute = Compute(batch_tokens=tokens)
    with TemporaryDirectory() as folder:
        tokenizer = make_tokenizer(Path(folder))
        job = prepare_job(model, tokenizer, table, "sst2", "zero", None, None, 0, None)

        def without_weights() -> None:
            with frozen(model):
                backward(job, tokenizer, tokens)

        works: dict[str, Callable[[], object]] = {
            "forward and backward pass": lambda: backward(job, tokenizer, tokens),
            "the same without gradients of weights": without_weights,
            "scores of heads and units": lambda: importance(
                model, tokenizer, table, task="sst2", what="both", own_labels=True, compute=compute
            ),
        }
        found: dict[str, list[float]] = {name: [] for name in works}
        # In turns, so that a busy machine slows all of them alike; the first turn warms up.
        for turn in range(options.repeats + 1):
            for name, work in works.items():
                taken = seconds(work, options.device)
                if turn:
                    found[name].append(taken)
    plain, least, whole = (float(np.median(times)) for times in found.values())
    for name, times in found.items():
        print(f"{name}: {np.median(times):.2f} s [{min(times):.2f}, {max(times):.2f}]")
    print(
        f"{options.texts} texts: scores take {whole / plain:.2f} times a backward pass (bar 1.5), "
        f"{whole / least:.2f} times one without gradients of weights"
    )


if __name__ == "__main__":
    main()
