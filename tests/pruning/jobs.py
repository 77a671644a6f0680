"""A tiny model with a few labelled examples for every kind of task, and the plain way of computing importance."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers as tf
from torch import Tensor

import headcount as hc
from headcount.ablation.job import Job, prepare_job
from headcount.core.results import by_head
from headcount.data.tasks import Task, find_task
from headcount.models.anatomy import read_anatomy
from tests import planted
from tests.contracts.zoo import BY_NAME, exact

COUNT = 10
TEXTS = planted.texts(COUNT, seed=4)["sentence"]
KINDS = (
    "classification",
    "regression",
    "similarity",
    "retrieval",
    "reranking",
    "tags",
    "choice",
    "masked",
    "gpt2",
    "completion",
    "t5",
    "marian",
)


def random_model(head: str = "BertForSequenceClassification", **options: Any) -> Any:
    """A float64 BERT of 3 layers of 4 heads whose attention is far from uniform."""
    torch.manual_seed(3)
    named = {"id2label": planted.NAMES, "label2id": {"negative": 0, "positive": 1}}
    config = tf.BertConfig(
        vocab_size=len(planted.WORDS),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=40,
        max_position_embeddings=64,
        initializer_range=0.3,
        **named | options,
    )
    return getattr(tf, head)(config).eval().double()


def sentences() -> pd.DataFrame:
    return planted.texts(COUNT, seed=4)


def numbers() -> pd.DataFrame:
    return sentences().assign(label=np.linspace(0, 5, COUNT))


def pairs() -> pd.DataFrame:
    return pd.DataFrame({"sentence1": TEXTS, "sentence2": TEXTS.values[::-1], "label": np.linspace(0, 5, COUNT)})


def queries() -> pd.DataFrame:
    """Queries with 2 to 5 documents, of which the first is relevant and the last somewhat."""
    lists = [[TEXTS[(number + 3 * step) % COUNT] for step in range(1, 3 + number % 4)] for number in range(COUNT)]
    relevance = [[2.0] + [0.0] * (len(documents) - 2) + [1.0] for documents in lists]
    return pd.DataFrame({"query": TEXTS, "documents": lists, "relevance": relevance})


def tagged() -> pd.DataFrame:
    table = pd.DataFrame({"tokens": [row.split() for row in TEXTS]})
    table["tags"] = [[int(word in ("good", "up")) for word in row] for row in table["tokens"]]
    return table


def choices() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "context": TEXTS,
            "one": "it is good",
            "two": "bad",
            "three": TEXTS.values[::-1],
            "label": np.arange(COUNT) % 3,
        }
    )


def translations() -> pd.DataFrame:
    return pd.DataFrame({"source": TEXTS, "target": TEXTS.values[::-1]})


def completions() -> pd.DataFrame:
    return pd.DataFrame({"prompt": TEXTS, "completion": " " + TEXTS.values[::-1]})


def make(kind: str) -> tuple[Any, pd.DataFrame, Task]:
    """A model, examples of unlike length, and the task."""
    texts = sentences().rename(columns={"sentence": "text"})
    if kind == "classification":
        return random_model(), sentences(), find_task("sst2")
    if kind == "regression":
        return random_model(num_labels=1, id2label={0: "score"}, label2id={"score": 0}), numbers(), find_task(kind)
    if kind == "similarity":
        return random_model("BertModel"), pairs(), find_task(kind)
    if kind == "retrieval":
        return random_model("BertModel"), queries(), find_task(kind)
    if kind == "reranking":
        return random_model(num_labels=1, id2label={0: "score"}, label2id={"score": 0}), queries(), find_task(kind)
    if kind == "tags":
        return random_model("BertForTokenClassification"), tagged(), find_task("token-classification")
    if kind == "choice":
        task = find_task("multiple-choice", text=("context", "one", "two", "three"))
        return random_model("BertForMultipleChoice"), choices(), task
    if kind == "masked":
        return random_model("BertForMaskedLM"), texts, find_task("masked-lm")
    if kind == "gpt2":
        return exact("gpt2", head="AutoModelForCausalLM"), texts, find_task("causal-lm")
    if kind == "completion":
        return exact("gpt2", head="AutoModelForCausalLM"), completions(), find_task(kind)
    assert BY_NAME[kind].kind == "pair"
    return exact(kind, head="AutoModelForSeq2SeqLM"), translations(), find_task("translation")


def prepared(kind: str, tokenizer: Any) -> Job:
    return job_of(*make(kind), tokenizer)


def job_of(model: Any, data: pd.DataFrame, task: Task, tokenizer: Any) -> Job:
    return prepare_job(model, tokenizer, data, task, "zero", None, None, 0, None, False)


def alone(job: Job, row: int) -> dict[str, Tensor]:
    """One example as the model takes it, with its labels: the model then computes its own loss."""
    given = job.encodings.rows[row]
    if isinstance(given["input_ids"][0], list):
        width = max(map(len, given["input_ids"]))
        found = {
            key: torch.tensor([[[*one, *[0] * (width - len(one))] for one in given[key]]])
            for key in given
            if key != "labels"
        }
    else:
        found = {key: torch.tensor([given[key]]) for key in given if key != "labels"}
    known = {key: value for key, value in found.items() if _takes(job.model, key)}
    if not job.task.kind.model_computes_loss:
        return {key: tensor[0] for key, tensor in known.items()}
    return known | {"labels": torch.tensor([given["labels"]]).to(*_number(job))}


def own_loss(job: Job, row: int, batch: dict[str, Tensor] | None = None) -> Tensor:
    """The loss that the model gives an example, or that of the naive formula where it computes none."""
    batch = alone(job, row) if batch is None else batch
    result = job.model(**batch)
    if job.task.kind.model_computes_loss:
        return result.loss
    if job.task.kind.name == "reranking":
        return listwise(result.logits[:, 0], job.examples.labels[row])
    lengths = batch["attention_mask"].sum(1)
    one, *others = (states[:length].mean(0) for states, length in zip(result.last_hidden_state, lengths, strict=True))
    cosines = torch.stack([torch.cosine_similarity(one, other, dim=0) for other in others])
    if job.task.kind.name == "retrieval":
        return listwise(20 * cosines, job.examples.labels[row])
    return (cosines[0] - float(job.examples.labels[row])) ** 2


def listwise(scores: Tensor, relevance: list[float]) -> Tensor:
    """The cross entropy between judgements as shares and the softmax of the scores."""
    return -sum(
        (gain / sum(relevance) * score for gain, score in zip(relevance, scores.log_softmax(0), strict=True)),
        torch.tensor(0.0),
    )


def _number(job: Job) -> tuple[torch.dtype, ...]:
    return (torch.float32,) if job.task.kind.name == "regression" else (torch.long,)


def _takes(model: Any, key: str) -> bool:
    return key in inspect.signature(model.forward).parameters


def one_by_one(job: Job) -> dict[str, np.ndarray]:
    """[example, stack, layer, head] of michel, taylor and norm: gates differentiated one example at a time."""
    layout = read_anatomy(job.model).layout
    found: dict[str, list[np.ndarray]] = {"michel": [], "taylor": [], "norm": []}
    for row in range(len(job.encodings.rows)):
        batch = alone(job, row)
        gates = {
            stack: torch.ones(layout.layers(stack), layout.width(stack), requires_grad=True) for stack in layout.stacks
        }
        with hc.gated(job.model, gates):
            loss = own_loss(job, row, batch)
        slopes = dict(zip(gates, torch.autograd.grad(loss, list(gates.values())), strict=True))
        if job.task.kind.name == "translation":  # the model makes its decoder's inputs of the labels
            batch["decoder_input_ids"] = job.model.prepare_decoder_input_ids_from_labels(labels=batch["labels"])
        seen = hc.observe(job.model, batch, maps=False).outputs
        mask = batch["attention_mask"].flatten(0, -2).float()  # only choices of one example are padded here
        values: dict[str, dict[Any, float]] = {name: {} for name in found}
        for head in layout:
            slope = float(slopes[head.stack][head.layer, head.head])
            lengths = seen[head.stack][head.layer, head.head].norm(dim=-1)
            weight = mask if job.task.kind.several_rows else torch.ones_like(lengths)
            values["michel"][head], values["taylor"][head] = abs(slope), -slope
            values["norm"][head] = float(((lengths * weight).sum(1) / weight.sum(1)).mean())
        for name, one in values.items():
            found[name].append(by_head(one, layout))
    return {name: np.stack(rows) for name, rows in found.items()}


def unit_slopes(job: Job, labels: Any = None) -> np.ndarray:
    """[example, stack, layer, unit] of minus the slopes in gates of units, one example at a time.

    `labels`: those of each example, in place of the data's.
    """
    anatomy = read_anatomy(job.model)
    stacks, units = list(anatomy.layout.stacks), anatomy.units
    shape = (len(stacks), max(map(anatomy.layout.layers, stacks)), max(map(units.width, units.stacks)))
    found = np.full((len(job.encodings.rows), *shape), np.nan)
    for row in range(len(found)):
        batch = alone(job, row) | ({} if labels is None else {"labels": labels[row]})
        gates = {
            stack: torch.ones(units.layers(stack), units.width(stack), requires_grad=True) for stack in units.stacks
        }
        with hc.gated(job.model, units=gates):
            loss = own_loss(job, row, batch)
        for stack, slopes in zip(gates, torch.autograd.grad(loss, list(gates.values())), strict=True):
            found[row, stacks.index(stack), : slopes.shape[0], : slopes.shape[1]] = -slopes.numpy()
    return found
