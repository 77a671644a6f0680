from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

from headcount.errors import InvalidOption
from headcount.measures.measure import measure
from tests.measures import naive
from tests.measures.cases import UNIFORM, Texts, at, others, sentence, table
from tests.measures.planted import ROLES

NEIGHBOURS = [
    "The:DET:2:det dog:NOUN:3:nsubj ran:VERB:0:root quickly:ADV:3:advmod .:PUNCT:3:punct",
    "A:DET:3:det small:ADJ:3:amod child:NOUN:4:nsubj slept:VERB:0:root",
    "This:DET:3:det old:ADJ:3:amod man:NOUN:4:nsubj gave:VERB:0:root her:PRON:4:obj to:ADP:7:case him:PRON:4:obl",
]
"""The one noun of each is the subject, and its verb stands right after it."""


@pytest.mark.parametrize("name", ["bundled_sentences", "planted_sentences"])
def test_is_the_formula(name: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(name).compare("links", naive.links)
    assert tuple(found.link.values) == naive.LINKS
    known = found.values_gain.notnull().any(["example", "stack", "layer", "head"]).values
    assert known.all() if name == "bundled_sentences" else known.tolist() == [True, True, False, False]


@pytest.fixture(scope="module")
def texts_of_neighbours(planted_model: Any) -> Texts:
    sentences = [sentence(one) for one in NEIGHBOURS]
    return Texts(*planted_model, table(sentences), sentences)


@pytest.fixture(scope="module")
def found(texts_of_neighbours: Texts) -> xr.Dataset:
    return texts_of_neighbours.measured("links")["links"].to_dataset()


@pytest.mark.parametrize(("role", "link"), [("previous", "verb to subject"), ("next", "subject to verb")])
def test_a_positional_head_follows_the_link_and_all_others_that_are_so_far(
    found: xr.Dataset, role: str, link: str
) -> None:
    """This is what the control is for."""
    values = found.sel(link=link)
    assert at(values.attention, ROLES[role]) > 0.999
    assert at(values.control, ROLES[role]) > 0.999
    assert at(values.gain, ROLES[role]) == pytest.approx(0, abs=1e-3)


def test_a_head_that_knows_the_subject_gains(found: xr.Dataset) -> None:
    values = found.sel(link="verb to subject")
    assert at(values.attention, ROLES["noun"]) > 0.999
    assert at(values.control, ROLES["noun"]) < 0.001
    assert at(values.gain, ROLES["noun"]) > 0.998
    assert others(np.abs(values.gain), ROLES["noun"]).max() < 0.05
    assert at(found.attention.sel(link="subject to verb"), ROLES["noun"]) < 1e-3


def test_uniform_heads_gain_nothing(found: xr.Dataset, texts_of_neighbours: Texts) -> None:
    for row in range(len(NEIGHBOURS)):
        length = len(texts_of_neighbours.seen(row))
        for place in UNIFORM:
            for link in naive.LINKS[:2]:
                values = found.sel(example=row, link=link)
                assert at(values.values_attention, place) == pytest.approx(1 / length, abs=1e-6)
                assert at(values.values_gain, place) == pytest.approx(0, abs=1e-6)


def test_uniform_heads_gain_nothing_where_the_target_has_two_pieces(planted_model: Any) -> None:
    trees = [sentence("Dogs:NOUN:2:nsubj ran:VERB:0:root near:ADP:5:case the:DET:5:det river:NOUN:2:obl")]
    found = measure(*planted_model, table(trees), only="links")["links"]
    assert at(found.gain.sel(link="verb to subject"), ROLES["uniform"]) == pytest.approx(0, abs=1e-6)


def test_texts_without_links_have_no_values(planted_model: Any) -> None:
    trees = [sentence("The:DET:2:det dog:NOUN:0:root"), sentence("Some:DET:2:det cat:NOUN:0:root .:PUNCT:2:punct")]
    found = measure(*planted_model, table(trees), only="links")["links"]
    assert found.attention.isnull().all()


def test_texts_must_be_annotated(planted_texts: Texts) -> None:
    with pytest.raises(InvalidOption, match="not annotated"):
        planted_texts.measured("links")
