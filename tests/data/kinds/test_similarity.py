"""Are cosines of pairs scored as by the plain formula, for every pooling, and is what cannot be done refused?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import pearsonr, spearmanr

import headcount as hc
from headcount.cli.main import main
from headcount.data.tasks import find_task
from headcount.errors import DataProblem, HeadcountError, InvalidOption, ModelUnavailable
from tests import planted
from tests.closeness import assert_same
from tests.pruning import jobs

PAIRS = jobs.pairs()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@torch.no_grad()
def naive_cosines(
    model: Any, tokenizer: Any, pooling: str, prompt: str = "", pairs: pd.DataFrame = PAIRS
) -> np.ndarray:
    """One text at a time, without padding."""

    def vector(text: str) -> torch.Tensor:
        states = model(**tokenizer(prompt + text, return_tensors="pt")).last_hidden_state[0]
        return {"mean": states.mean(0), "first": states[0], "last": states[-1]}[pooling]

    rows = zip(pairs["sentence1"], pairs["sentence2"], strict=True)
    return np.array([float(torch.cosine_similarity(vector(one), vector(other), dim=0)) for one, other in rows])


@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_a_sweep_is_a_loop_over_texts_and_heads(pooling: str, tokenizer: Any) -> None:
    model = jobs.random_model("BertModel")
    found = hc.sweep(model, tokenizer, PAIRS, task=f"similarity,pooling={pooling}", how="zero")
    cosines = naive_cosines(model, tokenizer, pooling)
    assert float(found["baseline"]) == pytest.approx(spearmanr(cosines, PAIRS["label"]).statistic)
    assert found.attrs["metric"] == "spearman"
    for head in hc.read_anatomy(model).layout:
        with hc.ablated(model, [head], how="zero"):
            without = naive_cosines(model, tokenizer, pooling)
        where = {"stack": head.stack, "layer": head.layer, "head": head.head}
        assert_same(found["logits"].sel(where).values[:, 0], without.astype(np.float32), 1e-6)
        assert float(found["score"].sel(where)) == pytest.approx(spearmanr(without, PAIRS["label"]).statistic)


def test_other_metrics(tokenizer: Any) -> None:
    model = jobs.random_model("BertModel")
    cosines = naive_cosines(model, tokenizer, "mean")
    expected = {
        "pearson": pearsonr(cosines, PAIRS["label"]).statistic,
        "loss": ((cosines - PAIRS["label"] / 5) ** 2).mean(),
    }
    for metric, value in expected.items():
        found = hc.sweep(model, tokenizer, PAIRS, task="similarity", by="layer", metric=metric)
        assert float(found["baseline"]) == pytest.approx(value)


def test_a_prompt_precedes_every_text(tokenizer: Any) -> None:
    model, task = jobs.random_model("BertModel"), find_task("similarity", prompt="so good, ")
    found = hc.sweep(model, tokenizer, PAIRS, task=task, by="layer")
    cosines = naive_cosines(model, tokenizer, "mean", "so good, ")
    assert float(found["baseline"]) == pytest.approx(spearmanr(cosines, PAIRS["label"]).statistic)
    assert "'so good, ' before every text" in found.attrs["notes"][0]


def test_the_result_says_which_vectors_and_which_loss(tokenizer: Any) -> None:
    model = jobs.random_model("BertModel")
    by_default, chosen = (
        hc.importance(model, tokenizer, PAIRS, task=task).attrs["notes"]
        for task in ("similarity", "similarity,pooling=last")
    )
    assert by_default[0].startswith("a text's vector is the mean over its tokens, since the model's folder does not")
    assert chosen[0] == "a text's vector is that of its last token, as pooling= says"
    assert by_default[1] == "the loss of a pair is the squared difference of its cosine and its score divided by 5"


def test_other_poolings_are_other_results(tokenizer: Any, tmp_path: Path) -> None:
    model = jobs.random_model("BertModel")
    hc.importance(model, tokenizer, PAIRS, task="similarity", out=tmp_path / "study")
    with pytest.raises(HeadcountError, match="data"):
        hc.importance(model, tokenizer, PAIRS, task="similarity,pooling=first", out=tmp_path / "study")


def test_the_models_own_labels_have_the_slopes_of_the_cosine(tokenizer: Any) -> None:
    job = jobs.prepared("similarity", tokenizer)
    found = hc.importance(job.model, tokenizer, PAIRS, task="similarity", own_labels=True)["values_taylor"]
    for row in range(3):
        gates = torch.ones(3, 4, requires_grad=True)
        batch = jobs.alone(job, row)
        with hc.gated(job.model, gates):
            states = job.model(**batch).last_hidden_state
        one, other = (
            each[:length].mean(0) for each, length in zip(states, batch["attention_mask"].sum(1), strict=True)
        )
        (slope,) = torch.autograd.grad(torch.cosine_similarity(one, other, dim=0), [gates])
        assert_same(-found.sel(example=row, stack="encoder").values, slope.numpy().astype(np.float32), 1e-5)


def test_training_without_a_head(tokenizer: Any) -> None:
    """On the labels: the model without a head computes no loss itself."""
    model = jobs.random_model("BertModel").float()
    pairs = PAIRS.assign(sentence2=np.roll(PAIRS["sentence1"], 1))  # no pair twice

    def error() -> float:
        return float(((naive_cosines(model, tokenizer, "mean", pairs=pairs) - pairs["label"] / 5) ** 2).mean())

    first = error()
    hc.recover(model, tokenizer, pairs, task="similarity", max_steps=30, learning_rate=1e-3)
    assert error() < 0.5 * first


def test_other_names_of_columns(tokenizer: Any) -> None:
    renamed = PAIRS.set_axis(["text1", "text2", "score"], axis=1)
    model = jobs.random_model("BertModel")
    assert_same(
        hc.importance(model, tokenizer, renamed, task="similarity")["michel"],
        hc.importance(model, tokenizer, PAIRS, task="similarity")["michel"],
    )


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("similarity,pooling=max", "got pooling='max'; expected one of mean, first, last"),
        ("similarity,poling=mean", "got poling= for similarity, which has pooling= and prompt=; leave it out"),
        ("similarity,mean", "got 'mean' behind the task 'similarity'; expected each option once"),
        ("sst2,pooling=mean", "got pooling= for classification, which has no options of its own"),
    ],
)
def test_options_that_do_not_exist(task: str, message: str) -> None:
    with pytest.raises(InvalidOption) as error:
        find_task(task)
    assert message in str(error.value)


def test_models_and_data_that_do_not_fit(tokenizer: Any) -> None:
    with pytest.raises(ModelUnavailable, match="BertForMaskedLM cannot do similarity: .*head='similarity'"):
        hc.sweep(jobs.random_model("BertForMaskedLM"), tokenizer, PAIRS, task="similarity")
    with pytest.raises(DataProblem, match="got 1 text column for similarity; expected two"):
        task = find_task("similarity", text=("sentence1",))
        hc.sweep(jobs.random_model("BertModel"), tokenizer, PAIRS, task=task)
    with pytest.raises(InvalidOption, match="reads several at once"):
        hc.sweep(jobs.random_model("BertModel"), tokenizer, PAIRS, task="similarity", how="resample")


def test_on_the_command_line_a_head_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Many checkpoints of embedding models name a class with a head."""
    folder, file, small = tmp_path / "model", tmp_path / "pairs.csv", tmp_path / "small"
    hc.save(jobs.random_model("BertForMaskedLM").float(), planted.tokenizer(tmp_path / "words"), folder)
    many = pd.concat([PAIRS] * 4, ignore_index=True)
    many.to_csv(file, index=False)
    asked = ["--task", "similarity", "--data", str(file)]
    study = str(tmp_path / "study")
    assert main(["importance", str(folder), *asked, "--out", study]) == 0
    assert "Note: a text's vector is the mean over its tokens" in " ".join(capsys.readouterr().out.split())
    assert main(["prune", str(folder), *asked, "--keep", "8", "--out", str(small), "--recover", "4"]) == 0
    assert hc.read_anatomy(hc.load(small)[0]).layout.count == 8
    assert type(hc.load(small)[0]).__name__ == "BertModel"
    assert main(["report", study, "-o", str(tmp_path / "page.html")]) == 0
