"""One run of a baseline: a small model on the model's input embeddings, trained and scored as a fine-tuned one is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.data.batches import collate
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.encode import Encodings, encode
from headcount.data.examples import Examples, read_examples
from headcount.data.kinds.multiple_choice import MultipleChoice
from headcount.engines.progress import Progress
from headcount.models.load import load_model
from headcount.models.longest import longest_input
from headcount.training.models import load_text_tokenizer
from headcount.training.run import MOST_TRAINING, first_examples
from headcount.training.run_folder import OPTIONS, RESULT, finished_result, write_json
from headcount.training.scored_sets import score_sets, unscored_sets
from headcount.training.scores import score
from headcount.training.splits import Splits
from headcount.training.vector_model import READERS, VectorModel, centred

BATCH = 16


@dataclass(frozen=True)
class BaselineRun:
    """The options of one run, and its folder. `call` is other for each call: files may change between two."""

    model: str
    splits: Splits
    baseline: str
    seed: int
    folder: Path
    max_length: int
    device: str = "cpu"
    trust_remote_code: bool = False
    tokenizer: str | None = None
    call: str = ""

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for a run to be resumed."""
        return {
            "model": self.model,
            "task": self.splits.task.name,
            "baseline": self.baseline,
            "seed": self.seed,
            "data": self.splits.fingerprint,
            "max_length": self.max_length,
            **({} if self.tokenizer is None else {"tokenizer": self.tokenizer}),
        }


@dataclass(frozen=True)
class InputVectors:
    """The input embeddings of a model, its tokenizer, and the longest text that it takes."""

    vectors: Tensor
    tokenizer: Any
    longest: int


@lru_cache(maxsize=1)
def input_vectors(
    model: str, tokenizer: str | None, max_length: int, trust_remote_code: bool, call: str
) -> InputVectors:
    """Read once for all runs of a call: a model takes longer to load than a baseline to train."""
    loaded = load_model(model, trust_remote_code=trust_remote_code, dtype=torch.float32)
    pieces = load_text_tokenizer(model, tokenizer, trust_remote_code)
    vectors = loaded.get_input_embeddings().weight.detach()
    return InputVectors(centred(vectors), pieces, longest_input(loaded, pieces, max_length))


def perform_baseline(run: BaselineRun, progress: Progress | None = None) -> dict[str, Any]:
    """Train and score, or read the result of a finished run; only scores are kept."""
    done = finished_result(run.folder, run.identity)
    if done is not None and not unscored_sets(done, run.splits):
        return done
    start = time.monotonic()
    known = input_vectors(run.model, run.tokenizer, run.max_length, run.trust_remote_code, run.call)
    train, validation = (_encoded(run, table, known) for table in (run.splits.train, run.splits.validation))
    kind = run.splits.task.kind
    special = torch.tensor(sorted(kind.special_ids(known.tokenizer)), dtype=torch.long)
    choices = isinstance(kind, MultipleChoice)
    outputs = 1 if choices else max(1, len(run.splits.names))
    with torch.random.fork_rng():
        torch.manual_seed(run.seed)
        model = VectorModel(run.baseline, known.vectors, special, outputs, choices).to(run.device)
        write_json(run.folder / OPTIONS, run.identity)
        steps = _train(run, model, known.tokenizer, train, progress)
    few = first_examples(train, MOST_TRAINING)
    scores, training = (score(model, known.tokenizer, *split) for split in (validation, few))
    result: dict[str, Any] = {
        "identity": run.identity,
        "steps": steps,
        "seconds": time.monotonic() - start,
        "scores": scores,
        "training_scores": training,
        **score_sets(run.splits, lambda table: score(model, known.tokenizer, *_encoded(run, table, known))),
        "failed": kind.has_failed(training, few[0].labels),
        "cut": train[1].cut + validation[1].cut,
        ATTRIBUTE: {"train": dict(train[0].blank), "validation": dict(validation[0].blank)},
    }
    write_json(run.folder / RESULT, result)
    return result


def _encoded(run: BaselineRun, table: Any, known: InputVectors) -> tuple[Examples, Encodings]:
    """The same pieces that the model reads."""
    names = dict(enumerate(run.splits.names))
    examples = read_examples(table, run.splits.task, names, tokenizer=known.tokenizer)
    return examples, encode(examples, known.tokenizer, known.longest, run.seed)


def _train(
    run: BaselineRun, model: VectorModel, tokenizer: Any, train: tuple[Examples, Encodings], progress: Progress | None
) -> int:
    kind, rows = train[0].task.kind, train[1].rows
    reader = READERS[run.baseline]
    optimizer = torch.optim.AdamW(model.parameters(), reader.learning_rate)
    steps = 0
    model.train()
    for epoch in range(reader.epochs):
        numbers = np.random.default_rng([run.seed, epoch]).permutation(len(rows)).tolist()
        for start in range(0, len(numbers), BATCH):
            batch = collate(
                [rows[number] for number in numbers[start : start + BATCH]], tokenizer.pad_token_id or 0, run.device
            )
            loss = kind.losses(model(**kind.inputs(model, batch)), batch["labels"]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
        if progress is not None:
            progress(epoch + 1, reader.epochs)
    return steps
