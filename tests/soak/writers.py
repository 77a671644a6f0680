"""Do two commands that write into one study at the same time leave what one after the other would have left?"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.hard.shelf import Shelf
from tests.soak.commands import COMMANDS, words
from tests.soak.contents import differing, hidden
from tests.soak.forks import command, import_what_children_import, start
from tests.soak.kills import described

PAIRS = [
    *[
        (name, name)
        for name in ("sweep by head", "measure", "compare", "patterns", "importance", "prune, a share", "maps", "cost")
    ],
    ("sweep by head", "measure"),
    ("measure", "patterns"),
    ("importance", "sweep by layer"),
    ("maps", "compare"),
]


@dataclass
class Meetings:
    met: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def one_after_the_other(pair: list[list[str]], root: Path) -> tuple[dict[str, str], float]:
    """What both commands leave, and how long the first one takes."""
    for one in pair:
        ended = import_what_children_import(command(one), root / "work", root / "log")
        if ended.code:
            raise SystemExit(f"{' '.join(one)} does not work undisturbed: {ended.err}")
    content = described(root / "work", root / "log")
    shutil.rmtree(root / "work")
    seconds = start(command(pair[0]), root / "work", root / "log").end().seconds
    shutil.rmtree(root)
    return content, seconds


def meet(pair: list[list[str]], content: dict[str, str], delay: float, root: Path) -> tuple[int, str | None]:
    """Start both, the second a moment later; who was refused runs again. How many were, and what is wrong."""
    first = start(command(pair[0]), root / "work", root / "log-1")
    first_alone = start(lambda: _sleep(delay), root / "work", root / "log-0")
    first_alone.end()
    second = start(command(pair[1]), root / "work", root / "log-2")
    ended = [first.end(), second.end()]
    refused = 0
    for one, words_of in zip(ended, pair, strict=True):
        if one.code == 0:
            continue
        last = one.err.strip().splitlines()[-1] if one.err.strip() else ""
        if not one.refused:
            return refused, f"exit code {one.code}, {one.err.count(chr(10))} lines: {last}"
        refused += 1
        again = start(command(words_of), root / "work", root / "log-3").end()
        if again.code:
            return refused, f"refused, and again when alone: {again.err.strip()}"
    wrong = differing(content, described(root / "work", root / "log-4"))
    if wrong:
        return refused, f"{len(wrong)} differ: {', '.join(wrong[:3])}"
    left = hidden(root / "work")
    return refused, f"left behind: {', '.join(left[:3])}" if left else None


def _sleep(seconds: float) -> int:
    import time

    time.sleep(seconds)
    return 0


def meet_all(count: int, seed: int, shelf: Shelf, root: Path, only: str | None = None) -> Meetings:
    """`count` meetings over all pairs of verbs, in turn; `only` repeats one by its number."""
    meetings = Meetings()
    known: dict[int, tuple[dict[str, str], float]] = {}
    for number in range(count):
        if only is not None and only != str(number):
            continue
        which = number % len(PAIRS)
        name = " and ".join(dict.fromkeys(PAIRS[which]))
        first, second = (COMMANDS[one] for one in PAIRS[which])
        # Two prunes write their curves into one study, but not their models into one folder.
        pair = [words(first, shelf), words(second.replace("--out small", "--out smaller"), shelf)]
        if which not in known:
            known[which] = one_after_the_other(pair, root / "single")
        content, seconds = known[which]
        delay = random.Random(f"{seed}/writers/{number}").uniform(0, 0.6 * seconds)
        refused, wrong = meet(pair, content, delay, root / "both")
        meetings.met[name] += 1
        meetings.refused[name] += refused
        if wrong is None:
            meetings.equal[name] += 1
        else:
            meetings.failures.append(f"writers {number} ({name}, {delay:.2f} s apart): {wrong}")
        shutil.rmtree(root / "both")
    return meetings
