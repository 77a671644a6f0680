"""What all formats are read into: a document's words, its sentences, and its mentions with the entities they name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headcount.data.coreference.mentions import capitalised, head_word, mention_kind
from headcount.errors import DataProblem, short

Span = tuple[int, int]
"""The words from the first to before the second, from 0."""


@dataclass(frozen=True)
class Mention:
    """Some words that name an entity."""

    start: int
    end: int
    """The word after the last."""
    head: int
    """The head word, counted like `start` from the first word of the document."""
    kind: str
    """`pronoun`, `proper` or `nominal`."""
    entity: int
    """Mentions with the same number name the same entity."""
    asked: bool = True
    """Whether its antecedent is asked for: in GAP only that of the pronoun is."""


@dataclass(frozen=True)
class Document:
    """A text with its mentions, in the order of their head words."""

    name: str
    words: tuple[str, ...]
    starts: tuple[int, ...]
    """The first word of each sentence."""
    mentions: tuple[Mention, ...]
    tags: tuple[str, ...] | None = None
    """Parts of speech, where they are known."""
    text: str | None = None
    """The text as it is written, where that is known; else the words with spaces between."""
    without_antecedent: str = "no mention has an antecedent"
    """Why there is nothing to ask, where that is so."""


def make_document(
    name: str,
    words: Sequence[str],
    starts: Sequence[int],
    entities: Iterable[Sequence[Span]],
    tags: Sequence[str] | None = None,
) -> Document:
    """With the head word and the kind of each mention; `entities` are the mentions of each entity."""
    names, first = capitalised(words, starts), set(starts)
    mentions = []
    for entity, spans in enumerate(entities):
        for start, end in spans:
            head = start + head_word(words[start:end], None if tags is None else tags[start:end])
            tag = None if tags is None else tags[head]
            kind = mention_kind(words[head], tag, head in first, names, end - start == 1)
            mentions.append(Mention(start, end, head, kind, entity))
    return Document(name, tuple(words), tuple(starts), in_order(mentions), None if tags is None else tuple(tags))


def in_order(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """By head word; of several with the same head word the longest first."""
    return tuple(sorted(mentions, key=lambda mention: (mention.head, mention.start - mention.end, mention.entity)))


def check_entities(where: str, entities: Sequence[Sequence[Span]], words: int) -> None:
    """An error where a mention has no words, lies outside of the document, or is there twice."""
    seen: set[Span] = set()
    for spans in entities:
        for span in spans:
            if not 0 <= span[0] < span[1] <= words:
                raise DataProblem(
                    f"{where}: got the mention {list(span)}; expected [start, end) within its {words} words; fix it"
                )
            if span in seen:
                raise DataProblem(f"{where}: the mention {list(span)} is there twice; expected each once; fix it")
            seen.add(span)


def check_words(where: str, words: Sequence[object]) -> None:
    """An error where a document has no words, or one of them is no text."""
    if not words:
        raise DataProblem(f"{where}: the document has no words; expected at least one; leave it out")
    for number, word in enumerate(words):
        if not isinstance(word, str) or not word.strip():
            raise DataProblem(f"{where}: word {number} is {short(word)}; expected a text that is not blank; fix it")
