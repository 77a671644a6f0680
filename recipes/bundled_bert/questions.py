"""How does a small model learn that a question asks for a kind of answer? By questions made from plain text.

A model fine-tuned on QNLI alone follows shared words: whatever repeats the question is taken for its answer. Here a
sentence that tells a time, a place, a reason, a number, a name or a way becomes a question for exactly that, and the
answer to it is the sentence itself. The sentence with that part cut out, the same sentence asked for something that it
does not tell, and a neighbouring sentence with many of the same words are no answers. So shared words say nothing, and
the kind of what is asked for says everything.
"""

import argparse
import json
import lzma
import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from recipes.bundled_bert.text import read_documents

ANSWERS, NO_ANSWER = 0, 1

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?:1[0-9]|20)\d\d"
_NUMBER = (
    r"(?:\d[\d,.]*\d|\d|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|"
    r"hundreds|thousands|dozens)(?: (?:hundred|thousand|million|billion))?"
)
_NAME = r"(?:[A-Z][a-z'\u2019-]+|[A-Z]\.)"

# What each kind of answer looks like: the part that is cut out when it is asked for.
KINDS = {
    "when": re.compile(
        rf"(?:(?:^|,? \(?)\b(?:[Ii]n|[Oo]n|[Ss]ince|[Uu]ntil|[Bb]y|[Dd]uring|[Ff]rom|[Aa]fter|[Bb]efore|[Aa]round)"
        rf"(?: the)?(?: early| late| mid)?-?(?: spring of| summer of| autumn of| winter of| end of)?)?"
        rf"(?: \d\d?)?(?: {_MONTH})?(?: \d\d?,?)?(?: {_YEAR}s?| \d\d?(?:st|nd|rd|th) century)(?: AD| BC)?\)?,?"
    ),
    "where": re.compile(rf",? \b(?:in|at|near|from|outside) (?!{_MONTH})(?:the )?(?:{_NAME})(?:,? (?:{_NAME}))*"),
    "why": re.compile(
        r",? \b(?:because|due to|owing to|as a result of|in order to|so that|on account of|thanks to|for fear)"
        r" [^,;.]{8,90}"
    ),
    "how": re.compile(r",? \b(?:by|through) [a-z]+ing [^,;.]{4,80}"),
    "how many": re.compile(rf" (?:about |over |nearly |some |only |almost |around )?{_NUMBER}(?= [a-z]{{4,}}s\b)"),
    "who": re.compile(
        rf" by (?:{_NAME})(?: (?:{_NAME}|von|van|de|of))* (?:{_NAME})|^(?:{_NAME}) (?:{_NAME})(?= [a-z])"
    ),
}
ASKED = {  # the ways to ask for a kind; the first is used for half of the questions
    "when": ["When", "In what year", "What year", "During what period", "On what date"],
    "where": ["Where", "In what place", "In which city", "In which country", "At what location"],
    "why": ["Why", "For what reason", "What is the reason", "What caused it that"],
    "how": ["How", "By what means", "In what way"],
    "how many": ["How many", "What number of"],
    "who": ["Who", "Which person", "By whom"],
}
_AUXILIARY = re.compile(r"^(.{3,60}?) (was|were|is|are|had|has|have|can|could|will|would|may|must)\b")
_CLAUSE = re.compile(r"(?<=[,;]) | (?=(?:and|but|while|which|who|where|when|although|whereas) )")
_WORD = re.compile(r"[a-z0-9]+")
_LITTLE = frozenset(_WORD.findall("the a an of in on at to and or for by with from as is are was were be been it its"))


class Pair(NamedTuple):
    question: str
    sentence: str
    label: int
    made: str  # how: told, few words, cut, not told, neighbour


def content(text: str) -> set[str]:
    """The words that carry meaning, in small letters."""
    return {word for word in _WORD.findall(text.lower()) if word not in _LITTLE}


def find(kind: str, sentence: str) -> "re.Match[str] | None":
    """The part of the sentence that tells this kind of thing, if there is exactly one."""
    found = list(KINDS[kind].finditer(sentence))
    return found[0] if len(found) == 1 else None


