"""Subject and verb: which form is due, what the distractor and the counterpart are, and which words are left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headcount.data.source_notes import notes_of
from headcount.data.synthetic.agreement import NOUNS, TEMPLATES, VERBS, Agreement
from headcount.errors import DataProblem
from tests import planted
from tests.data.synthetic.tokenizers import make

NUMBER = {form: number for forms in NOUNS for form, number in zip(forms, ("singular", "plural"), strict=True)}
OTHER = {form: other for one, two in NOUNS for form, other in ((one, two), (two, one))}


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_the_verb_agrees_with_the_subject_and_not_with_the_distractor(kind: str) -> None:
    table = Agreement().table(make(kind), 60, seed=0)
    for row in table.itertuples():
        subject, distractor = (word for word in row.prompt.split() if word in NUMBER)
        assert NUMBER[subject] == row.number != NUMBER[distractor]
        singular, plural = (f" {form}" for form in VERBS[row.verb])
        due = (singular, plural) if row.number == "singular" else (plural, singular)
        assert (row.completion, row.wrong) == due
        assert row.counterpart == row.prompt.replace(f" {subject} ", f" {OTHER[subject]} ")
    assert table["number"].value_counts().to_dict() == {"singular": 30, "plural": 30}
    assert table["template"].nunique() == len(TEMPLATES)
    assert set(table["verb"]) == set(VERBS)


def test_options() -> None:
    table = Agreement(number=("plural",), verb=("has",)).table(make("bpe"), 10, seed=0)
    assert set(table["number"]) == {"plural"}
    assert set(table["completion"]) == {" have"}


def test_what_is_left_out_is_noted() -> None:
    tokenizer = make("unigram")
    table = Agreement().table(tokenizer, 30, seed=0)
    drawn = {word for prompt in table["prompt"] for word in prompt.split() if word in NUMBER}
    single = {word for word in NUMBER if len(tokenizer(word)["input_ids"]) == 1}
    kept = [forms for forms in NOUNS if single.issuperset(forms)]
    assert drawn <= {form for forms in kept for form in forms}
    assert 2 <= len(kept) < len(NOUNS)
    assert notes_of(table.attrs)[0] == (
        f"synthetic:agreement leaves out {len(NOUNS) - len(kept)} of {len(NOUNS)} nouns: "
        "not a single token for this tokenizer"
    )


def test_spans() -> None:
    row = Agreement().table(make("wordpiece"), 1, seed=0).iloc[0]
    tokens = make("wordpiece").tokenize(row["prompt"], add_special_tokens=True)
    spans = json.loads(row["spans"])
    assert [tokens[start] for start, _ in spans.values()] == [word for word in row["prompt"].split() if word in NUMBER]


def test_no_nouns(tmp_path: Any) -> None:
    with pytest.raises(DataProblem, match=f"has 0 of {len(NOUNS)} English nouns as single tokens .* needs 2 of them"):
        Agreement().table(planted.tokenizer(tmp_path), 1, 0)
