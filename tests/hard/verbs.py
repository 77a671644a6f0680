"""A command of every verb that works, in which a row then puts one thing wrong."""

from __future__ import annotations

MODEL = "{classifier}"
DATA = "{texts}"
COMMANDS = {
    "heads": "heads {classifier}",
    "sweep": "sweep {classifier} --task sst2 --data {texts} --batch-tokens 200",
    "measure": "measure {classifier} --data {texts} --distance-examples 2",
    "compare": "compare {classifier} {classifier-2} --data {texts}",
    "patterns": "find-patterns {classifier} --data {texts}",
    "maps": "maps {classifier} --text 'w1 w2 w3' --out study",
    "finetune": "finetune {classifier} --tasks sst2 --data {texts} --out runs --num-train-epochs 1 "
    "--per-device-train-batch-size 16",
    "partial": "partial {bare} --choices first second --inputs choices all --text context --data {choices-of-two} "
    "--out parts --seeds 1 --num-train-epochs 1",
    "importance": "importance {classifier} --task sst2 --data {texts}",
    "prune": "prune {classifier} --heads L0H0 --out small",
    "choose": "prune {classifier} --task sst2 --data {texts} --drop 50% --steps 2 --out small",
    "dynamics": "dynamics {run} --task sst2 --data {texts} --steps 2",
    "cost": "cost {classifier} --batches 1 --lengths 8 --repeats 1",
    "export": "export {classifier} --to zeroed --out whole",
    "report": "report {study} -o page.html",
    "figure": "figure {study} -o heads.svg",
    "table": "table {study}",
    "agreement": "agreement {study}",
    "explain": "explain L0H0 {study}",
}
"""Two of prune: with heads that are named, and with heads to be chosen. The demo takes no model and no data."""


def with_model(model: str, *leave_out: str) -> dict[str, str]:
    """Every verb that reads a model, with this one in its place; compare also with it as the second."""
    found = {verb: command.replace(MODEL, model) for verb, command in COMMANDS.items() if MODEL in command}
    found["compare, second"] = COMMANDS["compare"].replace("{classifier-2}", model)
    return {verb: command for verb, command in found.items() if verb not in leave_out}


def with_data(data: str, *leave_out: str) -> dict[str, str]:
    """Every verb that reads a table, with this one in its place."""
    return {
        verb: command.replace(DATA, data)
        for verb, command in COMMANDS.items()
        if DATA in command and verb not in leave_out
    }


def with_task(data: str, *leave_out: str) -> dict[str, str]:
    """Every verb that reads labels, with this table in its place."""
    return with_data(data, "measure", "compare", "patterns", *leave_out)


def adding(more: str, *verbs: str) -> dict[str, str]:
    """The commands of these verbs with more words behind."""
    return {verb: f"{COMMANDS[verb]} {more}" for verb in verbs}


def into(place: str, *leave_out: str) -> dict[str, str]:
    """Every verb that adds to a study, with this one."""
    outs = ("sweep", "measure", "compare", "patterns", "importance")
    found = adding(f"--out {place}", *outs) | adding(f"--study {place}", "choose", "dynamics", "cost")
    found["maps"] = COMMANDS["maps"].replace("--out study", f"--out {place}")
    return {verb: command for verb, command in found.items() if verb not in leave_out}


def reading(study: str, *leave_out: str) -> dict[str, str]:
    """Every verb that reads a study, with this one in its place."""
    verbs = [verb for verb in ("report", "figure", "table", "agreement", "explain") if verb not in leave_out]
    return {verb: COMMANDS[verb].replace("{study}", study) for verb in verbs}