def without(sentence: str, part: "re.Match[str]") -> str:
    """The sentence with the part cut out.

    >>> without("He sold it in 1912 to a friend.", KINDS["when"].search("He sold it in 1912 to a friend."))
    'He sold it to a friend.'
    """
    rest = re.sub(r"\s+([,.;])", r"\1", (sentence[: part.start()] + " " + sentence[part.end() :]))
    rest = re.sub(r"\s+", " ", rest).strip(" ,;")
    return rest[:1].upper() + rest[1:]


def ask(kind: str, clause: str, chance: random.Random) -> str:
    """A question for `kind` about what the clause says, in the order of words of a question where a verb allows it."""
    asked = ASKED[kind][0] if chance.random() < 0.5 else chance.choice(ASKED[kind])
    clause = clause.strip(" ,;.")
    clause = re.sub(r"^(?:and|but|while|which|who|where|when|although|whereas|however,?|also) ", "", clause)
    if clause and not re.match(rf"{_NAME} {_NAME}", clause) and chance.random() < 0.9:
        clause = clause[:1].lower() + clause[1:]
    verb = _AUXILIARY.match(clause)
    if kind not in ("who", "how many") and verb:
        clause = f"{verb[2]} {verb[1]}{clause[verb.end() :]}"
    elif kind not in ("who", "how many") and chance.random() < 0.6:
        clause = f"did {clause}"
    return f"{asked} {clause}?"


def clause_around(sentence: str, part: "re.Match[str]") -> str:
    """The clause that held the part, without it; the whole rest of the sentence where that clause says too little."""
    marked = without(sentence[: part.start()] + " \x00 " + sentence[part.end() :], _NOTHING)
    clause = next((piece for piece in _CLAUSE.split(marked) if "\x00" in piece), marked)
    clause = re.sub(r"\s*\x00\s*", " ", clause)
    return clause if len(content(clause)) >= 3 else re.sub(r"\s*\x00\s*", " ", marked)


_NOTHING = re.compile("").match("")


def thin(question: str, sentence: str, chance: random.Random) -> str:
    """The question cut down to its first word and what stands around one or two of the words it shares."""
    asked, *rest = question.rstrip("?").split(" ")
    shared = [place for place, word in enumerate(rest) if content(word) & content(sentence)]
    kept = chance.sample(shared, min(len(shared), chance.choice([1, 1, 2])))
    near = {place + step for place in kept for step in (-2, -1, 0, 1)}
    words = [word for place, word in enumerate(rest) if place in kept or (place in near and place not in shared)]
    return " ".join([asked, *words]) + "?"


_KIND_OF = {  # how QNLI's questions open; the kinds that another kind's question word can stand for
    "when": re.compile(r"^(?:When|(?:In )?[Ww]hat year|(?:In )?[Ww]hich year|On what date)\b ?"),
    "where": re.compile(r"^Where\b ?"),
    "why": re.compile(r"^Why\b ?"),
    "how": re.compile(r"^How(?= (?:did|do|does|was|were|is|are|can)\b) ?"),
    "how many": re.compile(r"^How many\b ?"),
    "who": re.compile(r"^Who\b ?"),
}
_SWAPPED = ("when", "where", "why", "how")  # one of these words can stand in the place of another


def harder(question: str, sentence: str, chance: random.Random) -> Iterator[Pair]:
    """What can be made of a question and its answer: the answer cut out, another thing asked for, few shared words."""
    opened = [(kind, match) for kind, pattern in _KIND_OF.items() if (match := pattern.match(question))]
    if chance.random() < 0.3:
        yield Pair(thin(question, sentence, chance), sentence, ANSWERS, "few words")
    if not opened:
        return
    kind, match = opened[0]
    if part := find(kind, sentence):
        yield Pair(question, without(sentence, part), NO_ANSWER, "cut")
    others = [other for other in _SWAPPED if other != kind and not KINDS[other].search(sentence)]
    if kind in _SWAPPED and others:
        asked = f"{ASKED[chance.choice(others)][0]} {question[match.end() :].lstrip()}"
        yield Pair(asked, sentence, NO_ANSWER, "not told")


