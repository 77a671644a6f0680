"""The sentences say what the numbers say."""

from __future__ import annotations

from pathlib import Path

import headcount as hc
from headcount.story.sweeps import sweep_sentences, uncertainty_sentences
from tests import planted


def test_sentences(tmp_path: Path) -> None:
    result = hc.sweep(planted.classifier(), planted.tokenizer(tmp_path), planted.texts(), task="sst2", how="zero")
    sentences = sweep_sentences(result)
    assert sentences[0].startswith("Baseline accuracy 0.70 [")
    assert sentences[1] == (
        "2 heads have a significant effect on accuracy (q < 0.05, 4 heads tested): "
        "worse without 1 of them, better without 1."
    )
    assert sentences[2].startswith("2 heads have a significant effect on the mean loss (q < 0.05, 4 heads tested)")
    assert sentences[2].endswith("2 heads shift the losses in one direction (signed ranks, q < 0.05).")
    assert "The best head to ablate is L0H1: +0.30" in sentences[-1]
    assert "in 95 % of the splits)" in sentences[-1], (
        "what an interval is, is said where it is no interval of confidence"
    )


def test_no_effect_is_said_as_such(tmp_path: Path) -> None:
    few = planted.texts(10)
    found = hc.sweep(planted.classifier(), planted.tokenizer(tmp_path), few, task="sst2", how="zero", metric="loss")
    sentences = sweep_sentences(found)
    assert sentences[1] == "No head has a significant effect on loss (q < 0.05, 4 heads tested)."
    assert not any("mean loss" in one for one in sentences), "the loss stands beside other metrics, not beside itself"


def screened(tmp_path: Path, top: int, control: int, texts: int = 120) -> list[str]:
    model, tokenizer, data = planted.classifier(), planted.tokenizer(tmp_path), planted.texts(texts)
    chosen = hc.screen(model, tokenizer, data, task="sst2", top=top, control=control)
    return sweep_sentences(hc.sweep(model, tokenizer, data, task="sst2", by=chosen))


def test_what_screening_may_have_missed(tmp_path: Path) -> None:
    sentences = screened(tmp_path, 2, 1)
    assert sentences[1].startswith("2 heads have a significant effect on accuracy (q < 0.05, 3 heads tested of 4)")
    assert sentences[-2] == (
        "2 of 4 heads were run because they rank highest by importance, and 1 other, drawn at random, as a control."
    )
    assert sentences[-1] == (
        "None of the 1 changes accuracy by more than 0.3, the smallest significant effect of the 2; at most 1 of the 1 "
        "heads that were not run do (95 % confidence)."
    )
    assert not any("a random head" in one for one in sentences)


def test_screening_that_missed_a_head(tmp_path: Path) -> None:
    found = screened(tmp_path, 1, 3)
    assert found[-1].startswith("1 of the 3 changes accuracy by more than 0.3")
    assert found[-1].endswith("; no head is left that was not run.")


def test_screening_without_a_control(tmp_path: Path) -> None:
    assert screened(tmp_path, 3, 0, 20)[-1] == (
        "3 of 4 heads were run because they rank highest by importance; nothing is known about the other 1, since "
        "there was no control."
    )


def test_what_a_race_has_decided(tmp_path: Path) -> None:
    model, tokenizer, texts = planted.classifier(), planted.tokenizer(tmp_path), planted.texts(300)
    raced = hc.sweep(model, tokenizer, texts, task="sst2", stop_when=0.15)
    sentences = sweep_sentences(raced)
    assert sentences[1] == (
        "Does accuracy on all 300 examples change by more than 0.15 without a head? Of 4 heads, 1 lower it by more, 1 "
        "raise it by more, and 2 stay within."
    )
    assert sentences[2] == "For each head the chance of a wrong decision is at most 5 %."
    saved = 100 * float(raced["passes_saved"])
    assert sentences[3].startswith(f"The race saved {saved:.0f} % of the passes of a full sweep: half of the heads")
    assert uncertainty_sentences(raced) == []
