"""Sentences on cues say what their intervals allow."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import headcount as hc
from headcount.story.cues import (
    CHOICE_COLUMNS,
    LABEL_COLUMNS,
    balance_sentences,
    cue_heading,
    cue_rows,
    cue_sentences,
)
from tests import planted
from tests.statistical_cues.planted import choices, sentences

BOTH = ["first", "second"]


def test_a_cue_that_is_there() -> None:
    found = hc.cues(choices(400, 200, 170), choices=BOTH)
    heading, lines = cue_heading(found), cue_sentences(found)
    assert "exactly one of 2 choices" in heading
    assert "in lower case" in heading
    assert "in at least 10" in heading
    assert "a productivity that differs significantly from chance" in lines[0]
    assert not lines[0].startswith("None")
    assert 'One cue alone: "not" (take the choice with it)' in lines[1]
    assert "more than the 50.0 % of guessing" in lines[1]
    assert "a floor that a model must beat" in lines[2]
    rows = cue_rows(found, 5)
    assert len(rows[0]) == len(CHOICE_COLUMNS)
    assert rows[0][0] == "not"


def test_nothing_is_claimed_of_balanced_data() -> None:
    table = choices()
    twins = pd.concat([table, table.assign(label=1 - table["label"])], ignore_index=True)
    lines = cue_sentences(hc.cues(twins, choices=BOTH))
    assert lines[0].startswith("None of ")
    assert "not shown to differ from the 50.0 % of guessing" in lines[1]
    assert "not shown to be above guessing" in lines[2]


def test_labels_and_a_model(tmp_path: Path) -> None:
    found = hc.cues(
        planted.texts(120), task="sst2", model=planted.classifier(), tokenizer=planted.tokenizer(tmp_path / "words")
    )
    lines = " ".join(cue_sentences(found))
    assert "BertForSequenceClassification gets 70.0 % [" in lines
    assert "Where the cue-only classifier is right" in lines
    assert len(cue_rows(found, 3)[0]) == len(LABEL_COLUMNS)
    plain = hc.cues(sentences(), task="sst2", classifier=False, top=2)
    assert "the 2 strongest of" in cue_sentences(plain)[0]
    assert len(cue_sentences(plain)) == 2


def test_balance() -> None:
    even = balance_sentences({"cues": 12, "off_chance": 0, "largest": 0.0, "first": 0.5}, 2)
    assert even[0] == "All 12 words and bigrams are at chance: a productivity of exactly 1/2."
    odd = balance_sentences({"cues": 12, "off_chance": 3, "largest": 0.25, "first": 0.5}, 2)
    assert "3 of 12 words and bigrams are not at chance" in odd[0]
    assert "up to 0.25" in odd[0]
