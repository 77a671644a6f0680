"""Sentences of a CoNLL-U file; an error names the line that is malformed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from headcount.data.annotations import Annotated, check_sentence
from headcount.data.text_lines import read_lines
from headcount.errors import DataProblem, short

CONLLU = ".conllu"
_MULTIWORD = re.compile(r"(\d+)-(\d+)")
_EMPTY_NODE = re.compile(r"\d+\.\d+")
"""The number of a multiword token (1-2) or an empty node (1.1): neither is a word of the tree."""


def read_conllu(path: Path, texts: bool = True) -> Iterator[Annotated]:
    """The sentences of a file, in order; `Antecedent=N` in a pronoun's MISC column names the noun it stands for.

    With `texts=False` the comments `# text =` are not looked at.
    """
    for number, block in enumerate(_blocks(read_lines(path, "at least one sentence in CoNLL-U")), start=1):
        comments = _comments(line for _, line in block)
        name = comments.get("sent_id") or str(number)
        where = f"{path}, sentence {short(name) if 'sent_id' in comments else name} (line {block[0][0]})"
        rows, multiword = _rows(block, path)
        columns = {
            column: [row[field] for row in rows]
            for column, field in (("words", 1), ("upos", 3), ("heads", 6), ("deprels", 7))
        }
        nouns = ((word, _misc(row[9], "Antecedent")) for word, row in enumerate(rows))
        antecedents = {word: noun for word, noun in nouns if noun is not None}
        yield check_sentence(where, name, columns, antecedents, comments.get("text") if texts else None, multiword)


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


def _rows(block: Sequence[tuple[int, str]], path: Path) -> tuple[list[list[str]], list[tuple[str, str, str]]]:
    """The ten columns of each word of a sentence, and its multiword tokens: first word, last word, form."""
    rows: list[list[str]] = []
    multiword: list[tuple[str, str, str]] = []
    for number, line in block:
        if line.startswith("#"):
            continue
        row = line.split("\t")
        if len(row) != 10:
            raise DataProblem(f"{path}, line {number}: got {len(row)} columns; expected 10 with tabs between; fix it")
        if _EMPTY_NODE.fullmatch(row[0]):
            continue
        if several := _MULTIWORD.fullmatch(row[0]):
            multiword.append((several[1], several[2], row[1]))
            continue
        # Without the blank line between them two sentences would be read as one, with heads that are wrong.
        if row[0] != str(len(rows) + 1):
            raise DataProblem(
                f"{path}, line {number}: got the word number {short(row[0])}; expected {len(rows) + 1};"
                " number the words from 1 and put a blank line between sentences"
            )
        rows.append(row)
    return rows, multiword


def _misc(field: str, key: str) -> str | None:
    entries = (entry.partition("=") for entry in field.split("|"))
    return next((value for name, equals, value in entries if equals and name.strip() == key), None)
