"""A real spaCy pipeline, trained here on a few sentences, gives classes and links to plain texts."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import headcount as hc
from headcount.data.annotations import word_classes, word_links
from headcount.data.parse import parse_texts
from headcount.errors import ModelUnavailable

SENTENCES = [
    ("Dogs chase cats", ["NOUN", "VERB", "NOUN"], [1, 1, 1], ["nsubj", "ROOT", "dobj"]),
    ("Cats chase dogs", ["NOUN", "VERB", "NOUN"], [1, 1, 1], ["nsubj", "ROOT", "dobj"]),
    ("She sleeps", ["PRON", "VERB"], [1, 1], ["nsubj", "ROOT"]),
    ("She chase dogs", ["PRON", "VERB", "NOUN"], [1, 1, 1], ["nsubj", "ROOT", "dobj"]),
]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spacy: Any = pytest.importorskip("spacy")
        from spacy.training import Example

        parser = spacy.blank("en")
        parser.add_pipe("morphologizer")
        parser.add_pipe("parser", config={"min_action_freq": 1})
        examples = [
            Example.from_dict(parser.make_doc(text), {"pos": tags, "heads": heads, "deps": relations})
            for text, tags, heads, relations in SENTENCES
        ]
        optimizer = parser.initialize(lambda: examples)
        for _ in range(30):
            parser.update(examples, sgd=optimizer)
        folder = tmp_path_factory.mktemp("spacy") / "pipeline"
        parser.to_disk(folder)
    return str(folder)


@pytest.mark.filterwarnings("ignore")
def test_plain_texts_get_classes_and_links(pipeline: str) -> None:
    first, second, spaced = parse_texts(["Dogs chase cats", "She sleeps", "Dogs chase  cats"], pipeline)
    assert first.words == spaced.words == ("Dogs", "chase", "cats")
    assert word_classes(first)["object"] == (2,)
    assert word_classes(second)["pronoun"] == (0,)
    assert word_links(first)["verb-subject"] == ((1, 0),)


@pytest.mark.filterwarnings("ignore")
def test_measures_of_plain_texts(pipeline: str) -> None:
    model, tokenizer = hc.load(hc.bundled("pretrained"))
    data = pd.DataFrame({"text": ["Dogs chase cats", "Cats chase dogs"]})
    found = hc.measure(model.float(), tokenizer, data, only="links", spacy=pipeline)
    assert found["links"]["attention"].sel(link="verb to subject").notnull().all()


@pytest.mark.filterwarnings("ignore")
def test_measures_of_pairs(pipeline: str) -> None:
    model, tokenizer = hc.load(hc.bundled("qnli"))
    data = pd.DataFrame({"sentence1": ["Dogs chase cats", "Cats"], "sentence2": ["Cats", "Cats chase dogs"]})
    found = hc.measure(model.float(), tokenizer, data, only="links", spacy=pipeline)
    # Each pair has one verb and its subject, in the first or in the second text.
    assert found["links"]["values_attention"].sel(link="verb to subject").notnull().all()


@pytest.mark.filterwarnings("ignore")
def test_bad_input(pipeline: str, tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    with pytest.raises(ModelUnavailable, match="no spaCy pipeline"):
        parse_texts(["A text"], str(tmp_path / "nothing"))
    assert [one.words for one in parse_texts(["Dogs chase cats", " "], pipeline)][1] == ()
