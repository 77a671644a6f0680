"""Replacements from another input: equal to three plain passes for every head, part, direction and position."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import headcount as hc
from headcount.ablation.donors import draw_partners, length_classes
from headcount.ablation.job import Job, prepare_job
from headcount.errors import DataProblem, InvalidOption, NotFinite, StudyProblem, UnsuitableModel
from tests import planted
from tests.ablation.naive_patching import patched
from tests.ablation.patch_jobs import TASKS, model_of, pairs
from tests.closeness import ROUNDED, assert_same

KINDS = ("bert", "llama", "t5")
SMALL = hc.Compute(batch_tokens=24)
"""Several batches, with padding."""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@cache
def shared_model(kind: str) -> Any:
    return model_of(kind)


def inputs_of(job: Job, rows: list[dict[str, Any]], number: int) -> dict[str, torch.Tensor]:
    row = {key: torch.tensor([value]) for key, value in rows[number].items()}
    return job.task.kind.inputs(job.model, row)


def naive(job: Job, how: hc.Patch, where: Any = None) -> np.ndarray:
    """[stack, layer, head, example]: the score of each example with each head patched."""
    assert job.counterparts is not None
    sides = [job.encodings.rows, job.counterparts.encodings.rows]
    giver, base = sides if how.direction == "denoise" else sides[::-1]
    layout = job.anatomy.layout
    shape = (len(layout.stacks), *(max(layout.layers(s) for s in layout.stacks), 4), len(base))
    scores = np.full(shape, np.nan)
    for head in layout:
        for number in range(len(base)):
            at = None if where is None else where(number)
            run, other = inputs_of(job, base, number), inputs_of(job, giver, number)
            with torch.no_grad():
                result = patched(job.model, run, other, head.stack, (head.layer, head.head), how.part, at)
            scores[list(layout.stacks).index(head.stack), head.layer, head.head, number] = score(
                job, base, number, result
            )
    return scores


def score(job: Job, rows: list[dict[str, Any]], number: int, result: Any) -> float:
    """The difference of logits by hand, of a translation the log-probability."""
    labels = torch.tensor(rows[number]["labels"])
    if job.task.kind.name == "translation":
        return float(result.logits[0].log_softmax(-1).gather(1, labels[:, None]).sum())
    if job.task.kind.name == "classification":
        return float(result.logits[0, labels] - result.logits[0, 1 - labels])
    wrong = torch.tensor(rows[number]["wrong_labels"])
    at = int((wrong >= 0).nonzero()[0])
    return float(result.logits[0, at - 1, labels[at]] - result.logits[0, at - 1, wrong[at]])


def found(result: Any) -> np.ndarray:
    if "logit_difference" in result:
        values = result["logit_difference"]
    else:
        values = -result["loss"]
    return values.transpose("stack", "layer", "head", "example").sortby("example").values


def prepare(kind: str, tokenizer: Any, how: hc.Patch, data: pd.DataFrame) -> Job:
    metric = "log_probability" if kind == "t5" else "logit_difference"
    return prepare_job(shared_model(kind), tokenizer, data, TASKS[kind], how, metric, None, 0, None, True)


def swept(kind: str, tokenizer: Any, how: Any, data: pd.DataFrame, **options: Any) -> Any:
    metric = "log_probability" if kind == "t5" else "logit_difference"
    options = {"metric": metric, "untrained": True, "compute": SMALL} | options
    return hc.sweep(shared_model(kind), tokenizer, data, task=TASKS[kind], how=how, **options)


@pytest.mark.parametrize("direction", ["denoise", "noise"])
@pytest.mark.parametrize("part", ["output", "query", "key", "value", "weights"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_part_and_direction_equals_plain_passes(tokenizer: Any, kind: str, part: str, direction: str) -> None:
    how, data = hc.Patch(part=part, direction=direction), pairs(kind, 4)
    job = prepare(kind, tokenizer, how, data)
    result = swept(kind, tokenizer, how, data)
    assert_same(found(result), naive(job, how), ROUNDED, f"{kind} {part} {direction}")
    # Both inputs themselves: what is run, and what gives.
    for name, rows in (("clean", job.encodings.rows), ("corrupted", job.counterparts.encodings.rows)):  # type: ignore[union-attr]
        with torch.no_grad():
            results = [job.model(**inputs_of(job, rows, n)) for n in range(4)]
        expected = np.mean([score(job, rows, n, result) for n, result in enumerate(results)])
        assert float(result[name]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("part", ["output", "query", "key", "value", "weights"])
@pytest.mark.parametrize("positions", ["last", "middle"])
@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_positions_equal_plain_passes(tokenizer: Any, kind: str, positions: str, part: str) -> None:
    how, data = hc.Patch(part=part, positions=positions), pairs(kind, 3)
    job = prepare(kind, tokenizer, how, data)

    def where(number: int) -> list[int]:
        if positions == "middle":
            return [1, 2]
        row = job.encodings.rows[number]
        if kind == "bert":
            return [len(row["input_ids"]) - 1]
        return [next(at for at, label in enumerate(row["labels"]) if label != -100) - 1]

    assert_same(found(swept(kind, tokenizer, how, data)), naive(job, how, where), ROUNDED, f"{kind} {part}")


def test_the_answer_is_predicted_one_token_before_it(tokenizer: Any) -> None:
    data = pairs("llama", 3)
    last = swept("llama", tokenizer, hc.Patch(positions="last"), data)
    answer = swept("llama", tokenizer, hc.Patch(positions="answer"), data)  # answers of one token
    assert_same(answer["score"], last["score"])


@pytest.mark.parametrize("direction", ["denoise", "noise"])
@pytest.mark.parametrize("part", ["output", "key"])
def test_spans_of_inputs_of_different_length(tokenizer: Any, part: str, direction: str) -> None:
    data = pairs("bert", 3)
    data["counterpart"] = "so " + data["counterpart"]
    data["spans"] = [{"middle": [1, 3]}] * 3
    data["counterpart_spans"] = [{"middle": [2, 4]}] * 3
    how = hc.Patch(align="span", direction=direction, part=part)
    job = prepare("bert", tokenizer, how, data)
    there = {2: 1, 3: 2} if direction == "denoise" else {1: 2, 2: 3}
    result = swept("bert", tokenizer, how, data)
    assert_same(found(result), naive(job, how, lambda number: there), ROUNDED)


def test_a_map_of_heads_and_positions(tokenizer: Any) -> None:
    data = pairs("llama", 3)
    result = swept("llama", tokenizer, "patch", data, by="position")
    assert result["score"].dims == ("stack", "layer", "head", "position")
    assert list(result["position"].values) == ["middle", "start", "last"]
    for name in ("middle", "last"):
        alone = swept("llama", tokenizer, hc.Patch(positions=name), data)
        assert_same(result["score"].sel(position=name), alone["score"], ROUNDED)
    # Without names, every token of texts of one length.
    same = data.drop(columns="spans").assign(prompt="so the bad it", counterpart="so a good it")
    result = swept("llama", tokenizer, hc.Patch(part="value"), same, by="position")
    assert list(result["position"].values) == [str(number) for number in range(7)]
    # What follows the answer cannot change it, nor can what is the same in both inputs.
    assert_same(result["delta"].isel(position=[6]), 0 * result["delta"].isel(position=[6]), largest=1.0)


def test_layers_and_sets(tokenizer: Any) -> None:
    data = pairs("llama", 4)
    layer = swept("llama", tokenizer, "patch", data, by="layer")
    sets = swept("llama", tokenizer, "patch", data, by=["L0", "L1", "L2"])
    assert_same(layer["score"].sel(stack="decoder"), sets["score"])


def test_one_batch_or_many(tokenizer: Any) -> None:
    data = pairs("llama", 6)
    many, one = (
        swept("llama", tokenizer, "patch", data, compute=hc.Compute(batch_tokens=tokens)) for tokens in (8, 4096)
    )
    assert_same(found(many), found(one))


def test_a_patch_of_the_same_input_changes_nothing(tokenizer: Any) -> None:
    """Rows whose two inputs are equal stay as they are, among rows that differ."""
    data = pairs("bert", 4)
    data.loc[1, "counterpart"] = data.loc[1, "sentence"]
    for part in ("output", "query", "key", "value", "weights"):
        result = swept("bert", tokenizer, hc.Patch(part=part), data)
        change = result["logit_difference"] - result["baseline_logit_difference"]
        assert_same(change.sel(example=1), 0 * change.sel(example=1), largest=1.0)


def test_resampling_equals_a_loop(tokenizer: Any) -> None:
    model, data = shared_model("bert"), planted.texts(9, seed=3)
    result = hc.sweep(
        model, tokenizer, data, task="sst2", how=hc.Resample(draws=2), metric="loss", untrained=True, compute=SMALL
    )
    encoded = [tokenizer(text, return_tensors="pt") for text in data["sentence"]]
    lengths = np.array([row["input_ids"].shape[1] for row in encoded])
    from tests.ablation.naive_patching import _with_output, layers_of, recording

    for draw in range(2):
        partners = draw_partners(lengths, np.random.default_rng([0, draw]))
        for example in range(9):
            assert partners[example] != example
            layer = layers_of(model, "encoder")[1]
            kept: list[torch.Tensor] = []
            with torch.no_grad(), recording(layer.output, kept, before=True):
                model(**encoded[partners[example]])
            index = torch.arange(lengths[example]) % lengths[partners[example]]
            with torch.no_grad():
                logits = _with_output(model, encoded[example], layer, 2, kept[0][:, index], None).logits
            got = result["logits"].sel(stack="encoder", layer=1, head=2, example=example).isel(draw=draw)
            assert_same(got, logits[0], ROUNDED)
    loss = -np.log(np.exp(result["logits"]) / np.exp(result["logits"]).sum("class"))
    right = xr_pick(loss, result["label"])
    assert_same(result["score"].sel(layer=1, head=2), right.sel(layer=1, head=2).mean(("draw", "example")), ROUNDED)


def xr_pick(values: Any, labels: Any) -> Any:
    return values.isel({"class": labels.astype(int)})


def test_length_classes_cover_everyone_once() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        lengths = generator.integers(1, generator.integers(2, 30), generator.integers(2, 60))
        classes = length_classes(lengths)
        assert sorted(np.concatenate(classes).tolist()) == list(range(len(lengths)))
        partners = draw_partners(lengths, generator)
        assert sorted(partners.tolist()) == list(range(len(lengths)))
        assert (partners != np.arange(len(lengths))).all()


def test_means_by_position(tokenizer: Any) -> None:
    data = pd.DataFrame({"sentence": ["the good it", "a bad is", "so up it"], "label": [1, 0, 1]})
    reference = pd.DataFrame({"sentence": ["it is good", "so so bad"], "label": [1, 0]})
    model = shared_model("bert")
    options: dict[str, Any] = {"task": "sst2", "untrained": True, "metric": "loss", "reference": reference}
    result = hc.sweep(model, tokenizer, data, how=hc.Means(by="position"), **options)
    assert (result.attrs["by"], result.attrs["mean_by"]) == ("head", "position")
    from tests.ablation.naive_patching import _with_output, layers_of, recording

    layer, kept = layers_of(model, "encoder")[0], []
    with torch.no_grad(), recording(layer.output, kept, before=True):
        for text in reference["sentence"]:
            model(**tokenizer(text, return_tensors="pt"))
    mean = torch.stack(kept).mean(0)
    for number, text in enumerate(data["sentence"]):
        logits = _with_output(model, tokenizer(text, return_tensors="pt"), layer, 3, mean, None).logits
        got = result["logits"].sel(stack="encoder", layer=0, head=3, example=number)
        assert_same(got, logits[0], ROUNDED)
    with pytest.raises(DataProblem, match="texts of one length and one stack; got 3 to 5 tokens"):
        hc.sweep(
            model, tokenizer, data.assign(sentence=["the good", "a bad is", "up"]), how=hc.Means("position"), **options
        )


def test_what_is_refused(tokenizer: Any) -> None:
    data = pairs("bert", 4)
    cases: list[tuple[pd.DataFrame, Any, dict[str, Any], type[Exception], str]] = [
        (
            data.drop(columns="counterpart"),
            "patch",
            {},
            DataProblem,
            "no column 'counterpart'.*name it with counterpart=",
        ),
        (
            data.assign(counterpart=data["sentence"]),
            "patch",
            {},
            DataProblem,
            "all 4 texts and their counterparts are equal",
        ),
        (
            data.assign(counterpart="so " + data["sentence"]),
            "patch",
            {},
            DataProblem,
            "4 of 4 pairs.*row 1: .* tokens and",
        ),
        (data, hc.Patch(positions="verb"), {}, InvalidOption, "expected one of all, last, answer, middle, start"),
        (data, hc.Patch(positions="answer"), {}, InvalidOption, "answers of classification have no positions"),
        (data.assign(spans='{"middle": [1, 99]}'), "patch", {}, DataProblem, "'middle' is 1 to 99, but the text has"),
        (data.drop(columns="spans"), hc.Patch(align="span"), {}, DataProblem, "align='span' needs a column 'spans'"),
        (data.drop(columns="spans"), "patch", {"by": "position"}, DataProblem, "positions that all examples share"),
        (data, "zero", {"by": "position"}, InvalidOption, "expected how='patch' with it"),
        (data, "patch", {"stop_when": 0.1}, InvalidOption, "a race is not run with how='patch'"),
        (data.head(1), "resample", {}, DataProblem, "got one example"),
    ]
    for table, how, options, error, words in cases:
        with pytest.raises(error, match=words):
            swept("bert", tokenizer, how, table, **options)
    with pytest.raises(InvalidOption, match="positions= for an encoder-decoder"):
        swept("t5", tokenizer, hc.Patch(positions="middle"), pairs("t5", 3))
    with pytest.raises(InvalidOption, match="'bleu' with how='patch'"):
        swept("t5", tokenizer, "patch", pairs("t5", 3), metric="bleu")
    same = pairs("llama", 3).assign(wrong=" good", completion=" good")
    with pytest.raises(DataProblem, match="the right and the wrong answer ' good' and ' good'"):
        swept("llama", tokenizer, "patch", same)


def test_a_family_that_computes_its_attention_itself(tokenizer: Any) -> None:
    from tests.contracts.zoo import exact

    model = exact("mpnet", kernel="eager", head="AutoModelForSequenceClassification")
    model.config.id2label = planted.NAMES
    with pytest.raises(UnsuitableModel, match="its query cannot be replaced; take part='output'"):
        hc.sweep(model, tokenizer, pairs("bert", 3), task="sst2", how=hc.Patch(part="query"), untrained=True)


def test_a_patch_in_a_study(tokenizer: Any, tmp_path: Path) -> None:
    data = pairs("llama", 6)
    whole = swept("llama", tokenizer, "patch", data)

    out = tmp_path / "study"
    stored = swept("llama", tokenizer, "patch", data, out=out, compute=hc.Compute(batch_tokens=8))
    assert_same(stored["score"], whole["score"], ROUNDED)
    assert "/sweep/head-patch" in hc.open_study(out).groups
    again = swept("llama", tokenizer, "patch", data, out=out, compute=hc.Compute(batch_tokens=8))
    assert_same(again["score"], stored["score"])


def test_another_span_is_another_result(tokenizer: Any, tmp_path: Path) -> None:
    """Spans change no token, and still decide what is patched."""
    data, how = pairs("llama", 4), hc.Patch(positions="middle")
    swept("llama", tokenizer, how, data, out=tmp_path / "study")
    moved = data.assign(spans='{"middle": [2, 4], "start": [0, 1]}')
    with pytest.raises(StudyProblem, match="given"):
        swept("llama", tokenizer, how, moved, out=tmp_path / "study")


def test_a_page_of_means_by_position(tokenizer: Any, tmp_path: Path) -> None:
    data = pd.DataFrame({"sentence": ["the good it", "a bad is", "so up it"], "label": [1, 0, 1]})
    options: dict[str, Any] = {"task": "sst2", "untrained": True, "metric": "loss", "reference": data}
    hc.sweep(shared_model("bert"), tokenizer, data, how=hc.Means(by="position"), out=tmp_path / "study", **options)
    hc.report(tmp_path / "study", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_the_other_input_is_checked(tokenizer: Any) -> None:
    """NaN on the input that gives is an error, not a share that is left out."""
    model, data = model_of("bert"), pairs("bert", 4)
    data["counterpart"] = data["sentence"].str.replace("good", "[MASK]").str.replace("bad", "[MASK]")
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight[planted.WORDS.index("[MASK]")] = 1e200
    how = hc.Patch(direction="noise")
    with pytest.raises(NotFinite):
        hc.sweep(model, tokenizer, data, task="sst2", how=how, untrained=True)