def pairs_of(sentences: list[str], chance: random.Random, most: int = 12) -> Iterator[Pair]:
    """Pairs from one document, as many answers as no answers, and every kind asked for as often in both."""
    usable = [sentence for sentence in sentences if 40 <= len(sentence) <= 320]
    chance.shuffle(usable)
    for sentence in usable[:most]:
        told = {kind: part for kind in KINDS if (part := find(kind, sentence))}
        if not told:
            continue
        kind = chance.choice(sorted(told))
        part = told[kind]
        question = ask(kind, clause_around(sentence, part), chance)
        if len(content(question)) < 3:
            continue
        if chance.random() < 0.35:
            yield Pair(thin(question, sentence, chance), sentence, ANSWERS, "few words")
        else:
            yield Pair(question, sentence, ANSWERS, "told")
        # No answer, to a question of the same kind, so that the kind alone says nothing.
        way = chance.random()
        if way < 0.4:
            yield Pair(question, without(sentence, part), NO_ANSWER, "cut")
        elif way < 0.75:
            others = [other for other in usable if not KINDS[kind].search(other) and other != sentence]
            for other in others[:6]:
                parts = [found for name in KINDS if name != kind and (found := find(name, other))]
                if parts:
                    clause = clause_around(other, chance.choice(parts))
                    if len(content(clause)) >= 3:
                        yield Pair(ask(kind, clause, chance), other, NO_ANSWER, "not told")
                        break
        else:
            asked = content(question)
            near = [other for other in usable if other != sentence]
            if near:
                other = max(near, key=lambda text: len(content(text) & asked))
                yield Pair(question, other, NO_ANSWER, "neighbour")


def nearest(questions: list[str], sentences: list[str], answers: dict[str, set[str]]) -> Iterator[Pair]:
    """For every question the sentence with most of its rare words among those that are not its answer."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    sentences = sorted(set(sentences))
    coder = TfidfVectorizer(stop_words="english").fit(sentences)
    coded = coder.transform(sentences)
    for start in range(0, len(questions), 500):
        near = (coder.transform(questions[start : start + 500]) @ coded.T).toarray()
        for question, row in zip(questions[start : start + 500], near, strict=True):
            best = next(place for place in (-row).argsort()[:20] if sentences[place] not in answers[question])
            yield Pair(question, sentences[best], NO_ANSWER, "neighbour")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="*", type=Path, help="running text to make questions of")
    parser.add_argument("--pairs", type=Path, help="QNLI pairs (.parquet): make harder ones of them instead")
    parser.add_argument("--out", type=Path, required=True, help="a .jsonl or .jsonl.xz file")
    parser.add_argument("--most", type=int, default=12, help="sentences of a document")
    parser.add_argument("--documents", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    chance, made = random.Random(options.seed), Counter[str]()
    opened = lzma.open if options.out.suffix == ".xz" else open
    with opened(options.out, "wt", encoding="utf-8") as file:
        for pair in from_pairs(options.pairs, chance) if options.pairs else from_texts(options, chance):
            made[pair.made] += 1
            row = {"sentence1": pair.question, "sentence2": pair.sentence, "label": pair.label, "made": pair.made}
            file.write(json.dumps(row) + "\n")
    print(dict(made))


def from_texts(options: argparse.Namespace, chance: random.Random) -> Iterator[Pair]:
    for sentences in islice(read_documents(options.texts), options.documents):
        yield from pairs_of(sentences, chance, options.most)


def from_pairs(path: Path, chance: random.Random) -> Iterator[Pair]:
    """The pairs themselves, and the harder ones made of them."""
    table = pd.read_parquet(path)
    answers: dict[str, set[str]] = {question: set() for question in table.sentence1}
    for question, sentence, label in zip(table.sentence1, table.sentence2, table.label, strict=True):
        yield Pair(question, sentence, int(label), "QNLI")
        if label == ANSWERS:
            answers[question].add(sentence)
            yield from harder(question, sentence, chance)
    asked = [question for question in answers if answers[question] and chance.random() < 0.5]
    yield from nearest(asked, list(table.sentence2), answers)


if __name__ == "__main__":
    main()
