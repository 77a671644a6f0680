"""How does running text become documents of clean sentences?

Vocabulary and tokens both read through `read_documents`, so they come from the same sentences.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path

SHORTEST_PARAGRAPH = 60  # characters; shorter lines are headings, list items and captions
SHORTEST_SENTENCE = 12

_TAG = re.compile(r"<[^<>]{1,200}>")
_PLACEHOLDER = re.compile(r"\b(?:formula|codice)_\d+")
_SPACE = re.compile(r"\s+")
_BOUNDARY = re.compile(r"[.!?][\"'\u201d\u2019)\]]*\s+(?=[\"'\u201c\u2018(\[]*[A-Z0-9])")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Sr|Jr|Prof|Gen|Col|Capt|Lt|Rev|Hon|Mt|No|Vol|vs|cf|ca|c|e\.g|i\.e)$"
)


def split_sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph, in order.

    >>> split_sentences("Dr. Lamb kept bees. She sold the honey in J. Street!")
    ['Dr. Lamb kept bees.', 'She sold the honey in J. Street!']
    """
    sentences, start = [], 0
    for match in _BOUNDARY.finditer(paragraph):
        if paragraph[match.start()] == "." and _ABBREVIATION.search(
            paragraph[max(start, match.start() - 6) : match.start()]
        ):
            continue
        sentences.append(paragraph[start : match.end()].rstrip())
        start = match.end()
    sentences.append(paragraph[start:].rstrip())
    return [sentence for sentence in sentences if len(sentence) >= SHORTEST_SENTENCE]


def clean_document(text: str) -> list[str]:
    """The sentences of the paragraphs of prose, without tags; a sentence with a formula's placeholder is dropped.

    Paragraphs are lines, unless blank lines part them: then the lines of a paragraph are joined.
    """
    if "<" in text or "&" in text:
        text = _TAG.sub(" ", html.unescape(text))
    hard_wrapped = text.count("\n\n") > text.count("\n") / 20
    sentences: list[str] = []
    for block in text.split("\n\n" if hard_wrapped else "\n"):
        paragraph = _SPACE.sub(" ", block.replace("_", "") if hard_wrapped else block).strip()
        if len(paragraph) < SHORTEST_PARAGRAPH or paragraph[-1] not in ".!?\"'\u201d\u2019)":
            continue
        sentences += [sentence for sentence in split_sentences(paragraph) if not _PLACEHOLDER.search(sentence)]
    return sentences


def read_documents(paths: list[Path]) -> Iterator[list[str]]:
    """Documents as lists of sentences: each row's `text` of a `.parquet` file, the whole of any other file."""
    for path in paths:
        if path.suffix == ".parquet":
            import pyarrow.parquet

            for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=64, columns=["text"]):
                texts = batch.column(0).to_pylist()
                yield from filter(None, map(clean_document, texts))
        elif sentences := clean_document(path.read_text(encoding="utf-8")):
            yield sentences
