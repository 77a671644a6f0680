"""Is damage to a study noticed by whoever reads it, or else without effect?"""

from __future__ import annotations

import hashlib
import json
import random
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.hard.shelf import Shelf
from tests.soak.commands import ALL_KINDS, COMMANDS, words
from tests.soak.contents import describe
from tests.soak.forks import Ended, command, import_what_children_import, start

DAMAGES = ("deleted", "a bit flipped", "emptied", "halved")
WORD = "damaged"
"""What a reader says that goes on without a damaged result."""


@dataclass
class Verdicts:
    count: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By damage and verdict: noticed, harmless, unnoticed or traceback."""
    failures: list[str] = field(default_factory=list)


def make_study(shelf: Shelf, root: Path) -> Path:
    """A study with results of every kind."""
    for name in ALL_KINDS:
        ended = import_what_children_import(command(words(COMMANDS[name], shelf)), root / "work", root / "log")
        if ended.code:
            raise SystemExit(f"{name} does not work undisturbed: {ended.err}")
    return root / "work" / "study"


def damage(place: Path, how: str, chance: random.Random) -> bool:
    """Damage the file; whether that is possible."""
    content = place.read_bytes()
    if how == "deleted":
        place.unlink()
        return True
    if not content:
        return False
    if how == "a bit flipped":
        changed = bytearray(content)
        changed[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        place.write_bytes(bytes(changed))
    else:
        place.write_bytes(b"" if how == "emptied" else content[: len(content) // 2])
    return True


def readers(study: Path, root: Path) -> dict[str, Callable[[], int]]:
    """Everything that reads a whole study: what it has read goes to a file, or it says why it could not."""
    root.mkdir(parents=True, exist_ok=True)

    def open_all() -> int:
        from headcount.errors import HeadcountError

        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = describe(study.parent)
        except HeadcountError as error:
            return _refuse(str(error))
        told = [str(one.message) for one in caught if WORD in str(one.message)]
        if told:
            return _refuse(told[0])
        (root / "open_study").write_text(json.dumps(found, sort_keys=True))
        return 0

    return {
        "open_study": open_all,
        "table": command(["table", str(study), "-o", str(root / "table")]),
        "report": command(["report", str(study), "-o", str(root / "report")]),
    }


def _refuse(line: str) -> int:
    import sys

    print(line, file=sys.stderr)
    return 2


def read_all(study: Path, root: Path) -> dict[str, tuple[Ended, str | None]]:
    """By reader, how it ended and a digest of what it has read."""
    found = {}
    for name, work in readers(study, root).items():
        (root / name).unlink(missing_ok=True)
        ended = start(work, root, root / f"log-{name}").end()
        place = root / name
        found[name] = (ended, hashlib.sha256(place.read_bytes()).hexdigest() if place.is_file() else None)
    return found


def judge(name: str, ended: Ended, digest: str | None, whole: str | None, root: Path) -> str:
    """What one reader made of the damage."""
    if ended.refused:
        return "noticed"
    if ended.code:
        return "traceback"
    if digest == whole:
        return "harmless"
    said = ended.out + ended.err + (root / name).read_text(errors="replace")
    return "noticed" if WORD in said else "unnoticed"


WORST = ("traceback", "unnoticed", "noticed", "harmless")


def damage_all(count: int, seed: int, shelf: Shelf, root: Path, only: str | None = None) -> Verdicts:
    """`count` damages, one at a time, each read by every reader; `only` repeats one by its number."""
    verdicts = Verdicts()
    study = make_study(shelf, root / "whole")
    read = read_all(study, root / "read")
    whole = {name: digest for name, (_, digest) in read.items()}
    for name, work in readers(study, root / "read").items():
        import_what_children_import(work, root / "read", root / "read" / f"log-{name}")
    again = {name: digest for name, (_, digest) in read_all(study, root / "read").items()}
    unlike = [name for name in whole if whole[name] is None or again[name] != whole[name]]
    if unlike:
        said = " ".join(read[name][0].err for name in unlike)
        raise SystemExit(f"the whole study cannot be read twice alike: {', '.join(unlike)} {said}")
    files = sorted(one for one in study.rglob("*") if one.is_file())
    for number in range(count):
        if only is not None and only != str(number):
            continue
        chance = random.Random(f"{seed}/damage/{number}")
        place, how = chance.choice(files), DAMAGES[number % len(DAMAGES)]
        content = place.read_bytes()
        if not damage(place, how, chance):
            verdicts.count[how, "harmless"] += 1
            continue
        told = {
            name: judge(name, ended, digest, whole[name], root / "read")
            for name, (ended, digest) in read_all(study, root / "read").items()
        }
        place.write_bytes(content)
        worst = next(verdict for verdict in WORST if verdict in told.values())
        verdicts.count[how, worst] += 1
        if worst in WORST[:2]:
            who = ", ".join(name for name, verdict in told.items() if verdict == worst)
            verdicts.failures.append(f"damage {number}: {place.relative_to(study)} {how}: {worst} by {who}")
    return verdicts
