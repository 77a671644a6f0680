"""Parts of speech and dependencies of plain texts, by a spaCy pipeline that the user has installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headcount.data.annotations import Annotated
from headcount.errors import MissingPackage, ModelUnavailable

RELATIONS = {
    "nsubjpass": "nsubj:pass",
    "csubjpass": "csubj:pass",
    "agent": "obl:agent",
    "dobj": "obj",
    "dative": "iobj",
    "attr": "obj",
    "oprd": "obj",
}
"""From spaCy's English names of relations to Universal Dependencies; Kovaleva counts attr and oprd as objects."""


def parse_texts(texts: Sequence[str], name: str) -> list[Annotated]:
    """Each text as an annotated sentence, by the spaCy pipeline `name` (a package or a folder)."""
    sentences = []
    for number, document in enumerate(_load(name).pipe(texts)):
        tokens = [token for token in document if not token.is_space]
        numbers = {token.i: word for word, token in enumerate(tokens, start=1)}
        heads = tuple(0 if token.head.i == token.i else numbers.get(token.head.i, 0) for token in tokens)
        relations = tuple(RELATIONS.get(token.dep_, token.dep_) for token in tokens)
        words = tuple(token.text for token in tokens)
        upos = tuple(token.pos_ for token in tokens)
        sentences.append(Annotated(str(number), words, upos, relations, heads, {}))
    return sentences


def _load(name: str) -> Any:
    try:
        import spacy
    except ImportError as error:
        raise MissingPackage("spaCy is not installed; install headcount[spacy], or give CoNLL-U") from error
    try:
        parser = spacy.load(name)
    except OSError as error:
        raise ModelUnavailable(f"there is no spaCy pipeline {name!r}; install one, or give CoNLL-U") from error
    if "parser" not in parser.pipe_names:
        raise ModelUnavailable(f"the spaCy pipeline {name!r} has no parser; it has {', '.join(parser.pipe_names)}")
    return parser
