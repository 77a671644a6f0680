"""Which earlier mention simple rules take for the antecedent: the nearest, one with the same head word, a rule sieve.

These are the baselines of Clark et al. (2019, section 4.3), made anew from their description; the lists are English.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headcount.data.coreference.documents import Mention
from headcount.data.coreference.mentions import PRONOUN, PROPER
from headcount.data.coreference.pronouns import FEMALE, MALE, PLURAL, PRONOUNS, SINGULAR, Agreement

_MALE = "mr mr. sir lord king prince duke father brother son uncle nephew husband man boy gentleman master"
_FEMALE = "mrs mrs. miss ms ms. lady madam queen princess mother sister daughter aunt niece wife woman girl mistress"
GENDERS = dict.fromkeys(_MALE.split(), MALE) | dict.fromkeys(_FEMALE.split(), FEMALE)
_PLURALS = "men women children people parents these those both many several few two three four five six seven eight"
_SINGULARS = ("a", "an", "this", "that", "every", "each")
NUMBERS = dict.fromkeys(_PLURALS.split(), PLURAL) | dict.fromkeys(_SINGULARS, SINGULAR)
_TAGS = {"NN": SINGULAR, "NNP": SINGULAR, "NNS": PLURAL, "NNPS": PLURAL}


@dataclass(frozen=True)
class Described:
    """A mention as the rules see it."""

    text: str
    head: str
    agreement: Agreement


Rule = Callable[[Described, Sequence[Described]], int]
"""From a mention and those before it, in their order, the number of the one that is taken."""


def describe(mention: Mention, words: Sequence[str], tags: Sequence[str] | None) -> Described:
    """In lower case, with what is known of its number, gender and person."""
    own = [word.lower() for word in words[mention.start : mention.end]]
    head = words[mention.head].lower()
    if mention.kind == PRONOUN:
        agreement = PRONOUNS.get(head, Agreement())
    else:
        tag = None if tags is None else tags[mention.head]
        agreement = Agreement(_number(own, head, tag, mention.kind == PROPER), _gender(own, head), 3)
    return Described(" ".join(own), head, agreement)


def _number(own: Sequence[str], head: str, tag: str | None, proper: bool) -> str | None:
    """From a conjunction, the part of speech, the first word, a list, or the ending of the head word.

    A name that ends in s may be either: Adams.
    """
    if "and" in own:
        return PLURAL
    if tag in _TAGS:
        return _TAGS[tag]
    listed = NUMBERS.get(own[0]) or NUMBERS.get(head)
    if listed is not None:
        return listed
    if not head.endswith("s") or head.endswith(("ss", "us", "is")):
        return SINGULAR
    return None if proper else PLURAL


def _gender(own: Sequence[str], head: str) -> str | None:
    """By the head word, else by the first word, which may be a title."""
    return GENDERS.get(head) or GENDERS.get(own[0])


def nearest(mention: Described, earlier: Sequence[Described]) -> int:
    """The last mention before it.

    >>> ann, bob = Described("ann", "ann", Agreement()), Described("bob", "bob", Agreement())
    >>> nearest(ann, [ann, bob]), head_match(ann, [ann, bob])
    (1, 0)
    """
    return len(earlier) - 1


def head_match(mention: Described, earlier: Sequence[Described]) -> int:
    """The last with the same head word; the last of all where there is none."""
    return _last(earlier, lambda other: other.head == mention.head)


def rules(mention: Described, earlier: Sequence[Described]) -> int:
    """The last with the same words, else with the same head word, else one that agrees, else the last of all.

    It agrees if nothing that is known of number, gender and person differs.
    """
    sieves: list[Callable[[Described], bool]] = [
        lambda other: other.text == mention.text,
        lambda other: other.head == mention.head,
        lambda other: other.agreement.agrees(mention.agreement),
    ]
    return _last(earlier, *sieves)


def _last(earlier: Sequence[Described], *sieves: Callable[[Described], bool]) -> int:
    for passes in sieves:
        for number in reversed(range(len(earlier))):
            if passes(earlier[number]):
                return number
    return len(earlier) - 1


RULES: dict[str, Rule] = {"nearest": nearest, "head_match": head_match, "rules": rules}
