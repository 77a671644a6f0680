"""Do cross-encoders rank as in a plain loop and in sentence-transformers, whole and pruned?"""

from __future__ import annotations

import json
import shutil
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.metrics import ndcg_score

import headcount as hc
from headcount.errors import InvalidOption, ModelUnavailable, UnsuitableModel
from tests import planted
from tests.closeness import assert_same
from tests.pruning import jobs

QUERIES = jobs.queries()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the library itself wrote, of a model that it made of another one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = pytest.importorskip("sentence_transformers")
    root = tmp_path_factory.mktemp("cross")
    hc.save(cross_encoder().float(), planted.tokenizer(root / "words"), root / "plain")
    shutil.rmtree(root / "words")
    library.CrossEncoder(str(root / "plain"), num_labels=1, device="cpu").save_pretrained(str(root / "reranker"))
    return root / "reranker"


def cross_encoder() -> Any:
    return jobs.random_model(num_labels=1, id2label={0: "LABEL_0"}, label2id={"LABEL_0": 0})


def library_scores(folder: Path, **options: Any) -> np.ndarray:
    """Of all pairs, without the sigmoid."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu", **options)
    pairs = [
        (query, one) for query, others in QUERIES[["query", "documents"]].itertuples(index=False) for one in others
    ]
    return np.asarray(model.predict(pairs, batch_size=5, activation_fn=torch.nn.Identity()))


def our_scores(found: Any) -> np.ndarray:
    kept = zip(found["baseline_document_scores"].values, QUERIES["documents"], strict=True)
    return np.concatenate([scores[: len(documents)] for scores, documents in kept])


@torch.no_grad()
def naive_scores(model: Any, tokenizer: Any) -> list[np.ndarray]:
    """One pair at a time, without padding."""
    return [
        np.array([float(model(**tokenizer(query, one, return_tensors="pt")).logits[0, 0]) for one in documents])
        for query, documents in zip(QUERIES["query"], QUERIES["documents"], strict=True)
    ]


def test_a_sweep_is_a_loop_over_pairs_and_heads(tokenizer: Any) -> None:
    model = cross_encoder()
    ranked, paired = (
        hc.sweep(model, tokenizer, QUERIES, task="reranking", how="zero", metric=metric)
        for metric in ("ndcg@10", "spearman")
    )
    for head in [None, *list(hc.read_anatomy(model).layout)[::5]]:
        where = {} if head is None else {"stack": head.stack, "layer": head.layer, "head": head.head}
        with nullcontext() if head is None else hc.ablated(model, [head], how="zero"):
            scores = naive_scores(model, tokenizer)
        ndcg = np.mean([ndcg_score([rel], [own]) for rel, own in zip(QUERIES["relevance"], scores, strict=True)])
        rho = spearmanr(np.concatenate(scores), np.concatenate(QUERIES["relevance"])).statistic
        key = "baseline" if head is None else "score"
        assert float(ranked[key].sel(where)) == pytest.approx(ndcg)
        assert float(paired[key].sel(where)) == pytest.approx(rho)
    assert_same(our_scores(ranked), np.concatenate(naive_scores(model, tokenizer)).astype(np.float32), 1e-6)


def test_folders_of_the_library_load_as_they_are(folder: Path) -> None:
    model, tokenizer = hc.load(folder)
    assert type(model).__name__ == "BertForSequenceClassification"
    found = hc.sweep(model, tokenizer, QUERIES, task="reranking", by="layer")
    np.testing.assert_allclose(our_scores(found), library_scores(folder), atol=2e-5)


@pytest.mark.parametrize("parts", [["L0H1", "L2H0-2"], ["L0H1", "L1H2", "L0U3-9", "L2U0-30"]], ids=["heads", "both"])
def test_pruned_folders_load_in_the_library_with_the_same_scores(
    parts: list[str], folder: Path, tmp_path: Path
) -> None:
    model, tokenizer = hc.load(folder)
    with hc.ablated(model, parts, how="zero"):
        expected = np.concatenate(naive_scores(model, tokenizer))
    hc.prune(model, parts)
    hc.save(model, tokenizer, tmp_path / "small")
    found = library_scores(tmp_path / "small", trust_remote_code=True)
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert abs(found - library_scores(folder)).max() > 1e-3, "the heads did something"


def test_what_the_library_wrote_beside_the_model_is_written_again(folder: Path, tmp_path: Path) -> None:
    """With the activation of its scores, which is the sigmoid where no file says otherwise."""
    from sentence_transformers import CrossEncoder

    CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Tanh()).save_pretrained(str(tmp_path / "tanh"))
    model, tokenizer = hc.load(tmp_path / "tanh")
    hc.prune(model, ["L0H1"])
    saved = hc.save(model, tokenizer, tmp_path / "small")
    found = CrossEncoder(str(saved), device="cpu", trust_remote_code=True).predict([("so good", "bad")])
    with torch.no_grad():
        score = model(**tokenizer("so good", "bad", return_tensors="pt")).logits[0, 0]
    assert float(found[0]) == pytest.approx(float(score.tanh()), abs=1e-6)
    assert (
        "CrossEncoder(folder, trust_remote_code=True)` gives its scores of pairs" in (saved / "README.md").read_text()
    )


def test_a_prompt_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "prompted")
    path = tmp_path / "prompted" / "config_sentence_transformers.json"
    settings = {"prompts": {"web": "search: "}, "default_prompt_name": "web"}
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    with pytest.raises(UnsuitableModel, match="the model's folder puts 'search: ' before texts"):
        hc.sweep(*hc.load(tmp_path / "prompted"), QUERIES, task="reranking")


def test_training_lowers_the_loss(tokenizer: Any) -> None:
    """Its least is the entropy of the judgements."""
    model = cross_encoder().float()

    def loss() -> float:
        return float(hc.sweep(model, tokenizer, QUERIES, task="reranking", by=["L0"], metric="loss")["baseline"])

    shares = [np.array(values)[np.array(values) > 0] / sum(values) for values in QUERIES["relevance"]]
    least, first = np.mean([-(share * np.log(share)).sum() for share in shares]), loss()
    hc.recover(model, tokenizer, QUERIES, task="reranking", max_steps=60, learning_rate=3e-3)
    assert least < loss() < first - 0.1 * (first - least)


def test_models_that_rank_nothing(tokenizer: Any) -> None:
    with pytest.raises(ModelUnavailable, match="has 2 outputs; reranking needs a model with one, as cross-encoders"):
        hc.sweep(jobs.random_model(), tokenizer, QUERIES, task="reranking")
    with pytest.raises(InvalidOption, match="got pooling= for reranking, which has candidates="):
        hc.sweep(cross_encoder(), tokenizer, QUERIES, task="reranking,pooling=mean")
