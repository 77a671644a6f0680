"""Documents in the format of the CoNLL-2012 shared task; an error names the line that is malformed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headcount.data.coreference.documents import Document, Span, make_document
from headcount.data.text_lines import read_lines
from headcount.errors import DataProblem, short

SUFFIX = "conll"
"""How the names of such files end: .conll, .v4_gold_conll, .v4_auto_conll."""
LEAST = 6
"""Document, part, number, word, part of speech, ..., coreference."""
WORD, TAG = 3, 4
_PART = re.compile(r"\((\d+)\)|\((\d+)|(\d+)\)")
_NOTHING = ("-", "_", "*")
_ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "/.": ".", "/?": "?"}
"""How the Penn Treebank writes characters that mean something in its trees."""


@dataclass
class _Open:
    """A document that has begun."""

    name: str
    line: int
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    columns: int = 0
    """Those of the sentence that has begun; 0 between sentences."""
    unclosed: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """For each entity the first words, and the lines, of the mentions that have not ended."""
    entities: dict[str, list[Span]] = field(default_factory=dict)


def read_conll2012(path: Path) -> Iterator[Document]:
    """The documents of a file, or of all such files in a folder; the parts of a document are documents of their own.

    Two entities with a mention in common are the same.
    """
    if path.is_dir():
        for file in sorted(file for file in path.rglob(f"*{SUFFIX}") if file.is_file()):
            yield from _read(file)
    else:
        yield from _read(path)


def _read(path: Path) -> Iterator[Document]:
    document: _Open | None = None
    count = 0
    for number, line in enumerate(read_lines(path, "at least one document in CoNLL-2012 format"), start=1):
        where = f"{path}, line {number}"
        if line.startswith("#begin document"):
            if document is not None:
                raise DataProblem(f"{where}: {document.name} has no end; expected #end document before; add it")
            count += 1
            document = _Open(line.removeprefix("#begin document").strip() or f"document {count}", number)
        elif line.startswith("#end document"):
            if document is None:
                raise DataProblem(f"{where}: got #end document; expected #begin document before it; add it")
            yield _finish(document, path)
            document = None
        elif not line.strip():
            if document is not None:
                document.columns = 0
        elif not line.startswith("#"):
            if document is None:
                raise DataProblem(
                    f"{where}: got {short(line, 40)} outside of a document; expected #begin document before it; add it"
                )
            _add(document, line.split(), f"{path}, {document.name}, line {number}", number)
    if document is not None:
        raise DataProblem(f"{path}: {document.name} has no end; expected #end document; is the file cut short?")
    if not count:
        raise DataProblem(f"{path} has no line #begin document; expected CoNLL-2012 format; check the file")


def _add(document: _Open, row: list[str], where: str, line: int) -> None:
    """One word."""
    if len(row) < LEAST or (document.columns and len(row) != document.columns):
        expected = f"{document.columns} as in the rest of the sentence" if document.columns else f"at least {LEAST}"
        raise DataProblem(f"{where}: got {len(row)} columns; expected {expected}; fix it")
    word = len(document.words)
    if not document.columns:
        document.starts.append(word)
        document.columns = len(row)
    document.words.append(_ESCAPED.get(row[WORD], row[WORD]))
    document.tags.append(row[TAG])
    if row[-1] in _NOTHING:
        return
    for part in row[-1].split("|"):
        match = _PART.fullmatch(part)
        if match is None:
            raise DataProblem(
                f"{where}: got the brackets {short(row[-1])}; expected such as (12, 12) or (12)|(3; fix it"
            )
        alone, opened, closed = match.groups()
        if alone is not None:
            document.entities.setdefault(alone, []).append((word, word + 1))
        elif opened is not None:
            document.unclosed.setdefault(opened, []).append((word, line))
        else:
            if not document.unclosed.get(closed):
                raise DataProblem(
                    f"{where}: the bracket {part!r} closes what was not opened; expected ({closed} before"
                )
            start, _ = document.unclosed[closed].pop()
            document.entities.setdefault(closed, []).append((start, word + 1))


def _finish(document: _Open, path: Path) -> Document:
    where = f"{path}, {document.name}, line {document.line}"
    if not document.words:
        raise DataProblem(f"{where}: the document has no words; expected at least one; remove it")
    for entity, opened in document.unclosed.items():
        if opened:
            raise DataProblem(
                f"{path}, {document.name}, line {opened[-1][1]}: the bracket '({entity}' does not close;"
                f" expected {entity}) in this document; fix it"
            )
    tags = None if all(tag in _NOTHING for tag in document.tags) else document.tags
    return make_document(document.name, document.words, document.starts, _merged(document.entities), tags)


def _merged(entities: dict[str, list[Span]]) -> Sequence[list[Span]]:
    """The mentions of each entity, each once; entities with a mention in common are one."""
    merged: list[list[Span]] = []
    of_span: dict[Span, list[Span]] = {}
    for spans in entities.values():
        same = next((of_span[span] for span in spans if span in of_span), None)
        if same is None:
            merged.append(same := [])
        for span in spans:
            other = of_span.get(span)
            if other is not None and other is not same:
                merged.remove(other)
                same += other
                of_span |= dict.fromkeys(other, same)
            elif other is None:
                same.append(span)
                of_span[span] = same
    return merged
