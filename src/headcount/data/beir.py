"""Folders in the layout of BEIR: a corpus, queries, and judgements of pairs of them.

    corpus.jsonl       {"_id": "d1", "title": "...", "text": "..."}
    queries.jsonl      {"_id": "q1", "text": "..."}
    qrels/test.tsv     query-id, corpus-id, score     (a header, then one judgement a line)

The two files may be packed with gzip (`corpus.jsonl.gz`). A query is ranked among candidates, not among the whole
corpus: its judged documents and, up to a number of documents in all, those that share most words with it. These are
chosen without the model that is examined, and are the same for all of its variants.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.row_numbers import remember_source
from headcount.data.source_notes import add_notes
from headcount.errors import DataProblem, listed, short

CORPUS, QUERIES, JUDGEMENTS = "corpus.jsonl", "queries.jsonl", "qrels"
SPLITS = {"validation": ("test", "dev", "validation"), "train": ("train",)}
"""By the name of a split, the judgements that are taken: the first that are there."""
HEADER = ["query-id", "corpus-id", "score"]


def is_beir(source: Any) -> bool:
    """Whether this is a folder in the layout."""
    if not isinstance(source, str | Path) or not Path(source).is_dir():
        return False
    return _packed(Path(source) / CORPUS) is not None and (Path(source) / JUDGEMENTS).is_dir()


def read_beir(folder: str | Path, split: str, candidates: int) -> pd.DataFrame:
    """A row for each judged query of a split: `query`, `documents`, `relevance`, and the ids `query-id`, `corpus-ids`.

    `split`: validation (the test judgements, if there are any), train, or a name in `qrels`. Of more judged documents
    than `candidates`, a query keeps the most relevant ones, at most half of the candidates, and then the others in
    the order of the file.
    """
    root = Path(folder)
    judgements = _find_judgements(root, split)
    corpus, queries = _read_texts(root / CORPUS), _read_texts(root / QUERIES)
    judged = _read_judgements(judgements, corpus, queries)
    chosen = {query: _keep(relevance, candidates) for query, relevance in judged.items()}
    dropped = sum(len(chosen[query]) < len(relevance) for query, relevance in judged.items())
    chosen = _fill_up(chosen, queries, corpus, candidates)
    table = pd.DataFrame(
        {
            "query-id": list(chosen),
            "query": [queries[query] for query in chosen],
            "documents": [[corpus[document] for document in relevance] for relevance in chosen.values()],
            "relevance": [list(relevance.values()) for relevance in chosen.values()],
            "corpus-ids": [list(relevance) for relevance in chosen.values()],
        }
    )
    ranked = (
        f"a query's candidates are its judged documents and, up to {candidates} in all, the documents of the corpus "
        f"({len(corpus):,}) that share most words with it, which count as not relevant: scores are those of ranking "
        "candidates, not the corpus"
    )
    notes = [ranked]
    if dropped:
        which = "1 query has" if dropped == 1 else f"{dropped:,} queries have"
        notes.append(f"{which} more judged documents than candidates, and not all of them are ranked")
    return add_notes(remember_source(table, str(judgements)), notes)


def _find_judgements(root: Path, split: str) -> Path:
    names = SPLITS.get(split, (split,))
    found = next((path for name in names if (path := root / JUDGEMENTS / f"{name}.tsv").is_file()), None)
    if found is None:
        held = listed(sorted(path.name for path in (root / JUDGEMENTS).iterdir())) or "nothing"
        raise DataProblem(
            f"the folder {root / JUDGEMENTS} has no {' or '.join(f'{name}.tsv' for name in names)}; it has {held}"
        )
    return found


def _packed(path: Path) -> Path | None:
    """The file itself, or packed; None without both."""
    return next((each for each in (path, path.with_name(f"{path.name}.gz")) if each.is_file()), None)


def _read_texts(path: Path) -> dict[str, str]:
    """By id, the texts of a corpus or of queries, titles first."""
    file = _packed(path)
    if file is None:
        raise DataProblem(f"the folder {path.parent} has no {path.name} (or {path.name}.gz), which BEIR's layout has")
    texts: dict[str, str] = {}
    try:
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    entry = json.loads(line)
                    if not isinstance(entry, Mapping) or not isinstance(entry.get("text"), str) or "_id" not in entry:
                        raise DataProblem(f"{file}, line {number}: got {short(line.strip())}; expected _id and text")
                    texts[str(entry["_id"])] = f"{entry.get('title') or ''} {entry['text']}".strip()
    except (ValueError, OSError, EOFError) as error:
        raise DataProblem(f"{file} cannot be read as jsonl: {str(error).splitlines()[0]}") from error
    if not texts:
        raise DataProblem(f"{file} is empty; expected at least one text")
    return texts


def _read_judgements(path: Path, corpus: Mapping[str, str], queries: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """By query, the judgements of its documents, in the order of the file."""
    try:
        table = pd.read_csv(path, sep="\t", quoting=3, dtype={"query-id": str, "corpus-id": str}, keep_default_na=False)
    except (ValueError, pd.errors.ParserError) as error:
        raise DataProblem(f"{path} cannot be read as tsv: {str(error).splitlines()[0]}") from error
    if list(table.columns) != HEADER:
        raise DataProblem(f"{path} has the columns {listed(table.columns)}; expected {', '.join(HEADER)} in its header")
    judged: dict[str, dict[str, float]] = {}
    for number, (query, document, score) in enumerate(table.itertuples(index=False, name=None), 2):
        where = f"{path}, line {number}"
        for name, known, file in ((query, queries, QUERIES), (document, corpus, CORPUS)):
            if name not in known:
                raise DataProblem(f"{where}: got the id {short(name)}, which is not in {file}; restore the folder")
        try:
            judged.setdefault(query, {})[document] = float(score)
        except ValueError as error:
            raise DataProblem(f"{where}: got the score {short(score)}; expected a number") from error
    if not judged:
        raise DataProblem(f"{path} has no judgements; expected at least one")
    return judged


def _keep(relevance: dict[str, float], candidates: int) -> dict[str, float]:
    """At most so many of a query's judged documents."""
    if len(relevance) <= candidates:
        return relevance
    relevant = sorted((document for document in relevance if relevance[document] > 0), key=lambda one: -relevance[one])
    others = [document for document in relevance if relevance[document] <= 0]
    kept = {*relevant[: max(candidates // 2, candidates - len(others))]}
    kept |= {*others[: candidates - len(kept)]}
    return {document: value for document, value in relevance.items() if document in kept}


def _fill_up(
    judged: dict[str, dict[str, float]], queries: Mapping[str, str], corpus: Mapping[str, str], candidates: int
) -> dict[str, dict[str, float]]:
    """With the documents that share most words with each query, by the cosine of TF-IDF, until there are enough."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    try:
        weights = vectorizer.fit_transform(corpus.values())
    except ValueError:  # no text has a word
        return judged
    names = np.array(list(corpus), dtype=object)
    asked = vectorizer.transform([queries[query] for query in judged])
    full = {}
    for number, (query, relevance) in enumerate(judged.items()):
        similar = np.asarray((weights @ asked[number].T).todense())[:, 0]
        order = np.argsort(-similar, kind="stable")[: candidates + len(relevance)]
        others = [name for name in names[order] if name not in relevance][: max(0, candidates - len(relevance))]
        full[query] = relevance | dict.fromkeys(others, 0.0)
    return full
