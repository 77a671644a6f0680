"""How much syntax do all heads together hold? Classifiers that predict trees from attention (Clark 2019, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
import xarray as xr
from torch import Tensor

from headcount.core.heads import Layout
from headcount.core.probe_names import DISTANCE, MOST_WORDS, causal_stacks
from headcount.core.provenance import fingerprint
from headcount.core.results import HEAD_DIMS, ArrayPlan, Labelled, by_head, head_coords, label_axes
from headcount.core.schema import with_schemas
from headcount.data.annotations import Annotated
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.number_options import check_numbers
from headcount.engines.ledger import Ledger
from headcount.engines.progress import in_step
from headcount.engines.run import Arrays, Run, Unit, group_name
from headcount.engines.workers import Batched, tick
from headcount.measures.measurement import Measurement
from headcount.models.dispatched import input_device
from headcount.models.fingerprint import find_origin
from headcount.models.random_weights import with_random_weights
from headcount.probing.classifiers.cases import SENTENCES
from headcount.probing.classifiers.job import ClassifierJob, prepare_job, without_long
from headcount.probing.classifiers.probes import FARTHEST, HIDDEN, RATES, AttentionOnly, build_probe
from headcount.probing.classifiers.scores import CONTROLS, SCHEMAS, summarise_classifiers, trained_classifiers
from headcount.probing.classifiers.training import EPOCHS, PATIENCE, train
from headcount.probing.classifiers.word_attention import check_bytes, collect_attention, heads_looked_at
from headcount.probing.classifiers.word_vectors import file_vectors, own_vectors
from headcount.probing.dependencies.dependencies import DependencyTrees
from headcount.probing.dependencies.trees import DIRECTIONS
from headcount.probing.words.sentences import Sentences

AT_ONCE = 1024
"""Classifiers that may be trained at the same time on a CPU: one on each core, however many there are."""
Planned = list[tuple[str, int]]
"""What is trained, unit by unit: the name of a classifier and its seed."""
Maps = list[Tensor]
"""The attention between the words of every sentence."""


@dataclass(frozen=True)
class TreeClassifiers:
    """Of a CoNLL-U file, or a table with tokens, upos, heads and deprels."""

    name: ClassVar[str] = "classifiers"
    least: ClassVar[int] = 0
    """How many sentences are enough is known once the long ones are left out."""
    words: str = "written"
    """As for dependencies."""
    vectors: str | Path | None = None
    """A text file with a word and its numbers in each line; the model's input embeddings by default."""
    seeds: int = 3
    """How often each classifier is trained."""

    def __post_init__(self) -> None:
        check_numbers(seeds=self.seeds)
        DependencyTrees(words=self.words)  # checks it

    def read(self, data: str | Path | pd.DataFrame, tokenizer: Any, longest: int) -> list[Annotated]:
        return DependencyTrees(words=self.words).read(data, tokenizer, longest)


def train_classifiers(
    kind: TreeClassifiers, measurement: Measurement, sentences: Sentences, source: str, control: bool
) -> xr.Dataset:
    """The scores of all classifiers; a unit of work is one of them, trained with one seed.

    The attention between words is collected first, for what is still to be trained, and is kept in memory alone.
    """
    sentences, too_long = without_long(sentences)
    measurement = replace(measurement, inputs=sentences.inputs)
    model, layout = measurement.model, measurement.anatomy.layout
    if kind.vectors is None:
        vectors = own_vectors(model, sentences)
    else:
        vectors = file_vectors(kind.vectors, sentences, input_device(model))
    job = prepare_job(sentences, too_long, vectors, heads_looked_at(layout), measurement.seed)
    size = check_bytes(job.rooted.sizes, len(job.heads), 1 + control)
    planned = [(name, seed) for name in trained_classifiers(control) for seed in range(kind.seeds)]
    run = _as_run(kind, measurement, job, planned, source, control, size)
    ledger = Ledger([run], measurement.out, measurement.part, in_step(measurement.progress, "classifiers trained"))
    done = ledger.sinks[run.group].done()
    pending = {planned[number][0] for number in ledger.executor.mine(range(len(planned))) if not done[number]}
    attention = _collect(measurement, job, pending, source)

    def work(unit: Unit) -> dict[str, Arrays]:
        name, seed = planned[unit.start]
        generator = np.random.default_rng([measurement.seed, seed])
        return {run.group: _train(job, name, attention, layout, generator, lambda: tick(1 / EPOCHS))}

    together = AT_ONCE if input_device(model).type == "cpu" else 1
    [result] = ledger.perform(Batched(lambda unit: [unit], work, lambda _, parts: parts[0], together))
    return result


