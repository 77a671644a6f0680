"""Are documents ranked as by a plain loop, under the same ablation as queries, in any batch, by the planted head?"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import ndcg_score

import headcount as hc
from headcount.data.batches import collate
from headcount.data.tasks import find_task
from headcount.errors import DataProblem, HeadcountError, InvalidOption, ModelUnavailable
from tests import planted
from tests.closeness import ROUNDED, assert_same
from tests.contracts.zoo import BY_NAME, exact
from tests.data.test_beir import write
from tests.pruning import jobs

QUERIES = jobs.queries()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@torch.no_grad()
def naive_scores(model: Any, tokenizer: Any, prompts: tuple[str, str] = ("", ""), pooling: str = "mean") -> list[Any]:
    """For each query the cosines with its documents, one text at a time, without padding."""

    def vector(text: str) -> torch.Tensor:
        states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        pooled = {"mean": states.mean(0), "first": states[0], "last": states[-1]}[pooling]
        return pooled / pooled.norm()

    return [
        np.array([float(vector(prompts[0] + query) @ vector(prompts[1] + document)) for document in documents])
        for query, documents in zip(QUERIES["query"], QUERIES["documents"], strict=True)
    ]


def naive_ndcg(scores: list[Any]) -> float:
    return float(np.mean([ndcg_score([rel], [own]) for rel, own in zip(QUERIES["relevance"], scores, strict=True)]))


@pytest.mark.parametrize("how", ["zero", "uniform", "mean"])
def test_a_sweep_is_a_loop_over_texts_and_heads(how: str, tokenizer: Any) -> None:
    """Of queries and documents alike: both are encoded without the head."""
    model = jobs.random_model("BertModel")
    given = {"reference": QUERIES} if how == "mean" else {}
    found = hc.sweep(model, tokenizer, QUERIES, task="retrieval", how=how, **given)
    assert found.attrs["metric"] == "ndcg@10"
    assert float(found["baseline"]) == pytest.approx(naive_ndcg(naive_scores(model, tokenizer)))
    means = None
    if how == "mean":
        texts = [
            text
            for query, others in zip(QUERIES["query"], QUERIES["documents"], strict=True)
            for text in (query, *others)
        ]
        batches = [tokenizer(text, return_tensors="pt") for text in texts]
        means = {"reference": batches}
    for head in list(hc.read_anatomy(model).layout)[::5]:
        with hc.ablated(model, [head], how=how, **(means or {})):
            without = naive_scores(model, tokenizer)
        where = {"stack": head.stack, "layer": head.layer, "head": head.head}
        for row, scores in enumerate(without):
            kept = found["document_scores"].sel(where).values[row]
            assert_same(kept[: len(scores)], scores.astype(np.float32), 1e-6)
            assert not kept[len(scores) :].any()
        assert float(found["score"].sel(where)) == pytest.approx(naive_ndcg(without))


def test_other_poolings_and_prompts(tokenizer: Any) -> None:
    model = jobs.random_model("BertModel")
    task = "retrieval,pooling=last,query_prompt=so good ,document_prompt=up "
    found = hc.sweep(model, tokenizer, QUERIES, task=task, by="layer")
    expected = naive_scores(model, tokenizer, ("so good ", "up "), "last")
    assert float(found["baseline"]) == pytest.approx(naive_ndcg(expected))
    assert found.attrs["notes"][0] == (
        "a text's vector is that of its last token, as pooling= says, with 'so good ' before every query and 'up ' "
        "before every document"
    )


@pytest.mark.parametrize("name", ["roberta", "distilbert", "modernbert", "mpnet", "deberta-v2", "llama"])
def test_rows_that_fill_up_a_batch_do_not_matter(name: str, tokenizer: Any) -> None:
    """Not in what is computed, nor in its gradient; for all families."""
    model = exact(name, BY_NAME[name].kernels[0])
    given = [[1, 5, 6, 2], [1, 7, 2], [1, 8, 9, 6, 2], [1, 5, 2], [1, 9, 8, 2]]
    kind, rows = find_task("retrieval").kind, []
    for texts, judgements in ((given[:2], [1.0]), (given, [0.0, 1.0, 0.0, 2.0])):
        labels = [*judgements, *[-1.0] * (4 - len(judgements))]
        spans = [float(place) for text in texts for place in (0, len(text))] + [0.0, 1.0] * (5 - len(texts))
        rows.append(
            {"input_ids": texts, "attention_mask": [[1] * len(text) for text in texts], "labels": [*labels, *spans]}
        )
    rows[0]["labels"][:2] = [1.0, -1.0]

    def run(chosen: list[Any]) -> tuple[Any, Any]:
        batch = collate(chosen, 0)
        gates = torch.ones(
            hc.read_anatomy(model).layout.layers("decoder" if name == "llama" else "encoder"), 4, requires_grad=True
        )
        with hc.gated(model, gates.double()):
            result = model(**kind.inputs(model, batch))
        losses = kind.losses(result, batch["labels"])
        return losses.detach(), torch.autograd.grad(losses.sum(), gates)[0]

    together, alone = run(rows), [run([row]) for row in rows]
    assert_same(together[0], torch.cat([losses for losses, _ in alone]), ROUNDED)
    assert_same(together[1], sum(slopes for _, slopes in alone), 1e-5)
    assert float(together[1].abs().max()) > 1e-6


def topics() -> pd.DataFrame:
    """A query's own polarity is relevant, other documents have none; noise in some relevant ones misleads L0H1."""
    generator, rows = np.random.default_rng(0), []
    for number in range(40):
        own, noise = ("good", "down") if number % 2 else ("bad", "up")
        relevant = [generator.choice(planted.WORDS[9:]), own, *([noise] if number % 3 == 0 else [])]
        rows.append({"query": f"the {own}", "documents": [" ".join(relevant), "it so", "a is"], "relevance": [1, 0, 0]})
    return pd.DataFrame(rows)


