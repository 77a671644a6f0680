"""Which heads stand out, on results made by hand whose answers are known."""

from __future__ import annotations

import numpy as np

from headcount.core.schema import Schema
from headcount.story.heads import standing_out, standing_out_sentences, strongest
from tests.story.trees import NAN, ONE, TWO, dataset


def test_the_strongest_head() -> None:
    one = dataset(x=ONE)
    assert strongest(one, "x", {})[::2] == ("L1H0", "0.70 [0.60, 0.90]")
    assert strongest(one, "x", {}, smallest=True)[::2] == ("L1H1", "-0.30 [-0.40, -0.10]")


def test_the_strongest_head_of_several_stacks() -> None:
    two = dataset("encoder cross", x=TWO)
    assert strongest(two, "x", {})[::2] == ("cross.L0H1", "0.90 [0.80, 1.10]")
    assert strongest(two, "x", {}, smallest=True)[::2] == ("encoder.L0H0", "0.10 [0.00, 0.30]")
    negative = dataset("encoder cross", x=-np.array(TWO))
    assert strongest(negative, "x", {})[::2] == ("encoder.L0H0", "-0.10 [-0.20, 0.10]")
    assert strongest(negative, "x", {}, smallest=True)[0] == "cross.L0H1"


def test_the_strongest_head_along_a_choice() -> None:
    link = ["verb to subject", "pronoun to noun"]
    both = dataset(extra={"link": link}, gain=[[[[0.1, 0.8], [0.6, 0.2]]]])
    assert strongest(both, "gain", {"link": link[0]})[::2] == ("L0H1", "0.60 [0.50, 0.80]")
    assert strongest(both, "gain", {"link": link[1]})[::2] == ("L0H0", "0.80 [0.70, 1.00]")


def test_the_order_of_the_dimensions_does_not_matter() -> None:
    turned = dataset("encoder cross", x=TWO).transpose("head", "layer", "stack")
    assert strongest(turned, "x", {})[0] == "cross.L0H1"


def test_heads_that_are_numbered_from_0_in_a_chosen_stack() -> None:
    two = dataset("encoder cross", x=TWO)
    assert strongest(two.sel(stack=["cross"]), "x", {})[0] == "L0H1"


def test_standing_out() -> None:
    link = ["verb to subject", "pronoun to noun"]
    results = {
        "links": dataset(extra={"link": link}, gain=[[[[0.3, NAN], [0.1, NAN]]]]),
        "position": dataset(previous=[[[0.2, 0.9, 0.4]]], next=[[[NAN, NAN, NAN]]]),
        "entropy": dataset(entropy=[[[1.0, 3.0, NAN]]]),
        "nonsense": dataset(previous=[[[1.0]]]),
    }
    assert standing_out(results) == [
        ("follows verb to subject (over its offset)", "L0H0", "0.30 [0.20, 0.50]", "0.200"),
        ("looks most at the previous token", "L0H1", "0.90 [0.80, 1.10]", "0.400"),
        ("is broadest (entropy in nats)", "L0H1", "3.00 [2.90, 3.20]", "2.000"),
    ]
    assert standing_out({}) == []


def test_nobody_is_the_most_at_what_no_head_does() -> None:
    """In a causal model no head looks at the next token."""
    rows = standing_out({"position": dataset(previous=ONE, next=np.zeros((1, 3, 2)))})
    assert ("looks most at the next token", "no head", "", "0.000") in rows
    assert rows[0][:2] == ("looks most at the previous token", "L1H0")


def test_a_sentence_for_each_measure() -> None:
    results = {
        "position": dataset("encoder cross", previous=TWO, next=np.zeros((2, 2, 2))),
        "entropy": dataset("encoder cross", entropy=TWO),
    }
    assert standing_out_sentences(results, stacked=True) == [
        "cross.L0H1 looks most at the previous token: 0.90 [0.80, 1.10].",
        "cross.L0H1 is broadest (entropy in nats): 0.90 [0.80, 1.10].",
    ]
    one = {"position": dataset(previous=ONE, next=ONE)}
    (line,) = standing_out_sentences(one, stacked=False)
    assert line.startswith("L1H0 looks most at the previous token: ")
    assert "; L1H0 looks most at the next token: " in line


def test_nobody_is_the_most_at_what_is_printed_as_zero() -> None:
    tiny = {"position": dataset(previous=np.array(ONE) * 1e-5)}
    assert standing_out_sentences(tiny, stacked=False) == []
    assert [head for _, head, _, _ in standing_out(tiny)] == ["no head"]


def test_what_an_array_says_of_itself_counts() -> None:
    """A variable that nobody knows by name."""
    mine = dataset(mine=ONE)
    assert standing_out({"new": mine}) == []
    mine["mine"].attrs = Schema("Mine", most="is mine").attributes()
    assert standing_out({"new": mine}) == [("is mine", "L1H0", "0.70 [0.60, 0.90]", "0.200")]


def test_a_choice_that_the_result_does_not_have() -> None:
    one = dataset(extra={"link": ["verb to subject"]}, gain=[[[[0.3], [0.1]]]])
    assert [row[0] for row in standing_out({"links": one})] == ["follows verb to subject (over its offset)"]