def _collect(measurement: Measurement, job: ClassifierJob, names: set[str], source: str) -> dict[bool, Maps]:
    """The attention that these classifiers read: of the model (False) and of its copy with random weights (True)."""
    progress = in_step(measurement.progress, "sentences read")
    wanted = sorted({name in CONTROLS for name in names if name != DISTANCE})
    attention = {}
    for number, control in enumerate(wanted):
        model = with_random_weights(measurement.model, measurement.seed) if control else measurement.model
        before, total = number * len(job.golds), len(wanted) * len(job.golds)

        def on_progress(done: int, before: int = before, total: int = total) -> None:
            if progress is not None:
                progress(before + done, total)

        attention[control] = collect_attention(measurement, job.rooted, model, source, on_progress)
    return attention


def _train(
    job: ClassifierJob,
    name: str,
    attention: Mapping[bool, Maps],
    layout: Layout,
    generator: np.random.Generator,
    after_epoch: Any,
) -> Arrays:
    """What a classifier gets right, and its weights for each head, NaN unless it reads attention alone."""
    own = CONTROLS.get(name, name)
    maps = None if own == DISTANCE else attention[name in CONTROLS]
    vectors = job.vectors.rows[0]
    probe = build_probe(own, len(job.heads), vectors.shape[1], job.rooted.has_root, generator).to(vectors.device)
    training, development, test = (job.cases(part, maps) for part in (job.training, job.development, job.test))
    with torch.enable_grad():
        trained = train(probe, training, development, test, RATES[own], generator, after_epoch)
    learned = np.full((len(job.heads), len(DIRECTIONS)), np.nan)
    if isinstance(probe, AttentionOnly):
        learned = probe.weights.detach().double().cpu().numpy()
    return {
        "values_right": trained.right[None],
        "values_development": np.array([trained.development]),
        "values_epochs": np.array([trained.epochs], dtype=float),
        "values_weight": by_head(dict(zip(job.heads, learned, strict=True)), layout)[None],
    }


def _as_run(
    kind: TreeClassifiers,
    measurement: Measurement,
    job: ClassifierJob,
    planned: Planned,
    source: str,
    control: bool,
    size: int,
) -> Run:
    """The result in a study: what must be equal to resume it, and where its numbers come from."""
    layout, inputs = measurement.anatomy.layout, job.sentences.inputs
    fixed = _fixed(job, planned, kind.seeds, layout)
    shapes = {
        "values_right": ("example", "sentence"),
        "values_development": ("example",),
        "values_epochs": ("example",),
        "values_weight": ("example", *HEAD_DIMS, "direction"),
    }
    counts = {"train": len(job.training), "development": len(job.development), "test": len(job.test)}
    return Run(
        group_name(f"probe/{kind.name}", measurement.name),
        find_origin(measurement.model, inputs.fingerprint, measurement.seed),
        {
            "measure": kind.name,
            "from_word": source,
            "control": control,
            "seeds": kind.seeds,
            "max_length": inputs.limit,
            "trees": fingerprint([gold.tobytes() for gold in job.golds]),
            "vectors": job.vectors.identity,
            "rule": fingerprint([MOST_WORDS, SENTENCES, EPOCHS, PATIENCE, HIDDEN, FARTHEST, RATES]),
        },
        {
            "group": "probe",
            "measure": kind.name,
            "summary": "how well classifiers predict the syntactic heads of words from attention",
            "paper": "Clark 2019, section 5",
            "cut": inputs.cut,
            ATTRIBUTE: inputs.blank,
            "split": counts,
            "too_long": job.too_long,
            "lost": {"without a token of their own": job.lost},
            "vectors_from": job.vectors.source,
            "vectors_known": job.vectors.known,
            "root": "special tokens" if job.rooted.has_root else "a learned constant",
            "causal": causal_stacks(list(layout.stacks)),
            "attention_bytes": size,
        },
        lambda arrays: summarise_classifiers(arrays, fixed, planned, measurement.seed),
        {
            name: ArrayPlan(dims, tuple(len(fixed[dim][1]) for dim in dims), "float64", SCHEMAS[name].attributes())
            for name, dims in shapes.items()
        },
        with_schemas(fixed, SCHEMAS),
        [(number, number + 1) for number in range(len(planned))],
    )


def _fixed(job: ClassifierJob, planned: Planned, seeds: int, layout: Layout) -> Labelled:
    """What is known before any training: an example is a classifier with a seed, a sentence one that evaluates."""
    axes = {
        "example": np.arange(len(planned)),
        "sentence": job.sentences.inputs.ids[job.test],
        "seed": np.arange(seeds),
        **head_coords(layout),
        "direction": list(DIRECTIONS),
    }
    return {
        **label_axes(axes),
        "classifier": (("example",), np.array([name for name, _ in planned], dtype=object)),
        "training_seed": (("example",), np.array([seed for _, seed in planned])),
        "test_words": (("sentence",), job.test_words),
        "right_branching": (("sentence",), job.right_branching),
    }
