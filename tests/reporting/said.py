"""The findings of a study in one list."""

from __future__ import annotations

from headcount.reporting.findings import find_sentences
from headcount.reporting.view import View


def all_sentences(view: View) -> list[str]:
    return [sentence for section in find_sentences(view) for sentence in section["sentences"]]
