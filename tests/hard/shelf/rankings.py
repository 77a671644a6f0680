"""Pairs of texts with scores, and queries with documents, whole and damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from tests.hard.shelf.base import Shelf, item

COLUMNS = ["sentence1", "sentence2", "label"]
QUERY = {"query": "good up", "documents": ["good bad", "down up"], "relevance": [1, 0]}
HEADER = "query-id\tcorpus-id\tscore\n"


def _pairs(name: str, *rows: tuple[Any, Any, Any]) -> None:
    @item(name)
    def make(shelf: Shelf, folder: Path) -> Path:
        pd.DataFrame(rows, columns=COLUMNS).to_csv(folder / f"{name}.csv", index=False)
        return folder / f"{name}.csv"


def _query(name: str, **other: Any) -> None:
    @item(name)
    def make(shelf: Shelf, folder: Path) -> Path:
        (folder / f"{name}.jsonl").write_text(json.dumps(QUERY | other) + "\n", encoding="utf-8")
        return folder / f"{name}.jsonl"


def _beir(name: str, judgements: str) -> None:
    @item(name)
    def make(shelf: Shelf, folder: Path) -> Path:
        root = folder / name
        (root / "qrels").mkdir(parents=True)
        (root / "corpus.jsonl").write_text('{"_id": "d1", "text": "good"}\n{"_id": "d2", "text": "bad"}\n')
        (root / "queries.jsonl").write_text('{"_id": "q1", "text": "good"}\n')
        (root / "qrels" / "test.tsv").write_text(judgements)
        return root


_pairs("scored-pairs", ("good up", "bad down", 1), ("up up", "down bad", 4))
_pairs("pair-without-score", ("good up", "bad down", 1), ("up up", "down bad", None))
_pairs("pairs-in-words", ("good up", "bad down", "good"), ("up up", "down bad", "bad"))
_pairs("pairs-alike", ("good up", "bad down", 1), ("up up", "down bad", 1))
_pairs("pair-of-numbers", ("good", 5, 1), ("up", 7, 2))
_query("ranked-queries")
_query("document-missing", documents=["good bad", None])
_query("judgement-missing", relevance=[1, None])
_query("judgements-short", relevance=[1])
_query("nothing-relevant", relevance=[0, 0])
_beir("beir-without-score", HEADER + "q1\td1\tnan\n")
_beir("beir-other-id", HEADER + "q1\td9\t1\n")
_beir("beir-trec", "q1 0 d1 1\n")
