"""Are folders in BEIR's layout read as they are, and is what is wrong in them named with its line?"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from headcount.data.beir import is_beir, read_beir
from headcount.data.source_notes import notes_of
from headcount.errors import DataProblem

CORPUS = {
    "d1": ("Tea", "is grown on hills"),
    "d2": ("", "ships carry tea over the sea"),
    "d3": ("Sea", "water is salt"),
    "d4": ("", "a hill is no mountain"),
    "d5": ("", "bread"),
}
QUERIES = {"q1": "where is tea grown", "q2": "what is in the sea", "q3": "never judged"}
JUDGED = [("q1", "d1", 2), ("q1", "d4", 0), ("q2", "d3", 1)]


def write(folder: Path, judged: Any = JUDGED, split: str = "test", packed: bool = False) -> Path:
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    texts = {
        "corpus.jsonl": [{"_id": key, "title": title, "text": text} for key, (title, text) in CORPUS.items()],
        "queries.jsonl": [{"_id": key, "text": text} for key, text in QUERIES.items()],
    }
    for name, entries in texts.items():
        lines = "".join(json.dumps(entry) + "\n" for entry in entries)
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(lines.encode()))
        else:
            (folder / name).write_text(lines)
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in judged)]
    (folder / "qrels" / f"{split}.tsv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_judged_documents_come_first_and_like_ones_fill_up(packed: bool, tmp_path: Path) -> None:
    folder = write(tmp_path, packed=packed)
    assert is_beir(folder)
    table = read_beir(folder, "validation", candidates=3)
    assert table["query"].tolist() == ["where is tea grown", "what is in the sea"]
    assert table["corpus-ids"][0] == ["d1", "d4", "d2"], "d2 shares a word with the query"
    assert table["corpus-ids"][1][0] == "d3"
    assert set(table["corpus-ids"][1]) == {"d3", "d1", "d2"} or set(table["corpus-ids"][1]) == {"d3", "d2", "d4"}
    assert table["documents"][0][:1] == ["Tea is grown on hills"]
    assert table["relevance"].tolist() == [[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert "up to 3 in all, the documents of the corpus (5) that share most words" in notes_of(table.attrs)[0]


def test_more_judged_documents_than_candidates(tmp_path: Path) -> None:
    judged = [("q1", "d5", 0), ("q1", "d4", 1), ("q1", "d3", 3), ("q1", "d2", 2), ("q1", "d1", 0)]
    table = read_beir(write(tmp_path, judged), "validation", candidates=3)
    assert table["corpus-ids"][0] == ["d5", "d3", "d1"], "the most relevant one, and two others"
    assert (
        notes_of(table.attrs)[1] == "1 query has more judged documents than candidates, and not all of them are ranked"
    )


def test_splits(tmp_path: Path) -> None:
    folder = write(tmp_path, JUDGED[:2], "train")
    with pytest.raises(DataProblem, match=r"qrels has no test\.tsv or dev\.tsv or validation\.tsv; it has train\.tsv"):
        read_beir(folder, "validation", 2)
    write(folder, JUDGED[2:], "dev")
    assert len(read_beir(folder, "train", 2)) == len(read_beir(folder, "validation", 2)) == 1
    assert read_beir(folder, "validation", 2)["query-id"].tolist() == ["q2"]
    assert read_beir(folder, "dev", 2)["query-id"].tolist() == ["q2"]


def test_other_folders(tmp_path: Path) -> None:
    assert not is_beir(tmp_path)
    assert not is_beir("no/such/folder")
    assert not is_beir([{"query": "a"}])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("qrels/test.tsv", "q1\td1\t1\n", r"test\.tsv has the columns q1, d1, 1; expected query-id, corpus-id, score"),
        (
            "qrels/test.tsv",
            "query-id\tcorpus-id\tscore\nq9\td1\t1\n",
            r"line 2: got the id 'q9', which is not in queries",
        ),
        (
            "qrels/test.tsv",
            "query-id\tcorpus-id\tscore\nq1\td9\t1\n",
            r"line 2: got the id 'd9', which is not in corpus",
        ),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\tgood\n", "got the score 'good'; expected a number"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", "has no judgements"),
        ("corpus.jsonl", '{"_id": "d1", "text": "a"}\n{"_id": "d2"}\n', r"corpus\.jsonl, line 2: got .*; expected _id"),
        ("corpus.jsonl", '{"_id": ', r"corpus\.jsonl cannot be read as jsonl"),
        ("corpus.jsonl", "", r"corpus\.jsonl is empty"),
    ],
)
def test_damaged_folders(name: str, content: str, message: str, tmp_path: Path) -> None:
    (write(tmp_path) / name).write_text(content)
    with pytest.raises(DataProblem, match=message):
        read_beir(tmp_path, "validation", 3)


def test_a_file_is_missing(tmp_path: Path) -> None:
    (write(tmp_path) / "queries.jsonl").unlink()
    with pytest.raises(DataProblem, match=r"has no queries\.jsonl \(or queries\.jsonl\.gz\), which BEIR's layout has"):
        read_beir(tmp_path, "validation", 3)
