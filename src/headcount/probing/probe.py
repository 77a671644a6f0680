"""Heads against annotations: `probe` reads the annotations, runs the model once, and keeps what its kind finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import xarray as xr
from transformers import PreTrainedModel

from headcount.core.heads import Head
from headcount.core.options import belongs_to, one_of
from headcount.core.provenance import origin_of
from headcount.core.results import label_axes
from headcount.core.writers import writes_study
from headcount.data.in_memory import InMemory
from headcount.data.number_options import check_numbers
from headcount.data.synthetic.source import refuse_source
from headcount.data.token_spans import check_reads_texts
from headcount.engines.compute import Compute, check_compute
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress
from headcount.engines.run import Run, group_name
from headcount.errors import DataProblem
from headcount.measures.contract import Question, Values
from headcount.measures.measurement import CPU_TOKENS, GPU_TOKENS, Measurement, find_setting
from headcount.measures.passes import collect
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import input_device
from headcount.models.finite_weights import check_weights
from headcount.models.longest import longest_input
from headcount.models.random_weights import with_random_weights
from headcount.probing.arcs import SHOWN, take_arcs
from headcount.probing.classifiers.tree_classifiers import TreeClassifiers, train_classifiers
from headcount.probing.kinds import find_kind
from headcount.probing.words.between_words import SOURCES, WordPieces
from headcount.probing.words.contract import SeenWords, WordQuestion
from headcount.probing.words.see_words import see_words
from headcount.probing.words.sentences import Sentences, encode_sentences
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey
from headcount.trace.modes import evaluating
from headcount.trace.session import check_untouched
from headcount.trace.view import AttentionView
from headcount.zoo.bundled import find_data

Answer = TypeVar("Answer")


@takes_compiled
@takes_engine
@writes_study("out")
def probe(
    model: PreTrainedModel,
    tokenizer: Any,
    data: str | Path | InMemory,
    *,
    kind: str = "dependencies",
    relations: Sequence[str] | str | None = None,
    words: str | None = None,
    candidates: str | None = None,
    elements: str | None = None,
    vectors: str | Path | None = None,
    seeds: int | None = None,
    from_word: str = "mean",
    control: bool = True,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    compute: Compute | None = None,
    engine: str | Ray | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """How well the attention of every head follows annotations, as a Dataset with dims (stack, layer, head, ...).

    `kind`: `dependencies`, of a CoNLL-U file or a table with tokens, upos, heads and deprels; `classifiers`, of the
    same; `coreference`, of a CoNLL-2012 file or the table of LitBank or GAP; `frames`, of a table with text, target and
    fes or a copy of FrameNet. `from_word`: attention from a word of several pieces is the `mean` over them, or that of
    the `first`. `control`: the same model with random weights is probed too. `out`: a study folder, written as it runs;
    the same call resumes. `compute`: how it runs.

    Of dependencies, `relations`: only these; all with at least 100 cases by default. `words`: `written` (the default),
    as they stand in the text, multiword tokens such as French `du` as one word; or `annotated`, the words of the tree
    with spaces between.

    `accuracy` [stack, layer, head, direction, relation] is the share of the words whose most attended word (or the word
    that attends to them most) is their syntactic head, with an interval over the sentences. For each relation,
    `best_head`, `best_direction` and `best_offset` are selected on one half of the sentences, and `best_accuracy`, the
    baselines (`baseline_offset`, `baseline_right_branching`, `baseline_random_weights`) and `gain`, the difference to
    the best offset, are evaluated on the other; the relation `all` is the unlabelled attachment score. Intervals are
    NaN where fewer than six sentences have cases. In a causal model a word sees only those before it: each direction
    then has the cases whose syntactic head is on its side. A study also keeps some sentences with predicted and true
    arcs (`arcs/dependencies`).

    Of coreference, `candidates`: a head chooses among all other `words` (the default), or among the head words of
    earlier `mentions`. A case is a mention with an antecedent in its window, the relations are the kinds of mentions,
    and the halves consist of documents: a head is right if the word that it connects the mention's head word with is
    that of an antecedent. Baselines are `baseline_nearest`, `baseline_head_match` and `baseline_rules`, which choose
    among the earlier mentions; `gain` is the difference to the better of the first two. `lost` says what is no case.

    Of frames, `elements`: `core` (the default), `any`, or `strict`, only sentences all of whose elements pass the
    filter. `weight` [stack, layer, head, direction] is the mean weight of the links between elements and predicates,
    `excess` what it is above unlinked words at the same distance, with p- and q-values; the attribute `filter` counts
    what each step of the filter left.

    With `classifiers` (Clark et al. 2019, section 5), all heads together: classifiers are trained to find the syntactic
    head of each word, from the attention alone, from attention and words, or from distance and words, `seeds` times
    each (3 by default). `vectors`: a text file of word vectors; the model's input embeddings by default. One tenth of
    the sentences stops the training and one tenth evaluates. `uas` [probe] is the unlabelled attachment score without
    punctuation on these, the mean over the seeds with an interval over the sentences, beside right-branching and the
    attention of random weights; `gain_right_branching`, `gain_distance` and `gain_random_weights` are paired
    differences; `weight` [stack, layer, head, direction] is what the attention-only classifier learned. The attention
    between the words is kept in memory while they are trained, at most 4 GB, and never stored.
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
    """
    compute, part = check_compute(compute, out)
    check_numbers(seed=seed, limit=limit, max_length=max_length, batch_tokens=compute.batch_tokens)
    belongs_to("name", name, "out", out)
    named = [relation.strip() for relation in relations.split(",")] if isinstance(relations, str) else relations
    own = {"relations": named, "words": words, "candidates": candidates, "elements": elements}
    annotations = find_kind(kind, {**own, "vectors": vectors, "seeds": seeds})
    one_of("from_word", from_word, SOURCES)
    if out is not None:
        check_untouched(model)
    anatomy = read_anatomy(model)
    check_weights(model)
    check_reads_texts(tokenizer)
    longest = longest_input(model, tokenizer, max_length)
    refuse_source(data, "synthetic texts have no annotations", "annotated sentences, such as a CoNLL-U file")
    texts = annotations.read(find_data(data), tokenizer, longest)
    sentences = encode_sentences(texts, model, tokenizer, limit, seed, longest)
    if len(sentences.annotated) < annotations.least:
        raise DataProblem(
            "got one sentence; expected at least two: one half selects the best heads, the other evaluates"
        )
    inputs = sentences.inputs
    tokens = compute.batch_tokens or (GPU_TOKENS if input_device(model).type == "cuda" else CPU_TOKENS)
    setting = find_setting(model, tokenizer, anatomy, inputs)
    measurement = Measurement(model, tokenizer, anatomy, inputs, setting, tokens, seed, out, name, part, progress)
    if isinstance(annotations, TreeClassifiers):
        with evaluating(model), torch.inference_mode(False):
            return train_classifiers(annotations, measurement, sentences, from_word, control)
    question = annotations.ask(sentences, anatomy.layout, from_word, control)
    question.lost_words = sentences.lost
    random = with_random_weights(model, seed) if control else None

    def feed(_: list[Question], numbers: np.ndarray) -> dict[str, dict[LayerKey, Values]]:
        values = _look(measurement, sentences, question, numbers, model, question.see)
        if random is not None:
            control_values = _look(measurement, sentences, question, numbers, random, question.see)
            for layer_key, arrays in control_values.items():
                values[layer_key].update({f"random_{name}": array for name, array in arrays.items()})
        return {question.name: values}

    with evaluating(model), torch.inference_mode(False):
        probed = collect(measurement, [question], np.arange(len(inputs.ids)), feed, "probe")[question.name]
        if probed.attrs["complete"]:
            _keep_arcs(measurement, sentences, question, probed)
    return probed


def _keep_arcs(
    measurement: Measurement, sentences: Sentences, question: WordQuestion, probed: xr.Dataset
) -> xr.Dataset | None:
    """In a study, some sentences with what the best heads say about them, for the page."""
    if measurement.out is None:
        return None
    anatomy = measurement.anatomy

    def predict(number: int) -> dict[Head, np.ndarray]:
        layers = _look(measurement, sentences, question, np.array([number]), measurement.model, question.predicted)
        return {
            Head(stack, layer, head): words[0, at].cpu().numpy()
            for (stack, layer), words in layers.items()
            for at, head in enumerate(anatomy.attention(stack, layer).heads)
        }

    run = Run(
        group_name(f"arcs/{question.name}", measurement.name),
        origin_of(probed.attrs),
        {"kind": question.name, "shown": SHOWN},
        {"kind": question.name},
        lambda _: take_arcs(sentences, question, probed, anatomy.layout, predict, measurement.seed),
        fixed=label_axes({"relation": probed["relation"].values}),
    )
    return perform(run, measurement.out)


def _look(
    measurement: Measurement,
    sentences: Sentences,
    question: WordQuestion,
    numbers: np.ndarray,
    model: PreTrainedModel,
    look: Callable[[SeenWords], Answer],
) -> dict[LayerKey, Answer]:
    """What `look` gives for every layer of a model and some sentences, with their annotations."""
    gold = None

    def see(view: AttentionView, pieces: WordPieces) -> Answer:
        nonlocal gold
        if gold is None:
            gold = question.batch(list(numbers), pieces.known.shape[1], input_device(model))
        return look(SeenWords(view, pieces, gold))

    return see_words(measurement, sentences.words, sentences.known, numbers, model, question.source, see)
