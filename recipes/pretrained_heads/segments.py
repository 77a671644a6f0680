"""Segments of Wikipedia as Clark et al. made them: two consecutive paragraphs of an article, drawn at random."""

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from headcount.data.tables import read_table

SHORTEST = 40
"""Characters of a paragraph at least: headings and stray lines are none."""


def make_segments(articles: pd.DataFrame, count: int, seed: int = 0) -> pd.DataFrame:
    """One pair of consecutive paragraphs from each of `count` random articles that have two; a paragraph is a line."""
    rng = np.random.default_rng(seed)
    rows = []
    for place in rng.permutation(len(articles)):
        paragraphs = [one.strip() for one in articles["text"].iloc[place].split("\n")]
        pairs = [(one, other) for one, other in pairwise(paragraphs) if min(len(one), len(other)) >= SHORTEST]
        if pairs:
            rows.append(pairs[rng.integers(len(pairs))])
        if len(rows) == count:
            break
    return pd.DataFrame(rows, columns=["sentence1", "sentence2"])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("articles", type=Path, help="a table with a column `text`, paragraphs on lines")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--out", type=Path, required=True, help="a parquet file")
    options = parser.parse_args(arguments)
    found = make_segments(read_table(options.articles), options.count)
    found.to_parquet(options.out, compression="zstd")
    print(len(found), "segments", flush=True)


if __name__ == "__main__":
    main()
