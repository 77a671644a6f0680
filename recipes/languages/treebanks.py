"""Treebanks as tables: with their multiword tokens, and with a relation split by which of its words comes first."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

MULTIWORD = "UD_multiword_tokens.parquet"
"""treebank, split, sent_id, first, last, form: the lines like "3-4 du" of the CoNLL-U files."""


def read_treebank(folder: Path, split: str = "test") -> pd.DataFrame:
    """A split of a treebank with its multiword tokens as the column that `headcount probe` reads."""
    table = pd.read_parquet(folder / f"{split}.parquet")
    tokens = pd.read_parquet(folder.parent / MULTIWORD).query("treebank == @folder.name and split == @split")
    by_sentence = {name: group[["first", "last", "form"]].values.tolist() for name, group in tokens.groupby("sent_id")}
    return table.assign(multiword=[by_sentence.get(name, []) for name in table["sent_id"]])


def split_by_order(table: pd.DataFrame, relation: str) -> pd.DataFrame:
    """The same trees with `obj` as `obj:before` or `obj:after` its head; `probe` takes both together as `obj`, too."""

    def renamed(row: pd.Series) -> list[str]:
        return [
            f"{relation}:{'before' if word < head else 'after'}" if deprel.split(":")[0] == relation else deprel
            for word, (head, deprel) in enumerate(zip(row["heads"], row["deprels"], strict=True), start=1)
        ]

    return table.assign(deprels=table.apply(renamed, axis=1))
