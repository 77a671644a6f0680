"""Word classes (nouns, subjects, negations) and linked words of sentences with Universal Dependencies.

The classes are those of Kovaleva et al. (2019, "Revealing the Dark Secrets of BERT"), mapped to these annotations.
Words are counted from 0; only `Annotated.heads` counts from 1, as CoNLL-U does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headcount.data.multiword import Multiword, as_written, read_multiword
from headcount.errors import DataProblem, short

NOUNS = ("NOUN", "PROPN")
SUBJECTS = ("nsubj", "csubj")
_NEGATIONS = """
neither nor not never none don't won't didn't
hadn't haven't can't isn't wasn't shouldn't couldn't nothing nowhere n't
"""
NEGATIONS = frozenset(_NEGATIONS.split())
"""The list of Kovaleva et al. and `n't`, the word that Universal Dependencies split off "don't" and "can't"."""


@dataclass(frozen=True)
class Annotated:
    """A sentence: for each word its part of speech, its relation and its head (from 1; 0 is the root).

    `name` is the sentence's id or, if it has none, its number in the file or table, from 1. `antecedents` maps a
    pronoun to the noun it stands for (both from 0); it is empty for sentences from a table. `text` is the sentence as
    it is written, where that is known; `multiword` are the words in it that are written as one.
    """

    name: str
    words: tuple[str, ...]
    upos: tuple[str, ...]
    deprels: tuple[str, ...]
    heads: tuple[int, ...]
    antecedents: Mapping[int, int]
    text: str | None = None
    multiword: tuple[Multiword, ...] = ()


def join_sentences(first: Annotated, *others: Annotated) -> Annotated:
    """Several sentences as one, such as the two of a pair, with continuous word numbers; each keeps its own tree."""
    for other in others:
        start = len(first.words)
        first = Annotated(
            first.name,
            first.words + other.words,
            first.upos + other.upos,
            first.deprels + other.deprels,
            first.heads + tuple(head and head + start for head in other.heads),
            {**first.antecedents, **{word + start: noun + start for word, noun in other.antecedents.items()}},
        )
    return first


def word_classes(sentence: Annotated) -> dict[str, tuple[int, ...]]:
    """For each name in `WORD_CLASSES` the words of that class, in order; a word may be in several classes or in none.

    - noun: NOUN, PROPN; verb: VERB (not auxiliaries); pronoun: PRON.
    - subject: nsubj, csubj, expl with their subtypes, and obl:agent, as the paper counts spaCy's `agent`.
    - object: obj, iobj with their subtypes.
    - negation: the paper's 17 words (neither, nor, not, never, none, don't, ...) as whole words in any case. Universal
      Dependencies split "don't" into "do" and "n't", so the word "n't" counts as well. A typographic apostrophe is
      the same as a plain one.
    """
    described = list(zip(sentence.words, sentence.upos, sentence.deprels, strict=True))
    return {
        name: tuple(number for number, word in enumerate(described) if belongs(*word))
        for name, belongs in _BELONGS.items()
    }


def word_links(sentence: Annotated) -> dict[str, tuple[tuple[int, int], ...]]:
    """For each name in `WORD_LINKS` the pairs of words, (verb, subject) and (noun, pronoun), in the second's order.

    Here a subject is an nsubj or csubj (with subtypes) whose head is a VERB.
    """
    subjects = (
        (head - 1, word)
        for word, (head, deprel) in enumerate(zip(sentence.heads, sentence.deprels, strict=True))
        if head and base_relation(deprel) in SUBJECTS and sentence.upos[head - 1] == "VERB"
    )
    pronouns = ((noun, pronoun) for pronoun, noun in sorted(sentence.antecedents.items()))
    return dict(zip(WORD_LINKS, (tuple(subjects), tuple(pronouns)), strict=True))


def base_relation(deprel: str) -> str:
    """The relation without its subtype: `nsubj` for `nsubj:pass`."""
    return deprel.partition(":")[0]


_BELONGS: dict[str, Callable[[str, str, str], bool]] = {
    "noun": lambda word, upos, deprel: upos in NOUNS,
    "verb": lambda word, upos, deprel: upos == "VERB",
    "pronoun": lambda word, upos, deprel: upos == "PRON",
    "subject": lambda word, upos, deprel: base_relation(deprel) in (*SUBJECTS, "expl") or deprel == "obl:agent",
    "object": lambda word, upos, deprel: base_relation(deprel) in ("obj", "iobj"),
    "negation": lambda word, upos, deprel: word.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") in NEGATIONS,
}
WORD_CLASSES = tuple(_BELONGS)
WORD_LINKS = ("verb-subject", "noun-pronoun")


def check_sentence(
    where: str,
    name: str,
    columns: Mapping[str, list[Any]],
    antecedents: Mapping[int, str],
    text: object,
    multiword: Sequence[Any] = (),
) -> Annotated:
    """A sentence from its columns (words, upos, heads and deprels, by the user's names for them), checked."""
    sizes = {column: len(values) for column, values in columns.items()}
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{size} {column}" for column, size in sizes.items())
        raise DataProblem(f"{where}: got {got}; expected lists of the same length; fix that sentence")
    if not any(sizes.values()):
        return Annotated(name, (), (), (), (), {})
    words, upos, deprels = (_strings(values, column, where) for column, values in columns.items() if column != "heads")
    tokens = tuple(read_multiword(entry, len(words), where) for entry in multiword)
    if text is not None:
        _check_text(text, as_written(words, tokens), where)
    heads = tuple(_number(head, word, words, where, "head") for word, head in enumerate(columns["heads"]))
    nouns = {word: _number(noun, word, words, where, "antecedent") - 1 for word, noun in antecedents.items()}
    return Annotated(name, words, upos, deprels, heads, nouns, None if text is None else str(text), tokens)


def _strings(values: Sequence[object], column: str, where: str) -> tuple[str, ...]:
    for number, value in enumerate(values, start=1):
        if not isinstance(value, str) or not value.strip():
            raise DataProblem(f"{where}: got {short(value)} as entry {number} of {column}; expected a string; fix it")
    return tuple(map(str, values))


def _number(value: object, word: int, words: Sequence[str], where: str, role: str) -> int:
    """The number, from 1, of the word that is the head (0: none) or the antecedent of a word."""
    number = _whole(value)
    least, root = (0, "0 (root) or ") if role == "head" else (1, "")
    if number is None or not least <= number <= len(words) or number == word + 1:
        raise DataProblem(
            f"{where}: word {word + 1} ({short(words[word])}) has the {role} {short(value)};"
            f" expected {root}another word, 1 to {len(words)}; fix it"
        )
    return number


def _whole(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isinstance(value, str) or number == value else None


def _check_text(text: object, words: Sequence[str], where: str) -> None:
    if not isinstance(text, str):
        raise DataProblem(f"{where}: got {short(text)} as its text; expected a string; fix it or leave the column out")
    rest = text.lstrip()
    for number, word in enumerate(words, start=1):
        if not rest.startswith(word):
            raise DataProblem(
                f"{where}: word {number} is {short(word)}, but the text goes on with {rest[:20]!r};"
                " expected the words one after the other; fix the words, add multiword tokens, leave the text out, or"
                " probe with words=annotated"
            )
        rest = rest[len(word) :].lstrip()
    if rest:
        raise DataProblem(
            f"{where}: after the last word, {short(words[-1])}, the text goes on with {rest[:20]!r};"
            " expected no more; add the words or fix the text"
        )