@torch.no_grad()
def carrier() -> Any:
    """The planted model with words whose mean is zero, so that heads carry nothing else, and a first token that has
    something of its own, so that rounding is not all that there is without them."""
    model = planted.classifier().bert.eval()
    words = model.embeddings.word_embeddings.weight
    for word, dim in (("good", 5), ("bad", 5), ("up", 6), ("down", 6)):
        words[planted.WORDS.index(word), dim] = -words[planted.WORDS.index(word)].sum()
    words[planted.WORDS.index("[CLS]"), 2:4] = torch.tensor([1.0, -1.0])
    return model


def test_the_planted_head_ranks_the_documents(tokenizer: Any) -> None:
    """Into the first token's vector, L0H0 carries the polarity and L0H1 the noise."""
    task = "retrieval,pooling=first"
    found = hc.sweep(carrier(), tokenizer, topics(), task=task, metric="recall@1", how="zero").sel(stack="encoder")
    clean = 26 / 40
    assert float(found["baseline"]) == pytest.approx(clean)
    assert float(found["score"].sel(layer=0, head=1)) == 1, "nothing misleads any more"
    assert float(found["score"].sel(layer=0, head=0)) == pytest.approx(clean / 3), "equal scores are a random order"
    assert bool((found["q"].sel(layer=0) < 0.05).all())
    assert not found["delta"].sel(layer=1).any()


def test_a_corpus_with_its_candidates(tokenizer: Any, tmp_path: Path) -> None:
    model = jobs.random_model("BertModel")
    found = hc.sweep(model, tokenizer, write(tmp_path), task="retrieval,candidates=4", by="layer", metric="recall@1")
    assert found.sizes["document"] == 4
    assert "scores are those of ranking candidates, not the corpus" in found.attrs["notes"][0]


def test_a_study_resumes_and_knows_other_prompts(tokenizer: Any, tmp_path: Path) -> None:
    model, out = jobs.random_model("BertModel"), tmp_path / "study"
    first = hc.sweep(model, tokenizer, QUERIES, task="retrieval", by="layer", out=out)
    again = hc.sweep(model, tokenizer, QUERIES, task="retrieval", by="layer", out=out)
    np.testing.assert_array_equal(first["score"], again["score"])
    with pytest.raises(HeadcountError, match="data"):
        hc.sweep(model, tokenizer, QUERIES, task="retrieval,query_prompt=up ", by="layer", out=out)


def test_training_on_judgements(tokenizer: Any) -> None:
    model = jobs.random_model("BertModel").float()
    first = naive_ndcg(naive_scores(model, tokenizer))
    hc.recover(model, tokenizer, QUERIES, task="retrieval", max_steps=30, learning_rate=1e-3)
    assert naive_ndcg(naive_scores(model, tokenizer)) > first + 0.03


def test_what_does_not_apply_is_one_line(tokenizer: Any) -> None:
    model = jobs.random_model("BertModel")

    def refused(error: type[HeadcountError], message: str, **options: Any) -> None:
        with pytest.raises(error, match=message), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            hc.sweep(
                options.pop("model", model), tokenizer, options.pop("data", QUERIES), **{"task": "retrieval"} | options
            )

    refused(InvalidOption, r"got stop_when= and the metric ndcg@10; expected .*: give metric='loss'", stop_when=0.01)
    refused(InvalidOption, "reads several at once", how="resample")
    refused(DataProblem, "no column 'counterpart'", how="patch")
    refused(InvalidOption, "got the metric 'ndcg@0' for retrieval; expected one of ndcg@10", metric="ndcg@0")
    refused(InvalidOption, "got prompt= for retrieval, which has pooling= and query_prompt=", task="retrieval,prompt=a")
    refused(ModelUnavailable, "cannot do retrieval", model=jobs.random_model("BertForMaskedLM"))
    refused(DataProblem, "no column query and documents", data=jobs.pairs())


def test_a_race_runs_on_the_loss(tokenizer: Any) -> None:
    model = jobs.random_model("BertModel")
    found = hc.sweep(model, tokenizer, QUERIES, task="retrieval", metric="loss", stop_when=0.01, by="layer")
    assert found.attrs["metric"] == "loss"


def test_prompts_of_the_folder(tmp_path: Path) -> None:
    """By the names, and in the order, that sentence-transformers looks for."""
    from tests.models.test_sentence_files import MEAN, earlier

    folder = earlier(tmp_path / "old", MEAN)

    def prompts(settings: dict[str, Any]) -> tuple[str, str]:
        (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
        kind = find_task("retrieval").for_model(hc.load(folder)[0]).kind
        return kind.of_queries().prompt, kind.of_documents().prompt

    assert prompts({"prompts": {"query": "query: ", "passage": "passage: "}}) == ("query: ", "passage: ")
    assert prompts({"prompts": {"corpus": "c ", "document": "d "}, "default_prompt_name": "corpus"}) == ("c ", "d ")
    assert prompts({}) == ("", "")
