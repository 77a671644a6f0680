"""Pairs of inputs: which align, and that those of all sources do, with every kind of tokenizer."""

from __future__ import annotations

import json
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.kinds.tokens import IGNORED
from headcount.data.source_notes import notes_of
from headcount.data.synthetic.names import NAMES
from headcount.data.synthetic.pairs import Filled, Pair, align, draw_pairs, fill
from headcount.data.synthetic.single_tokens import single_tokens
from headcount.data.synthetic.source import Synthetic
from headcount.data.tasks import find_task
from headcount.errors import DataProblem
from tests.data.synthetic.tokenizers import KINDS, make

SPECS: dict[str, dict[str, Any]] = {
    "names": {},
    "agreement": {},
    # The small tokenizers of the tests do not know the capitals.
    "few-shot": {"task": ("opposites", "plural", "past-tense")},
}
COMPLETION = find_task("completion")


@cache
def read(name: str, kind: str, seed: int) -> pd.DataFrame:
    return Synthetic(name, **SPECS[name]).read(make(kind), 12, seed)


def ids_and_labels(table: pd.DataFrame, tokenizer: Any) -> list[tuple[list[int], list[int]]]:
    """As a pass of the task sees them, from its own code."""
    rows = encode(read_examples(table, COMPLETION, None), tokenizer, 512).rows
    return [(row["input_ids"], row["labels"]) for row in rows]


@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=12, deadline=None)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_all_sources_align(name: str, kind: str, seed: int) -> None:
    tokenizer, table = make(kind), read(name, kind, seed)
    clean = ids_and_labels(table, tokenizer)
    corrupted = ids_and_labels(table.assign(prompt=table["counterpart"]), tokenizer)
    wrong = ids_and_labels(table.assign(completion=table["wrong"]), tokenizer)
    for row, (ids, labels), (others, _), (wrongs, _) in zip(table.itertuples(), clean, corrupted, wrong, strict=True):
        assert len(ids) == len(others) == len(wrongs)
        (answer,) = [at for at, label in enumerate(labels) if label != IGNORED]
        assert [at for at, pair in enumerate(zip(ids, wrongs, strict=True)) if pair[0] != pair[1]] == [answer]
        spans, other_spans = json.loads(row.spans), json.loads(row.counterpart_spans)
        assert spans == other_spans
        differing = [at for at, pair in enumerate(zip(ids, others, strict=True)) if pair[0] != pair[1]]
        assert differing
        assert {(at, at + 1) for at in differing} <= {tuple(span) for span in spans.values()}
        assert tokenizer.unk_token_id not in [ids[at] for at in (*differing, answer)]
        assert max(stop for _, stop in spans.values()) <= answer


@pytest.mark.parametrize("kind", KINDS)
def test_a_span_decodes_to_its_word(kind: str) -> None:
    tokenizer = make(kind)
    found = [
        *((row, "giver", row.wrong) for row in read("names", kind, 0).itertuples()),
        *((row, "first", _first_name(row)) for row in read("names", kind, 0).itertuples()),
        *(
            (row, "label-1", row.prompt.split(" -> ")[1].split("\n")[0])
            for row in read("few-shot", kind, 0).itertuples()
        ),
    ]
    for row, part, word in found:
        start, stop = json.loads(row.spans)[part]
        decoded = tokenizer.decode(tokenizer(row.prompt + row.completion)["input_ids"][start:stop])
        assert decoded.strip().lower() == word.strip().lower()


def _first_name(row: Any) -> str:
    """The due name comes first in the order ABBA."""
    return str(row.completion if row.order == "ABBA" else row.wrong)


@pytest.mark.parametrize("name", SPECS)
def test_rows_depend_on_the_seed_and_their_number_only(name: str) -> None:
    source = Synthetic(name, **SPECS[name])
    whole = source.read(make("bpe"), 12, 1)
    pd.testing.assert_frame_equal(source.read(make("bpe"), 5, 1), whole.head(5))
    assert whole["prompt"].tolist() != source.read(make("bpe"), 12, 2)["prompt"].tolist()


@pytest.mark.parametrize("name", SPECS)
def test_files_keep_the_columns(name: str, tmp_path: Path) -> None:
    table = read(name, "bpe", 0)
    pd.testing.assert_frame_equal(pd.read_csv(StringIO(table.to_csv(index=False))), table)
    table.to_parquet(tmp_path / "pairs.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "pairs.parquet"), table)


def pair(clean: str, corrupted: str, completion: str = " is", wrong: str = " are", **more: Any) -> Pair:
    template = more.get("template", "The {subject} of the city")
    filled = [fill(template, {"subject": word}) for word in (clean, corrupted)]
    return Pair(filled[0], filled[1], completion, wrong, {})


@pytest.mark.parametrize(
    "refused",
    [
        pair("bridge", "unwrinkled"),  # more than one token
        pair("bridge", "bridge"),  # no difference
        pair("bridge", "Bridge"),  # no difference after lower-casing
        pair("bridge", "tower", " is", " unwrinkled"),
        pair("bridge", "tower", " unwrinkled", " is"),
        pair("bridge", "tower", " is", " is"),
        pair("bridge", "tower", " is", " is not"),
        pair("bridge", "tower", "y", "ies", template="The {subject} of the cit"),  # "city" begins in the input
        pair("bridge", "\u0f04"),  # unknown
        pair("bridge", "towers in the garden"),
        Pair(
            fill("The {subject} of", {"subject": "bridge"}), Filled("A tower of", {"subject": (2, 7)}), " is", " a", {}
        ),
    ],
)
def test_pairs_that_do_not_align(refused: Pair) -> None:
    assert align(make("wordpiece"), refused) is None


def test_a_pair_that_aligns() -> None:
    assert align(make("wordpiece"), pair("bridge", "tower")) == {"subject": (2, 3)}
    one, other = single_tokens(make("unigram-bos"), NAMES)[:2]
    assert align(make("unigram-bos"), pair(one, other, template="{subject} and the")) == {"subject": (1, 2)}


def test_what_does_not_align_is_drawn_again_and_counted() -> None:
    def draw(generator: np.random.Generator, row: int) -> Pair:
        return pair("bridge", "unwrinkled" if generator.random() < 0.5 else "tower")

    table = draw_pairs("bridges", make("wordpiece"), 20, 0, draw)
    assert (table["counterpart"] == "The tower of the city").all()
    tries = [np.random.default_rng([0, row]) for row in range(20)]
    refused = sum(next(count for count in range(20) if each.random() >= 0.5) for each in tries)
    (note,) = notes_of(table.attrs)
    assert note == f"synthetic:bridges drew {refused} pairs again that the tokenizer does not align"


def test_nothing_aligns() -> None:
    with pytest.raises(DataProblem, match="aligns none of 20 pairs of 'synthetic:bridges'"):
        draw_pairs("bridges", make("wordpiece"), 1, 0, lambda generator, row: pair("bridge", "unwrinkled"))
