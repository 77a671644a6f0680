"""The head word of a mention and whether it is a pronoun, a proper name or a nominal, by rules for English.

No parse is needed. Where parts of speech are known (Penn Treebank or Universal Dependencies), they decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from headcount.data.coreference.pronouns import PRONOUNS

PRONOUN, PROPER, NOMINAL = "pronoun", "proper", "nominal"
KINDS = (PRONOUN, PROPER, NOMINAL)
PRONOUN_TAGS = frozenset(("PRP", "PRP$", "WP", "WP$", "PN", "PRON"))
PROPER_TAGS = frozenset(("NNP", "NNPS", "NR", "PROPN"))
NOUN_TAGS = PROPER_TAGS | {"NN", "NNS", "NT", "NOUN"}
_AFTER = "IN TO CC , : . -LRB- WDT WP WP$ WRB VB VBD VBG VBN VBP VBZ MD ADP CCONJ VERB AUX"
_AFTER_THE_HEAD = frozenset(_AFTER.split())
"""What ends the part of a mention that its head is in, once a noun was there."""
_PREPOSITIONS = """
about above across after against along amid among around as at before behind below beneath beside besides between
beyond by concerning down during except for from in inside into like near of off on onto opposite out outside over past
since than through throughout till to toward towards under until unto up upon with within without
"""
_RELATIVE = "who whom whose which that where when why"
_STOPS = ", ; : . ( ) [ ] - -- \u2013 \u2014 ..."
_ENDING = frozenset(f"{_PREPOSITIONS} {_RELATIVE} {_STOPS}".split())
_DETERMINERS = frozenset(("the", "a", "an", "this", "that", "my", "your", "his", "her", "its", "our", "their"))
_ENDINGS = frozenset(("'s", "\u2019s", "'", "\u2019", "Jr", "Jr.", "Sr", "Sr.", "II", "III", "Esq."))
"""Possessive endings, and what may follow a name."""


def head_word(words: Sequence[str], tags: Sequence[str] | None = None) -> int:
    """The number of a mention's head word among its words.

    With `tags`: its last noun before a preposition, conjunction, verb, relative pronoun or punctuation mark that comes
    after a noun; its last word where it has no noun. Without: the last word before the first preposition, relative
    pronoun or punctuation mark that is not its first word and does not follow a determiner ("the opposite side");
    possessive endings and what follows names (Jr.) left out.

    >>> head_word("the old man of the sea".split()), head_word("her sister 's house , where they met".split())
    (2, 3)
    >>> head_word("a man called Jim".split(), ["DT", "NN", "VBN", "NNP"]), head_word("Mary 's".split())
    (1, 0)
    """
    if tags is not None:
        nouns: list[int] = []
        for number, tag in enumerate(tags):
            if tag in NOUN_TAGS:
                nouns.append(number)
            elif nouns and tag in _AFTER_THE_HEAD:
                break
        return nouns[-1] if nouns else _last(words)
    lower = [word.lower() for word in words]
    pairs = enumerate(pairwise(lower), start=1)
    end = next((at for at, (one, two) in pairs if two in _ENDING and one not in _DETERMINERS), len(words))
    return _last(words[:end])


def _last(words: Sequence[str]) -> int:
    """The last word that is no ending; the first where all are."""
    return next((number for number in reversed(range(len(words))) if words[number] not in _ENDINGS), 0)


def mention_kind(word: str, tag: str | None, begins: bool, names: frozenset[str], alone: bool) -> str:
    """Of a mention with this head word: pronoun, proper or nominal.

    `alone`: the mention has no other word. `begins`: the word is the first of its sentence, where a capital says
    nothing; it is a name only if it is one of `names`, the words that have a capital inside of a sentence too.

    >>> mention_kind("She", None, True, frozenset(), True), mention_kind("Rivers", None, True, frozenset(), True)
    ('pronoun', 'nominal')
    >>> mention_kind("Rivers", None, False, frozenset(), True), mention_kind("rivers", "NNS", False, frozenset(), True)
    ('proper', 'nominal')
    """
    if (alone and word.lower() in PRONOUNS) or tag in PRONOUN_TAGS:
        return PRONOUN
    if tag is not None:
        return PROPER if tag in PROPER_TAGS else NOMINAL
    return PROPER if word[:1].isupper() and (not begins or word in names) else NOMINAL


def capitalised(words: Sequence[str], starts: Sequence[int]) -> frozenset[str]:
    """The words that have a capital inside of a sentence; `starts` are the first words of the sentences."""
    first = set(starts)
    return frozenset(word for number, word in enumerate(words) if number not in first and word[:1].isupper())
