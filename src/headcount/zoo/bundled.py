"""Where the bundled texts are, and whether they are what was shipped."""

from __future__ import annotations

import hashlib
from pathlib import Path

DATA = Path(__file__).parent / "data"
CHECKSUMS = DATA / "SHA256SUMS"


def bundled_pairs() -> Path:
    """Question-sentence pairs with labels, written for this project (jsonl): see `TEXTS.md` beside them."""
    return DATA / "pairs.jsonl"


def bundled_sentences() -> Path:
    """Sentences annotated in CoNLL-U, written for this project: see `TEXTS.md` beside them."""
    return DATA / "sentences.conllu"


def check_bundled() -> list[str]:
    """The names of bundled files that are missing or not what was shipped."""
    wrong = []
    for line in CHECKSUMS.read_text(encoding="utf-8").splitlines():
        expected, name = line.split("  ")
        path = DATA / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != expected:
            wrong.append(name)
    return wrong
