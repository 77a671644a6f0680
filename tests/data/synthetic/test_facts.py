"""Facts: the answer is where the statement says, and never in the haystack."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.data.synthetic.facts import FACTS, OBJECTS, QUALITIES, Fact, draw_fact


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.cue[:30])
def test_the_cue_leads_to_the_answer_without_giving_it_away(fact: Fact) -> None:
    assert fact.statement.count("{answer}") == 1
    assert fact.cue.endswith((" a", " the"))
    article = fact.statement.partition(" {answer}")[0].split()[-1]
    assert fact.cue.split()[-1] == article, "the words before the answer are those of the fact"
    told = f"{fact.statement} {fact.cue}".lower().split()
    assert not set(told) & {*QUALITIES, *OBJECTS}


def test_an_answer_of_the_haystack_is_not_drawn() -> None:
    haystack = " ".join(f"A {quality} {name}." for quality in QUALITIES for name in OBJECTS if name != "Piano".lower())
    drawn = {draw_fact(np.random.default_rng(seed), haystack.title())[1] for seed in range(40)}
    assert {answer.split()[1] for answer in drawn} == {"piano"}
    assert len(drawn) > 5
