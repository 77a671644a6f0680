"""Names in the results of probing: one home for those who compute them and those who put them into words."""

from __future__ import annotations

ALL = "all"
"""All relations together."""
WITHOUT_TOKEN, SHARING_TOKEN = "without a token", "sharing a token"
NOT_SPELLED = "in a text that its tokens do not spell"
TOKENIZER_LOST = (WITHOUT_TOKEN, SHARING_TOKEN, NOT_SPELLED)
"""How a tokenizer loses words; other annotations are lost for reasons of their kind."""
DISTANCE, ATTENTION, BOTH = "distance and words", "attention", "attention and words"
"""Classifiers by what they read."""
RIGHT_BRANCHING = "right-branching"
RANDOM = ", random weights"
"""After the name of a classifier that reads the attention of random weights."""
MOST_WORDS = 60
"""Of a sentence that classifiers read: the attention between words grows with their square."""


def causal_stacks(stacks: list[str]) -> bool:
    """Whether the words of a model with these stacks see only those before them; of two, only the encoder is probed.

    >>> causal_stacks(["decoder"]), causal_stacks(["encoder", "decoder", "cross"])
    (True, False)
    """
    return "encoder" not in stacks
