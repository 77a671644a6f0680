"""How fast are the smaller models of a study here? The cuts of its `rows.json`, in turns with the whole model.

Speed depends on the widths of the layers and not on their weights, so one model is cut for all rows of its kind.
"""

import argparse
import copy
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import headcount as hc
from headcount.costs.cost import time_both


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("rows", type=Path, help="rows.json of a study")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args(words)
    model, _ = hc.load(given.model)
    model = model.float()
    known: set[str] = set()
    for row in json.loads(given.rows.read_text()):
        if row["parts"] in known:  # the same cut, trained
            continue
        known.add(row["parts"])
        smaller = hc.prune(copy.deepcopy(model), row["parts"])
        before, after = time_both(model, smaller, given.batch, given.length, given.repeats)
        low, speed, high = np.quantile(before / after, (0.25, 0.5, 0.75))
        print(
            f"{row['task']} {row['what']} {row['operations']:.0%}: {np.median(before) * 1e3:.0f} -> "
            f"{np.median(after) * 1e3:.0f} ms, {speed:.2f} [{low:.2f}, {high:.2f}] times as fast",
            flush=True,
        )


if __name__ == "__main__":
    main()
