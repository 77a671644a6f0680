"""What well-known tasks ask, in one line each."""

from __future__ import annotations

ASKS = {
    "cola": "Is the sentence acceptable English?",
    "sst2": "Is the review positive or negative?",
    "mrpc": "Do the two sentences say the same?",
    "stsb": "How similar are the two sentences?",
    "qqp": "Do the two questions ask the same?",
    "mnli": "Does the second sentence follow from the first, contradict it, or neither?",
    "qnli": "Does the sentence answer the question?",
    "rte": "Does the second text follow from the first?",
    "wnli": "Does the second sentence follow from the first?",
    "causallm": "What is the next token?",
    "maskedlm": "Which token is masked?",
    "completion": "How does the text go on?",
    "translation": "How is the text translated?",
    "summarization": "What is the text in a few sentences?",
}
"""By the name of a task in small letters and digits alone."""


def ask(task: str) -> str:
    """The question of a task; empty if it is not a well-known one.

    >>> ask("SST-2"), ask("mine")
    ('Is the review positive or negative?', '')
    """
    name = task.lower().removesuffix("-mm")  # the mismatched texts of MNLI
    return ASKS.get("".join(letter for letter in name if letter.isalnum()), "")
