"""Every verb that can be resumed, as a command on tiny models that writes into the working folder."""

from __future__ import annotations

from tests.hard.shelf import Shelf

SWEEP = "sweep {classifier} --task sst2 --data {texts} --limit 12 --batch-tokens 40 --out study"
CHOOSE = "prune {classifier} --task sst2 --data {texts} --steps 2 --randoms 1 --out small --study study"
COMMANDS = {
    "sweep by head": SWEEP,
    "sweep by layer": f"{SWEEP} --by layer",
    "sweep by head, zero": f"{SWEEP} --how zero",
    "sweep by head, mean": f"{SWEEP} --how mean --reference {{texts}}",
    "sweep, generation": "sweep {translator} --task translation --data {translations} --limit 6 --max-new-tokens 3"
    " --batch-tokens 40 --out study",
    "measure": "measure {classifier} --data {texts} --limit 8 --batch-tokens 40 --distance-examples 2 --out study",
    "compare": "compare {classifier} {classifier-2} --data {texts} --limit 8 --batch-tokens 40 --out study",
    "patterns": "patterns {classifier} --data {texts} --limit 8 --batch-tokens 40 --out study",
    "maps": "maps {classifier} --text w1,w2,w3 --out study",
    "importance": "importance {classifier} --task sst2 --data {texts} --limit 12 --batch-tokens 40 --out study",
    "prune, a share": f"{CHOOSE} --drop 50%",
    "prune, a tolerance": f"{CHOOSE} --tolerance 90 --by-estimate",
    "prune, heads": "prune {classifier} --heads L0H0 --out small",
    "export": "export {pruned} --to zeroed --out whole",
    "dynamics": "dynamics {run} --task sst2 --data {texts} --steps 2 --study study",
    "finetune": "finetune {classifier} --tasks sst2 --data {texts} --limit 16 --num-train-epochs 1 "
    "--per-device-train-batch-size 4 --checkpoints 2"
    " --out runs",
    "cost": "cost {classifier} --batches 1 --lengths 8 --repeats 1 --study study",
}
OVER_ITSELF = {
    "prune, over an earlier one": ("prune, heads", "prune {classifier} --heads L1H1 --out small --overwrite"),
    "export, over an earlier one": ("export", "export {classifier} --to zeroed --out whole --overwrite"),
}
"""What is there before, and the command that replaces it."""
ALL_KINDS = (
    "sweep by head",
    "sweep by layer",
    "measure",
    "compare",
    "patterns",
    "maps",
    "importance",
    "prune, a share",
    "dynamics",
    "cost",
)
"""Commands that together make a study with results of every kind."""


def words(text: str, shelf: Shelf) -> list[str]:
    return [word.format_map(shelf) for word in text.split()]
