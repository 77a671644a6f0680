"""Which words of a sentence are nouns, subjects, negations, and which belong together?

Sentences come with Universal Dependencies. The classes are those of Kovaleva et al. (2019, "Revealing the Dark Secrets
of BERT"), mapped to these annotations. Words are counted from 0; only `Annotated.heads` counts from 1, as CoNLL-U does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.blank_rows import is_absent
from headcount.data.row_numbers import name_row
from headcount.data.tables import CONLLU, SUFFIXES, read_list, read_table
from headcount.errors import DataProblem, listed, short

NOUNS = ("NOUN", "PROPN")
SUBJECTS = ("nsubj", "csubj")
NEGATIONS = frozenset(
    (
        "neither",
        "nor",
        "not",
        "never",
        "none",
        "don't",
        "won't",
        "didn't",
        "hadn't",
        "haven't",
        "can't",
        "isn't",
        "wasn't",
        "shouldn't",
        "couldn't",
        "nothing",
        "nowhere",
        "n't",
    )
)
"""The list of Kovaleva et al. and `n't`, the word that Universal Dependencies split off "don't" and "can't"."""

_NOT_A_WORD_LINE = re.compile(r"\d+[-.]\d+")
"""The number of a multiword token (1-2) or an empty node (1.1): neither is a word of the tree."""


@dataclass(frozen=True)
class Annotated:
    """One sentence: for each word its part of speech, its relation and its head (from 1; 0 is the root).

    `name` is the sentence's id, or its place in the file or table, from 1, where it has none. `antecedents` says which
    noun a pronoun stands for (both from 0); it is empty for sentences from a table.
    """

    name: str
    words: tuple[str, ...]
    upos: tuple[str, ...]
    deprels: tuple[str, ...]
    heads: tuple[int, ...]
    antecedents: Mapping[int, int]


def read_annotated(data: str | Path | pd.DataFrame) -> list[Annotated]:
    """The sentences of a `.conllu` file, or of a table (parquet, csv, tsv, jsonl, folder, data frame), in their order.

    A `.conllu` file may say `Antecedent=N` in a pronoun's MISC column: N is the number of the noun it stands for.
    A table has lists in the columns `tokens` (or `words`), `upos`, `heads` and `deprels`, and perhaps `sent_id` and
    `text`; in a csv file a list is written as JSON or Python writes it. A text that is given must be made of the words,
    in their order, with nothing but spaces between: otherwise, as for all that is malformed, `DataProblem`. A sentence
    without words is given as such.

    >>> columns = {"tokens": [["She", "sleeps"]], "upos": [["PRON", "VERB"]], "heads": [[2, 0]]}
    >>> [sentence] = read_annotated(pd.DataFrame({**columns, "deprels": [["nsubj", "root"]]}))
    >>> word_classes(sentence)["subject"], word_links(sentence)["verb-subject"]
    ((0,), ((1, 0),))
    """
    if isinstance(data, pd.DataFrame):
        return list(_from_table(read_table(data), "the data frame"))
    path = Path(data)
    if path.suffix == CONLLU:
        return list(_from_conllu(path))
    if path.is_file() and path.suffix not in SUFFIXES:
        raise DataProblem(f"got {path}; expected a file that ends in {', '.join(SUFFIXES)}")
    return list(_from_table(read_table(path), str(path)))


def join(*sentences: Annotated) -> Annotated:
    """Several sentences as one, such as the two of a pair: words are counted on, each keeps its own tree."""
    if len(sentences) == 1:
        return sentences[0]
    words: list[str] = []
    upos: list[str] = []
    deprels: list[str] = []
    heads: list[int] = []
    antecedents: dict[int, int] = {}
    for one in sentences:
        before = len(words)
        words += one.words
        upos += one.upos
        deprels += one.deprels
        heads += [head and head + before for head in one.heads]
        antecedents |= {pronoun + before: noun + before for pronoun, noun in one.antecedents.items()}
    return Annotated(sentences[0].name, tuple(words), tuple(upos), tuple(deprels), tuple(heads), antecedents)


def word_classes(sentence: Annotated) -> dict[str, tuple[int, ...]]:
    """For each name in `WORD_CLASSES` the words of that class, in order; a word may be in several classes or in none.

    - noun: NOUN, PROPN; verb: VERB (auxiliaries are none); pronoun: PRON.
    - subject: nsubj, csubj, expl with their subtypes, and obl:agent, as the paper counts spaCy's `agent`.
    - object: obj, iobj with their subtypes.
    - negation: the paper's 17 words (neither, nor, not, never, none, don't, ...) as whole words in any case. Universal
      Dependencies split "don't" into "do" and "n't", so the word "n't" counts as well. A typographic apostrophe is
      the same as a plain one.
    """
    described = list(zip(sentence.words, sentence.upos, sentence.deprels, strict=True))
    return {
        name: tuple(place for place, word in enumerate(described) if belongs(*word))
        for name, belongs in _BELONGS.items()
    }


def word_links(sentence: Annotated) -> dict[str, tuple[tuple[int, int], ...]]:
    """For each name in `WORD_LINKS` the pairs of words, (verb, subject) and (noun, pronoun), in the second's order.

    A subject is here an nsubj or csubj (with subtypes) whose head is a VERB.
    """
    subjects = (
        (head - 1, place)
        for place, (head, deprel) in enumerate(zip(sentence.heads, sentence.deprels, strict=True))
        if head and _base(deprel) in SUBJECTS and sentence.upos[head - 1] == "VERB"
    )
    pronouns = ((noun, pronoun) for pronoun, noun in sorted(sentence.antecedents.items()))
    return dict(zip(WORD_LINKS, (tuple(subjects), tuple(pronouns)), strict=True))


def _base(deprel: str) -> str:
    return deprel.partition(":")[0]


_BELONGS: dict[str, Callable[[str, str, str], bool]] = {
    "noun": lambda word, upos, deprel: upos in NOUNS,
    "verb": lambda word, upos, deprel: upos == "VERB",
    "pronoun": lambda word, upos, deprel: upos == "PRON",
    "subject": lambda word, upos, deprel: _base(deprel) in (*SUBJECTS, "expl") or deprel == "obl:agent",
    "object": lambda word, upos, deprel: _base(deprel) in ("obj", "iobj"),
    "negation": lambda word, upos, deprel: word.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") in NEGATIONS,
}
WORD_CLASSES = tuple(_BELONGS)
WORD_LINKS = ("verb-subject", "noun-pronoun")


def _from_table(table: pd.DataFrame, source: str) -> Iterator[Annotated]:
    words = "tokens" if "tokens" in table.columns else "words"
    lists = (words, "upos", "heads", "deprels")
    missing = [column for column in lists if column not in table.columns]
    if missing:
        named = ", ".join("tokens (or words)" if column == words else column for column in missing)
        has = listed(table.columns)
        raise DataProblem(f"{source} has no column {named}; it has {has}; add or rename columns")
    nothing = [None] * len(table)
    names, texts = (table[column] if column in table.columns else nothing for column in ("sent_id", "text"))
    for row, (sent_id, text, *cells) in enumerate(zip(names, texts, *(table[one] for one in lists), strict=True)):
        name = str(row + 1) if is_absent(sent_id) else str(sent_id)
        where = name_row(table.attrs, table.index[row]) if is_absent(sent_id) else f"{source}, sentence {short(name)}"
        if all(map(is_absent, cells)):
            cells = [[] for _ in cells]
        columns = {column: _list(cell, column, where) for column, cell in zip(lists, cells, strict=True)}
        yield _annotated(where, name, columns, {}, None if is_absent(text) else text)


def _list(cell: object, column: str, where: str) -> list[Any]:
    found = read_list(cell)
    if not isinstance(found, list | tuple | np.ndarray):
        raise DataProblem(f"{where}, column {column!r}: got {short(cell)}; expected a list, one entry for each word")
    # Of an array, plain numbers: errors then show 9, not np.int64(9).
    return found.tolist() if isinstance(found, np.ndarray) else list(found)


def _from_conllu(path: Path) -> Iterator[Annotated]:
    for place, block in enumerate(_blocks(_lines(path))):
        comments = _comments(line for _, line in block)
        name = comments.get("sent_id") or str(place + 1)
        where = f"{path}, sentence {short(name) if 'sent_id' in comments else name} (line {block[0][0]})"
        rows = _rows(block, path)
        columns = {
            column: [row[field] for row in rows]
            for column, field in (("words", 1), ("upos", 3), ("heads", 6), ("deprels", 7))
        }
        found = ((word, _misc(row[9], "Antecedent")) for word, row in enumerate(rows))
        antecedents = {word: noun for word, noun in found if noun is not None}
        yield _annotated(where, name, columns, antecedents, comments.get("text"))


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise DataProblem(f"there is no file {path}; expected sentences in CoNLL-U; check the path")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataProblem(f"{path} is not UTF-8 at byte {error.start}; expected UTF-8; save it so") from error
    if not text.strip():
        raise DataProblem(f"{path} is empty; expected at least one sentence in CoNLL-U; check the file")
    # Not splitlines: it would also split at characters that may stand inside a word, such as U+2028.
    return text.split("\n")


def _blocks(lines: Sequence[str]) -> list[list[tuple[int, str]]]:
    """The lines between blank lines, each with its number, from 1."""
    blocks: list[list[tuple[int, str]]] = [[]]
    for number, line in enumerate(lines, start=1):
        if line.strip():
            blocks[-1].append((number, line))
        else:
            blocks.append([])
    return [block for block in blocks if block]


def _comments(lines: Iterator[str]) -> dict[str, str]:
    pairs = (line[1:].partition("=") for line in lines if line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def _rows(block: Sequence[tuple[int, str]], path: Path) -> list[list[str]]:
    """The ten columns of each word of a sentence."""
    rows: list[list[str]] = []
    for number, line in block:
        if line.startswith("#"):
            continue
        row = line.split("\t")
        if len(row) != 10:
            raise DataProblem(f"{path}, line {number}: got {len(row)} columns; expected 10 with tabs between; mend it")
        if _NOT_A_WORD_LINE.fullmatch(row[0]):
            continue
        # A blank line that is missing would make one sentence of two, whose heads then point at the wrong words.
        if row[0] != str(len(rows) + 1):
            raise DataProblem(
                f"{path}, line {number}: got the word number {short(row[0])}; expected {len(rows) + 1};"
                " number the words from 1 and put a blank line between sentences"
            )
        rows.append(row)
    return rows


def _misc(field: str, key: str) -> str | None:
    entries = (entry.partition("=") for entry in field.split("|"))
    return next((value for name, equals, value in entries if equals and name.strip() == key), None)


def _annotated(
    where: str, name: str, columns: Mapping[str, list[Any]], antecedents: Mapping[int, str], text: object
) -> Annotated:
    """The sentence, checked. `columns` are the words, upos, heads and deprels by the names that the user gave them."""
    sizes = {column: len(values) for column, values in columns.items()}
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{size} {column}" for column, size in sizes.items())
        raise DataProblem(f"{where}: got {got}; expected lists of the same length; mend that sentence")
    if not any(sizes.values()):
        return Annotated(name, (), (), (), (), {})
    words, upos, deprels = (_strings(values, column, where) for column, values in columns.items() if column != "heads")
    if text is not None:
        _check_text(text, words, where)
    heads = tuple(_head(head, word, words, where) for word, head in enumerate(columns["heads"]))
    nouns = {word: _antecedent(noun, word, words, where) for word, noun in antecedents.items()}
    return Annotated(name, words, upos, deprels, heads, nouns)


def _strings(values: Sequence[object], column: str, where: str) -> tuple[str, ...]:
    for place, value in enumerate(values, start=1):
        if not isinstance(value, str) or not value.strip():
            raise DataProblem(f"{where}: got {short(value)} as entry {place} of {column}; expected a string; mend it")
    return tuple(map(str, values))


def _head(head: object, word: int, words: Sequence[str], where: str) -> int:
    number = _whole(head)
    if number is None or not 0 <= number <= len(words) or number == word + 1:
        raise DataProblem(
            f"{where}: word {word + 1} ({short(words[word])}) has the head {short(head)};"
            f" expected 0 (root) or another word, 1 to {len(words)}; mend it"
        )
    return number


def _antecedent(noun: str, word: int, words: Sequence[str], where: str) -> int:
    number = _whole(noun)
    if number is None or not 1 <= number <= len(words) or number == word + 1:
        raise DataProblem(
            f"{where}: word {word + 1} ({short(words[word])}) has the antecedent {short(noun)};"
            f" expected another word, 1 to {len(words)}; mend it"
        )
    return number - 1


def _whole(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isinstance(value, str) or number == value else None


def _check_text(text: object, words: Sequence[str], where: str) -> None:
    if not isinstance(text, str):
        raise DataProblem(f"{where}: got {short(text)} as its text; expected a string; mend it or leave the column out")
    rest = text.lstrip()
    for place, word in enumerate(words, start=1):
        if not rest.startswith(word):
            raise DataProblem(
                f"{where}: word {place} is {short(word)}, but the text goes on with {rest[:20]!r};"
                " expected the words one after the other; mend the words or leave the text out"
            )
        rest = rest[len(word) :].lstrip()
    if rest:
        raise DataProblem(
            f"{where}: after the last word, {short(words[-1])}, the text goes on with {rest[:20]!r};"
            " expected no more; add the words or mend the text"
        )
