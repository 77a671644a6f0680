"""Does a command that was killed, and killed again, end with the result of one that nobody disturbed?"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.hard.shelf import Shelf
from tests.soak.commands import COMMANDS, OVER_ITSELF, words
from tests.soak.contents import describe, differing, hidden
from tests.soak.forks import Ended, command, import_what_children_import, start

MOST_KILLS = 4
"""Kills of one command before it may run to its end."""


@dataclass
class Known:
    """A command, what it makes when nobody disturbs it, how many writes it needs and how long it takes."""

    words: list[str]
    before: list[str] | None
    content: dict[str, str]
    writes: int
    seconds: float


@dataclass
class Tally:
    cases: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    at_writes: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def described(folder: Path, log: Path) -> dict[str, str]:
    """What is in the folder, read by a child."""

    def work() -> int:
        log.with_suffix(".json").write_text(json.dumps(describe(folder)))
        return 0

    ended = start(work, folder, log).end()
    if ended.code:
        return {"unreadable": ended.err.strip().splitlines()[-1] if ended.err.strip() else str(ended.code)}
    found: dict[str, str] = json.loads(log.with_suffix(".json").read_text())
    return found


def undisturbed(name: str, shelf: Shelf, root: Path) -> Known:
    """Run the command once to import what it needs, and once to know what it makes."""
    text, before = (
        (OVER_ITSELF[name][1], COMMANDS[OVER_ITSELF[name][0]]) if name in OVER_ITSELF else (COMMANDS[name], None)
    )
    known = Known(words(text, shelf), words(before, shelf) if before else None, {}, 0, 0)
    for attempt in ("import", "know"):
        folder, log = root / attempt / "work", root / attempt / "log"
        prepare(known, folder, log)
        ended = import_what_children_import(command(known.words), folder, log)
        if ended.code:
            raise SystemExit(f"{name} does not work undisturbed: {ended.err}")
    known.seconds, known.writes = ended.seconds, int(log.with_suffix(".writes").read_text())
    assert known.writes, f"{name} writes nothing that is seen"
    known.content = described(folder, log)
    shutil.rmtree(root)
    return known


def prepare(known: Known, folder: Path, log: Path) -> None:
    """The folder before the command: empty, or with what is to be replaced and a file of somebody else in it."""
    folder.mkdir(parents=True)
    if known.before:
        ended = start(command(known.before), folder, log).end()
        assert ended.code == 0, ended.err
        for place in folder.iterdir():
            (place / "notes.txt").write_text("mine")


def one_case(name: str, known: Known, chance: random.Random, root: Path, tally: Tally, at_most: int) -> str | None:
    """Kill the command a few times, let it end, and compare; the answer says what is wrong."""
    folder, log = root / "work", root / "log"
    prepare(known, folder, log)
    ended: Ended | None = None
    for _ in range(min(at_most, chance.randint(1, MOST_KILLS))):
        if chance.random() < 0.5:
            at, after = chance.randint(1, max(1, known.writes)), None
        else:
            at, after = None, chance.uniform(0, known.seconds)
        ended = start(command(known.words), folder, log, at).end(after)
        if not ended.killed:
            break  # little was left to do
        tally.kills[name] += 1
        tally.at_writes[name] += at is not None
    if ended is None or ended.killed:
        ended = start(command(known.words), folder, log).end()
    wrong = differing(known.content, described(folder, root / "read"))
    # Killed after its last write, a model is whole and in its place: the command is then refused, and nothing is lost.
    if ended.code and (wrong or not ended.refused):
        return f"exit code {ended.code}: {ended.err.strip().splitlines()[-1] if ended.err.strip() else ''}"
    if wrong:
        return f"{len(wrong)} differ: {', '.join(wrong[:3])}"
    left = hidden(folder)
    return f"left behind: {', '.join(left[:3])}" if left else None


def kill_all(count: int, seed: int, shelf: Shelf, root: Path, only: str | None = None) -> Tally:
    """Spread `count` kills over all commands, in turn; `only` repeats one case, such as `measure/17`."""
    tally, number = Tally(), 0
    known: dict[str, Known] = {}
    names = [*COMMANDS, *OVER_ITSELF]
    while tally.kills.total() < count and number < 20 * count + len(names):
        name, turn = names[number % len(names)], number // len(names)
        number += 1
        if only is not None and only != f"{name}/{turn}":
            if turn > int(only.rpartition("/")[2]):
                break
            continue
        if name not in known:
            known[name] = undisturbed(name, shelf, root / "undisturbed")
        place = root / "case"
        wrong = one_case(
            name, known[name], random.Random(f"{seed}/{name}/{turn}"), place, tally, count - tally.kills.total()
        )
        tally.cases[name] += 1
        if wrong is None:
            tally.equal[name] += 1
        else:
            tally.failures.append(f"kills of {name}/{turn}: {wrong}")
        shutil.rmtree(place)
    return tally
