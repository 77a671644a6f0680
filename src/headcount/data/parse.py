"""Parts of speech and roles of plain texts, by a spaCy model that the user has."""

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
"""spaCy's English names, as Universal Dependencies call them; Kovaleva counts attr and oprd as objects."""


def parse_texts(texts: Sequence[str], name: str) -> list[Annotated]:
    """The texts as annotated sentences, one each, by the spaCy pipeline called `name` (a package or a folder)."""
    parser = _load(name)
    found = []
    for number, document in enumerate(parser.pipe(texts)):
        tokens = [token for token in document if not token.is_space]
        at = {token.i: place for place, token in enumerate(tokens)}
        heads = tuple(0 if token.head.i == token.i else at.get(token.head.i, -1) + 1 for token in tokens)
        relations = tuple(RELATIONS.get(token.dep_, token.dep_) for token in tokens)
        words = tuple(token.text for token in tokens)
        found.append(Annotated(str(number), words, tuple(token.pos_ for token in tokens), relations, heads, {}))
    return found


def _load(name: str) -> Any:
    try:
        import spacy
    except ImportError as error:
        raise MissingPackage("spaCy is not installed; install headcount[spacy], or give CoNLL-U") from error
    try:
        parser = spacy.load(name)
    except OSError as error:
        raise ModelUnavailable(f"there is no spaCy pipeline {name!r}; install one, or give CoNLL-U") from error
    missing = [pipe for pipe in ("parser",) if pipe not in parser.pipe_names]
    if missing:
        raise ModelUnavailable(f"the spaCy pipeline {name!r} has no parser; it has {', '.join(parser.pipe_names)}")
    return parser
