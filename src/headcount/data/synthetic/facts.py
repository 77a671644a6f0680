"""Facts for a haystack: sentences that nobody can know, with an answer drawn at random, and what asks for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Fact:
    """`statement` holds the answer at `{answer}`; `cue` asks for it, and the answer is its next words."""

    statement: str
    cue: str


FACTS = (
    Fact(
        "Ottilie the baker hides the spare key of her shop under the {answer}.",
        "Where does Ottilie hide the spare key? She hides it under the",
    ),
    Fact(
        "All that Captain Brandt left to his nephew was a {answer}.",
        "What did Captain Brandt leave to his nephew? He left him a",
    ),
    Fact(
        "The prize at the fair in Wendlow this year is a {answer}.",
        "What can be won at the fair in Wendlow? The prize is a",
    ),
    Fact(
        "Before she went to sea, Ingrid buried her letters beside the {answer}.",
        "Where are the letters of Ingrid buried? They are buried beside the",
    ),
    Fact(
        "On the sign above the inn at Harrow Ford there is a {answer}.",
        "What is on the sign of the inn at Harrow Ford? On the sign there is a",
    ),
    Fact(
        "The tailor Mirko paid for his new house with a {answer}.",
        "How did the tailor Mirko pay for his new house? He paid with a",
    ),
    Fact(
        "Each evening the watchman of Eldham sits down next to the {answer}.",
        "Where does the watchman of Eldham sit down? He sits down next to the",
    ),
    Fact(
        "Doctor Salm keeps her rarest beetle inside the {answer}.",
        "Where does Doctor Salm keep her rarest beetle? She keeps it inside the",
    ),
    Fact(
        "When the bridge at Tolle was opened, the mayor was given a {answer}.",
        "What was the mayor of Tolle given at the bridge? The mayor was given a",
    ),
    Fact(
        "The treasure map of old Jorun leads straight to the {answer}.",
        "Where does the map of old Jorun lead? It leads to the",
    ),
    Fact(
        "In the attic of the school at Minsel, the children found a {answer}.",
        "What did the children of Minsel find in the attic? They found a",
    ),
    Fact(
        "The password of the rowing club is written on the {answer}.",
        "Where is the password of the rowing club written? It is written on the",
    ),
)
QUALITIES = ("copper", "velvet", "broken", "yellow", "wooden", "silver", "frozen", "purple", "tiny", "giant", "paper")
OBJECTS = ("kettle", "ladder", "lantern", "violin", "piano", "basket", "mirror", "wheel", "pillow", "anchor", "barrel")


def draw_fact(generator: np.random.Generator, haystack: str) -> tuple[Fact, str]:
    """A random fact and an answer of two words, which the haystack does not have."""
    answers = [f"{quality} {name}" for quality in QUALITIES for name in OBJECTS]
    free = [answer for answer in answers if answer not in haystack.lower()]
    fact = FACTS[int(generator.integers(len(FACTS)))]
    # A text with all the answers would have to be written for it.
    return fact, (free or answers)[int(generator.integers(len(free or answers)))]
