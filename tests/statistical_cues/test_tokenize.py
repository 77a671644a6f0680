"""Splitting texts: words, white space and pieces, for all texts at once as for each alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.errors import InvalidOption
from headcount.statistical_cues import tokenize
from headcount.statistical_cues.tokenize import check_rule, split_texts
from tests import planted


def listed(texts: list[str], rule: str, **more: object) -> list[list[str]]:
    tokens = split_texts(texts, rule, **more)  # type: ignore[arg-type]
    bounds = zip(tokens.starts, tokens.starts[1:], strict=False)
    return [tokens.names[tokens.codes[start:stop]].tolist() for start, stop in bounds]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It isn't so, is it?", ["it", "isn't", "so", ",", "is", "it", "?"]),
        ("'Quoted' words...", ["'", "quoted", "'", "words", ".", ".", "."]),
        ("dogs' tails (3.5)", ["dogs", "'", "tails", "(", "3", ".", "5", ")"]),
        ("  Ça\u00a0va ,\tÉté\n", ["ça", "va", ",", "été"]),
        ("don\u2019t", ["don\u2019t"]),
        ("", []),
        ("   ", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert listed([text], "words") == [words]


def test_case_is_kept_on_request() -> None:
    assert listed(["It IS"], "whitespace", cased=True) == [["It", "IS"]]
    assert listed(["It IS"], "whitespace") == [["it", "is"]]


@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])), min_size=1, max_size=8))
def test_white_space_as_a_loop(texts: list[str]) -> None:
    assert listed(texts, "whitespace") == [text.lower().split() for text in texts]


@given(st.lists(st.text("aB' .-"), min_size=1, max_size=8))
def test_words_as_a_loop(texts: list[str]) -> None:
    """A word may have apostrophes inside; those at its ends are tokens."""
    one_by_one = [re.findall(r"[ab]+(?:'+[ab]+)*|'+|[.-]", text.lower()) for text in texts]
    assert listed(texts, "words") == one_by_one


def test_chunks_share_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a b", "c a", "", "b b", "d"]
    whole = listed(texts, "words")
    monkeypatch.setattr(tokenize, "CHUNK", 2)
    assert listed(texts, "words") == whole
    names = split_texts(texts, "words").names.tolist()
    assert len(names) == len(set(names))


def test_pieces_are_those_of_the_tokenizer(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path / "words")
    assert listed(["Good it", "", "so strange"], "pieces", tokenizer=tokenizer) == [
        ["good", "it"],
        [],
        ["so", "[UNK]"],
    ]


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="tokens='letters'; expected one of words, whitespace, pieces"):
        check_rule("letters", False, None)
    with pytest.raises(InvalidOption, match="needs a tokenizer"):
        check_rule("pieces", False, None)
    with pytest.raises(InvalidOption, match="cased="):
        check_rule("pieces", True, planted.tokenizer(tmp_path / "words"))
