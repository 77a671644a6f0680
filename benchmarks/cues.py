"""What counting cues costs: `hc.cues` on many rows with bigrams, with and without the cue-only classifier.

    python benchmarks/cues.py                    # 100,000 pairs of choices
    python benchmarks/cues.py --rows 1000000 --no-classifier

The texts are random words with the frequencies of a language (Zipf's law), 20 in each, and one word is a planted cue.
The whole call is timed, from the data frame to the result. Goal: at most 30 s and 1 GB on 2 cores, classifier included.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import numpy as np
import pandas as pd

import headcount as hc


def make_choices(rows: int, words: int = 20, vocabulary: int = 50_000, seed: int = 0) -> pd.DataFrame:
    """Two random choices a row; "not" is in one of them in a third of the rows, and in the correct one in 70 %."""
    generator = np.random.default_rng(seed)
    shares = 1 / np.arange(10, vocabulary + 10)
    bounds = np.cumsum(shares / shares.sum())
    names = np.array([f"w{number}" for number in range(vocabulary)], dtype=object)
    columns = []
    for _ in range(2):
        numbers = np.searchsorted(bounds, generator.random((rows, words)))
        columns.append([" ".join(row) for row in names[np.minimum(numbers, vocabulary - 1)]])
    labels = generator.integers(0, 2, rows)
    cued = np.where(generator.random(rows) < 0.7, labels, 1 - labels)
    for row in np.flatnonzero(generator.random(rows) < 1 / 3):
        columns[cued[row]][row] += " not"
    return pd.DataFrame({"first": columns[0], "second": columns[1], "label": labels})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--no-classifier", action="store_true")
    options = parser.parse_args()
    table = make_choices(options.rows)
    hc.cues(table.head(100), choices=["first", "second"], least=1)  # imports
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, busy = time.perf_counter(), time.process_time()
    result = hc.cues(table, choices=["first", "second"], classifier=not options.no_classifier)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {
                "rows": options.rows,
                "cues_tested": int(result["tested"]),
                "seconds": round(seconds, 1),
                "cpu_seconds": round(busy, 1),
                "peak_MB": round(peak / 1024),
                "MB_before": round(before / 1024),
                "best_cue": result["best_cue"].item(),
                "cue_accuracy": None if options.no_classifier else round(float(result["cue_accuracy"]), 4),
            }
        )
    )


if __name__ == "__main__":
    main()
