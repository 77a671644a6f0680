"""Sweeps over pairs: equal to a loop over `ablated`, exact on planted pairs, and what they refuse."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.ablation.choices import choose_head_sets
from headcount.core.claims import KINDS, REDUNDANT, SYNERGISTIC
from headcount.core.heads import Layout
from headcount.errors import HeadcountError, InvalidOption, UnknownHead
from tests import planted, planted_pairs
from tests.closeness import ROUNDED, assert_same
from tests.contracts.zoo import exact
from tests.planted_pairs import FIRST, SECOND
from tests.pruning import jobs

TEXTS = planted.texts()
PAIR = f"{FIRST} + {SECOND}"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def backups(tokenizer: Any) -> xr.Dataset:
    return hc.sweep(planted_pairs.backups(), tokenizer, TEXTS, task="sst2", by=hc.Pairs("all"))


@pytest.fixture(scope="module")
def chain(tokenizer: Any) -> xr.Dataset:
    return hc.sweep(planted_pairs.chain(), tokenizer, TEXTS, task="sst2", by=hc.Pairs("all"))


def test_heads_that_back_each_other_up(backups: xr.Dataset) -> None:
    """Each alone changes nothing; without both, half of the answers are right by chance."""
    assert float(backups["baseline"]) == 1
    assert np.nanmax(np.abs(backups["single"])) == 0
    found = backups.sel(head_pair=PAIR)
    assert [float(found[name]) for name in ("joint", "interaction", "kind")] == [-0.5, -0.5, REDUNDANT]
    assert float(found["q"]) < 1e-6
    assert -0.6 < float(found["low"]) < -0.5 < float(found["high"]) < -0.4
    assert backups["strongest"].values == PAIR
    assert float(backups["strongest_honest"]) == pytest.approx(0.5, abs=0.01)
    others = backups.drop_sel(head_pair=PAIR)
    assert np.abs(others["interaction"]).max() == 0
    assert (others["p"] == 1).all()
    assert (others["high"] > 0).all(), "no change in 120 examples does not prove that there is none"


def test_the_loss_has_the_other_sign_and_the_same_kind(tokenizer: Any, backups: xr.Dataset) -> None:
    loss = hc.sweep(planted_pairs.backups(), tokenizer, TEXTS, task="sst2", by=hc.Pairs("all"), metric="loss")
    found = loss.sel(head_pair=PAIR)
    assert float(found["interaction"]) > 0.5
    assert float(found["kind"]) == REDUNDANT
    for name in ("interaction", "low", "high", "p"):
        theirs = "loss_interaction" if name == "interaction" else f"loss_{name}"
        np.testing.assert_allclose(loss[name], backups[theirs], atol=1e-12)


def test_heads_that_need_each_other(chain: xr.Dataset) -> None:
    """Each alone loses everything, and so do both: half of the sum."""
    found = chain.sel(head_pair=PAIR)
    names = ("first_effect", "second_effect", "joint", "interaction", "kind")
    assert [float(found[name]) for name in names] == [-0.5, -0.5, -0.5, 0.5, SYNERGISTIC]
    assert float(found["loss_interaction"]) < -0.4
    assert KINDS[SYNERGISTIC] == "synergistic"
    others = chain.drop_sel(head_pair=PAIR)
    assert np.abs(others["interaction"]).max() == 0, "what the other heads do adds nothing"


@pytest.mark.parametrize("how", ["zero", "uniform", "mean"])
def test_an_encoder_equals_a_loop_over_ablated(tokenizer: Any, how: str) -> None:
    model, data = jobs.random_model(), TEXTS.head(12)
    reference = TEXTS.tail(20) if how == "mean" else None
    result = hc.sweep(
        model,
        tokenizer,
        data,
        task="sst2",
        by=hc.Pairs("L0H1-2, L1H0, L2H3, L2H1"),
        how=how,
        reference=reference,
        compute=hc.Compute(batch_tokens=40),
    )
    means = None
    if how == "mean":
        means = hc.mean_outputs(
            model, [dict(tokenizer(text, return_tensors="pt")) for text in TEXTS.tail(20)["sentence"]]
        )
    assert result.sizes["head_pair"] == 10

    def logits(*left_out: str) -> np.ndarray:
        context = hc.ablated(model, left_out, how=how, reference=means) if left_out else nullcontext()
        with torch.no_grad(), context:
            rows = [model(**tokenizer(text, return_tensors="pt")).logits for text in data["sentence"]]
        return torch.cat(rows).numpy()

    def loss(found: np.ndarray) -> float:
        chosen = np.take_along_axis(found, data["label"].to_numpy()[:, None], 1)[:, 0]
        return float((np.log(np.exp(found).sum(1)) - chosen).mean())

    whole = logits()
    for row in range(10):
        pair = result.isel(head_pair=row)
        first, second = (str(pair[name].values) for name in ("first", "second"))
        both = logits(first, second)
        assert_same(result["logits"].sel(set=f"{first} + {second}"), both, ROUNDED)
        expected = loss(both) - loss(logits(first)) - loss(logits(second)) + loss(whole)
        assert float(pair["loss_interaction"]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "among"),
    [
        ("llama", "L0H0, L0H3, L1H2, L2H1"),
        ("t5", "encoder.L0H1, encoder.L2H0, decoder.L0H2, decoder.L1H0, cross.L0H2, cross.L1H3, cross.L2H1"),
        ("marian", "encoder.L1H1, decoder.L0H2, decoder.L2H3, cross.L0H0, cross.L2H3"),
    ],
)
def test_decoders_equal_a_loop_over_ablated(tokenizer: Any, name: str, among: str) -> None:
    """A decoder with key/value groups, and encoder-decoders, whose pairs lie in all stacks."""
    if name == "llama":
        model, (_, data, task) = exact("llama", head="AutoModelForCausalLM"), jobs.make("gpt2")
        groups = model.config.num_attention_heads // model.config.num_key_value_heads
        assert groups > 1
    else:
        model, data, task = jobs.make(name)
    result = hc.sweep(model, tokenizer, data, task=task, by=hc.Pairs(among), metric="loss")
    layout = hc.read_anatomy(model).layout
    heads = list(hc.HeadSet.of(among, layout))
    assert result.sizes["head_pair"] == len(heads) * (len(heads) - 1) // 2
    job = jobs.job_of(model, data, task, tokenizer)

    def losses(*left_out: Any) -> np.ndarray:
        rows = []
        with torch.no_grad(), hc.ablated(model, left_out) if left_out else nullcontext():
            for row in range(len(job.encodings.rows)):
                batch = jobs.alone(job, row)
                shifted = batch["labels"] if name != "llama" else batch["labels"][:, 1:]
                rows.append(float(model(**batch).loss) * int((shifted != -100).sum()))
        return np.array(rows)

    tokens = result["baseline_tokens"].values
    whole = losses()
    assert_same(result["baseline_loss"], whole, ROUNDED)
    for first, second in combinations(heads, 2):
        spelled = {f"{layout.spell(a)} + {layout.spell(b)}" for a, b in ((first, second), (second, first))}
        (pair,) = spelled & set(result["head_pair"].values)
        both = losses(first, second)
        assert_same(result["loss"].sel(set=pair), both, ROUNDED, pair)
        expected = (both - losses(first) - losses(second) + whole).sum() / tokens.sum()
        assert float(result["interaction"].sel(head_pair=pair)) == pytest.approx(expected, abs=1e-6)


def test_scores_that_are_no_means(tokenizer: Any) -> None:
    """The interaction of a correlation is that of the scores; its evidence comes from pseudo-values."""
    model, data, task = jobs.make("regression")
    result = hc.sweep(model, tokenizer, data, task=task, by=hc.Pairs("L0"), metric="pearson")
    assert result.attrs["test"] == "jackknife-t"
    scores = {str(name): float(score) for name, score in zip(result["head_pair"].values, result["score"], strict=True)}
    labels = data["label"].to_numpy()

    def score(name: str) -> float:
        return float(np.corrcoef(result["logits"].sel(set=name).values[:, 0].astype(float), labels)[0, 1])

    baseline = float(np.corrcoef(result["baseline_logits"].values[:, 0].astype(float), labels)[0, 1])
    for pair, both in scores.items():
        first, second = pair.split(" + ")
        assert both == pytest.approx(score(pair))
        found = result.sel(head_pair=pair)
        assert float(found["interaction"]) == pytest.approx(both - score(first) - score(second) + baseline)
        assert float(found["low"]) < float(found["interaction"]) < float(found["high"])


def test_a_users_own_metric(tokenizer: Any, backups: xr.Dataset) -> None:
    def share_right(predictions: Any, labels: Any) -> float:
        return float(np.mean(np.asarray(predictions) == np.asarray(labels)))

    result = hc.sweep(
        planted_pairs.backups(),
        tokenizer,
        TEXTS.head(40),
        task="sst2",
        by=hc.Pairs([FIRST, SECOND]),
        metric=share_right,
    )
    assert float(result["interaction"][0]) == -0.5
    assert float(result["q"][0]) < 0.05
    assert float(result["kind"][0]) == REDUNDANT


def test_ranked_heads_count_all_pairs(tokenizer: Any, backups: xr.Dataset) -> None:
    """Those that were not run count as tests: no q is smaller than that of all pairs."""
    model = planted_pairs.backups()
    ranked = hc.screen(model, tokenizer, TEXTS, task="sst2", top=3, control=0)
    result = hc.sweep(model, tokenizer, TEXTS, task="sst2", by=hc.Pairs(ranked))
    assert result.attrs["pairs"] == {"run": 3, "tests": 6}
    assert result.attrs["ranked"] == {"estimate": "importance", "top": 3, "of": 4}
    for pair in result["head_pair"].values:
        assert float(result["q"].sel(head_pair=pair)) >= float(backups["q"].sel(head_pair=pair)) - 1e-12
        np.testing.assert_allclose(
            result["interaction"].sel(head_pair=pair), backups["interaction"].sel(head_pair=pair)
        )
    assert int(np.isfinite(result["single"]).sum()) == 3
    assert int(result["present_encoder"].sum()) == 4, "all heads of the model are known"


def test_pairs_come_in_the_order_of_a_pass() -> None:
    layout = Layout.even({"encoder": (2, 2), "decoder": (2, 2), "cross": (2, 2)})
    choices = choose_head_sets(layout, hc.Pairs("decoder.L1H0, cross.L0H1, encoder.L1H1"))
    assert choices.names() == [
        "encoder.L1H1",
        "cross.L0H1",
        "decoder.L1H0",
        "encoder.L1H1 + cross.L0H1",
        "encoder.L1H1 + decoder.L1H0",
        "cross.L0H1 + decoder.L1H0",
    ]
    assert choices.paired is not None
    assert choices.paired.numbers == ((3, 0, 1), (4, 0, 2), (5, 1, 2))


@pytest.mark.parametrize(
    ("by", "options", "error", "words"),
    [
        (hc.Pairs("L0H1"), {}, InvalidOption, "one head, L0H1, in among=; expected at least two"),
        (hc.Pairs(""), {}, InvalidOption, "no head, in among="),
        (hc.Pairs("L0, L9"), {}, UnknownHead, "L9"),
        (hc.Pairs(20), {}, InvalidOption, "got among=20; expected heads"),
        (hc.Pairs("L0"), {"stop_when": 0.1}, InvalidOption, "stop_when= for pairs"),
        ("pair", {}, InvalidOption, r"Pairs\(among\)"),
    ],
)
def test_what_is_refused(tokenizer: Any, by: Any, options: Any, error: type[HeadcountError], words: str) -> None:
    with pytest.raises(error, match=words):
        hc.sweep(planted.classifier(), tokenizer, TEXTS.head(10), task="sst2", by=by, **options)


def test_a_perplexity_is_refused(tokenizer: Any) -> None:
    model, data, task = jobs.make("gpt2")
    with pytest.raises(InvalidOption, match="multiply in a perplexity; give metric='loss'"):
        hc.sweep(model, tokenizer, data, task=task, by=hc.Pairs("L0"), metric="perplexity")


def test_the_table_names_the_heads(tokenizer: Any, tmp_path: Path) -> None:
    model = planted_pairs.backups()
    hc.sweep(model, tokenizer, TEXTS, task="sst2", by=hc.Pairs("all"), out=tmp_path / "study")
    rows = hc.table(tmp_path / "study")
    row = rows[rows["kind"] == "redundant"].iloc[0]
    assert (row["result"], row["first"], row["second"]) == ("sweep/pair-zero", FIRST, SECOND)
    assert (row["interaction"], row["joint"]) == (-0.5, -0.5)
    assert len(rows) == 6
