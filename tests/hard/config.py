"""Options from a TOML file: missing, damaged, unknown, of the wrong type, and twice."""

from __future__ import annotations

from pathlib import Path

from tests.hard.row import bad
from tests.hard.shelf.base import Shelf, item

SWEEP = "sweep {classifier} --config "
GOOD = 'task = "sst2"\ndata = "DATA"\n'
FILES = {
    "toml-no-toml": "task = sst2 and more\n",
    "toml-open": 'task = "sst2\n',
    "toml-twice": GOOD + 'task = "cola"\n',
    "toml-unknown": GOOD + "colour = 3\n",
    "toml-misspelt": GOOD + "limt = 3\n",
    "toml-word-for-number": GOOD + 'limit = "many"\n',
    "toml-list-for-word": 'task = ["sst2", "cola"]\ndata = "DATA"\n',
    "toml-out-of-range": GOOD + "limit = 0\n",
    "toml-nan": GOOD + "seed = nan\n",
    "toml-choice": GOOD + 'by = "neuron"\n',
    "toml-empty": "",
    "toml-other-verb": "[measure]\nlimit = 3\n",
    "toml-date": GOOD + "limit = 2024-01-01\n",
    "toml-bool": GOOD + 'json = "perhaps"\n',
}


def _enter(name: str, content: str) -> None:
    @item(name)
    def make(shelf: Shelf, folder: Path) -> Path:
        (folder / f"{name}.toml").write_text(content.replace("DATA", shelf["texts"]))
        return folder / f"{name}.toml"


for _name, _content in FILES.items():
    _enter(_name, _content)


@item("toml-binary")
def _binary(shelf: Shelf, folder: Path) -> Path:
    (folder / "toml-binary.toml").write_bytes(b"\xff\xfe\x00\x01")
    return folder / "toml-binary.toml"


ROWS = [
    bad("no file", SWEEP + "no/such.toml", "--config no/such.toml", "TOML"),
    bad("no name", "sweep {classifier} --task sst2 --config", "--config", "TOML"),
    bad("a folder", SWEEP + "{notes}", "--config {notes}", "TOML"),
    bad("an empty name", "sweep {classifier} --config=", "--config", "TOML"),
    bad("two files", "sweep {classifier} --config {toml-empty} --config {toml-unknown}", "--config", "one TOML file"),
    bad("not TOML", SWEEP + "{toml-no-toml}", "{toml-no-toml}"),
    bad("a string that does not end", SWEEP + "{toml-open}", "{toml-open}"),
    bad("an option twice", SWEEP + "{toml-twice}", "{toml-twice}"),
    bad("no text", SWEEP + "{toml-binary}", "{toml-binary}"),
    bad("an unknown option", SWEEP + "{toml-unknown}", "colour"),
    bad("a misspelt option", SWEEP + "{toml-misspelt}", "limt"),
    bad("a word for a number", SWEEP + "{toml-word-for-number}", "limit", "many"),
    bad("a list for a word", SWEEP + "{toml-list-for-word}", "task"),
    bad("out of range", SWEEP + "{toml-out-of-range}", "limit", "at least 1"),
    bad("not a number", SWEEP + "{toml-nan}", "seed", "nan"),
    bad("not one of the choices", SWEEP + "{toml-choice}", "by", "neuron"),
    bad("an empty file", SWEEP + "{toml-empty}", "--task"),
    bad("the options of another verb", SWEEP + "{toml-other-verb}", "measure|--task"),
    bad("a date", SWEEP + "{toml-date}", "limit"),
    bad("neither yes nor no", SWEEP + "{toml-bool}", "json", "perhaps"),
    bad("a data file", SWEEP + "{texts}", "{texts}"),
    bad("no file, measure", "measure {classifier} --config no/such.toml", "no/such.toml"),
    bad("an unknown option, prune", "prune {classifier} --heads L0 --out x --config {toml-unknown}", "colour|task"),
    bad("an unknown option, demo", "demo --config {toml-unknown}", "colour|task"),
]
