"""`make soak`: kills, damages and two writers; exit code 1 where a result was lost or a number changed unnoticed."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.update(
    {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
)

import torch
import transformers

from tests.hard.shelf import Shelf
from tests.soak import damages, kills, writers

TABLES = ("kills", "damages", "writers")


def main() -> int:
    asked = read_arguments()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    began = time.monotonic()
    part, _, which = asked.repeat.partition(":")
    counts = {name: getattr(asked, name) if part in ("", name) else 0 for name in TABLES}
    only = which or None
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="soak-", dir=asked.folder) as folder:
        root = Path(folder).resolve()
        shelf = Shelf(root / "shelf")
        make_shelf(shelf)
        if counts["kills"]:
            tally = kills.kill_all(counts["kills"], asked.seed, shelf, root / "kills", only)
            show_kills(tally)
            failures += tally.failures
        if counts["damages"]:
            verdicts = damages.damage_all(counts["damages"], asked.seed, shelf, root / "damages", only)
            show_damages(verdicts)
            failures += verdicts.failures
        if counts["writers"]:
            meetings = writers.meet_all(counts["writers"], asked.seed, shelf, root / "writers", only)
            show_writers(meetings)
            failures += meetings.failures
    for line in failures:
        print(f"FAILED {line}")
    print(
        f"{len(failures)} failures in {time.monotonic() - began:.0f} s (seed {asked.seed}; repeat one case with "
        "REPEAT, such as kills:measure/17, damages:4 or writers:4)"
    )
    return bool(failures)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--damages", type=int, default=300)
    parser.add_argument("--writers", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeat", default="", help="one case of an earlier run, such as kills:measure/17")
    parser.add_argument("--folder", default=None, help="where to work; the folder for temporary files by default")
    return parser.parse_args()


def make_shelf(shelf: Shelf) -> None:
    """All models and tables, made by a child: the parent must not start a thread before it forks."""
    from tests.soak.commands import COMMANDS, OVER_ITSELF
    from tests.soak.forks import start

    names = sorted(
        {
            name
            for text in (*COMMANDS.values(), *(text for _, text in OVER_ITSELF.values()))
            for name in text.replace("}", "{").split("{")[1::2]
        }
    )

    def work() -> int:
        import json

        (shelf.root / "paths.json").write_text(json.dumps({name: shelf[name] for name in names}))
        return 0

    shelf.root.mkdir(parents=True)
    ended = start(work, shelf.root, shelf.root / "log").end()
    if ended.code:
        raise SystemExit(f"the models cannot be made: {ended.err}")
    import json

    shelf.update(json.loads((shelf.root / "paths.json").read_text()))


def show_kills(tally: kills.Tally) -> None:
    print(f"{'killed':28} {'kills':>6} {'at writes':>10} {'runs':>6} {'equal':>6} {'not':>5}")
    for name in tally.cases:
        row = (tally.kills[name], tally.at_writes[name], tally.cases[name], tally.equal[name])
        print(f"{name:28} {row[0]:6} {row[1]:10} {row[2]:6} {row[3]:6} {row[2] - row[3]:5}")
    total = [counter.total() for counter in (tally.kills, tally.at_writes, tally.cases, tally.equal)]
    print(f"{'in all':28} {total[0]:6} {total[1]:10} {total[2]:6} {total[3]:6} {total[2] - total[3]:5}\n")


def show_damages(verdicts: damages.Verdicts) -> None:
    columns = ("noticed", "harmless", "unnoticed", "traceback")
    print(f"{'a file of a study':28}" + "".join(f"{column:>11}" for column in columns))
    for how in damages.DAMAGES:
        print(f"{how:28}" + "".join(f"{verdicts.count[how, column]:11}" for column in columns))
    total = [sum(verdicts.count[how, column] for how in damages.DAMAGES) for column in columns]
    print(f"{'in all':28}" + "".join(f"{number:11}" for number in total) + "\n")


def show_writers(meetings: writers.Meetings) -> None:
    print(f"{'two writers':40} {'times':>6} {'refused':>8} {'equal':>6} {'not':>5}")
    for name in meetings.met:
        row = (meetings.met[name], meetings.refused[name], meetings.equal[name])
        print(f"{name:40} {row[0]:6} {row[1]:8} {row[2]:6} {row[0] - row[2]:5}")
    total = [counter.total() for counter in (meetings.met, meetings.refused, meetings.equal)]
    print(f"{'in all':40} {total[0]:6} {total[1]:8} {total[2]:6} {total[0] - total[2]:5}\n")


if __name__ == "__main__":
    sys.exit(main())
