"""What refits of many cuts of one model need of it, from two passes over the texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedModel

from headcount.ablation.job import BATCH_TOKENS, Data, input_batches, read_data
from headcount.core.options import one_of
from headcount.data.batches import by_length, plan_batches
from headcount.data.encode import Encodings, encode
from headcount.data.examples import read_examples
from headcount.data.tasks import Task
from headcount.engines.progress import Progress
from headcount.models.longest import longest_input
from headcount.models.output_weights import OutputWeights, all_keys, read_output_weights
from headcount.pruning.fit_outputs import FITS, fit_outputs
from headcount.pruning.gram import PASSES, Grams, gram_matrices
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey


@dataclass(frozen=True, eq=False)
class PreparedFit:
    """The whole model's Gram matrices and output projections, and how cuts of it are refitted with them."""

    grams: Grams
    weights: Mapping[LayerKey, OutputWeights]
    how: str

    def __call__(self, cut: PreTrainedModel) -> PreTrainedModel:
        """Refit a cut of the model, in place."""
        return fit_outputs(cut, self.grams, self.weights, self.how)


def prepare_fit(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: Task,
    how: str = "weights",
    seed: int = 0,
    max_length: int | None = None,
    progress: Progress | None = None,
) -> PreparedFit:
    """Prepare refits of cuts of this model on the texts of `data`, whose labels are not read.

    All Gram matrices are in memory at once: 8 n^2 bytes for each block of n columns.
    """
    one_of("how", how, FITS)
    task = task.for_model(model)
    texts = read_texts(model, tokenizer, data, task, None, seed, max_length)
    keys = all_keys(read_anatomy(model))
    batches = input_batches(model, tokenizer, task.kind, texts)
    grams = gram_matrices(model, batches, keys, count_batches(texts, progress, PASSES))
    return PreparedFit(grams, read_output_weights(model, keys), how)


def read_texts(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    task: Task,
    limit: int | None,
    seed: int,
    max_length: int | None,
) -> Encodings:
    """The texts of the data, encoded for the model; their labels are not read."""
    table = read_data(data, task, tokenizer, limit, seed)
    examples = read_examples(table, task, None, limit, seed, tokenizer, labelled=False)
    return encode(examples, tokenizer, longest_input(model, tokenizer, max_length), seed)


def count_batches(texts: Encodings, progress: Progress | None, times: int = 1) -> Callable[[], None]:
    """A function to call after each batch of the texts, which are run so many times, that reports the progress."""
    total = times * len(plan_batches(texts.lengths[by_length(texts.lengths)], BATCH_TOKENS))
    done = 0

    def ran() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return ran
