"""What is printed when a command is stopped: what was saved, and which command resumes."""

from __future__ import annotations

import os
from pathlib import Path

RESUMED = {
    "attribution": "--out",
    "carriers": "--out",
    "choose": "--study",
    "circuit": "--out",
    "compare": "--out",
    "cue-heads": "--out",
    "curve": "--out",
    "demo": "--out",
    "dynamics": "--study",
    "finetune": "--out",
    "function-vectors": "--out",
    "importance": "--out",
    "measure": "--out",
    "partial": "--out",
    "paths": "--out",
    "find-patterns": "--out",
    "gates": "--out",
    "patterns": "--out",
    "probe": "--out",
    "prune": "--study",
    "recover": "--out",
    "sweep": "--out",
}
"""Verbs that save as they run, and the option that names the folder."""
AT_THE_END = (
    "adversarial",
    "agreement",
    "cost",
    "cues",
    "doctor",
    "explain",
    "export",
    "figure",
    "heads",
    "live",
    "maps",
    "refit",
    "report",
    "table",
)
"""Verbs that write nothing before they are done."""


def state_beside(out: Path) -> Path:
    """The folder of an unfinished recovery, beside that of the model that it will be."""
    return out.with_name(f".{out.name}-state")


def stopped_line(words: list[str]) -> str:
    """One line for a command that was stopped.

    >>> stopped_line(["heads", "bundled:qnli"])
    'stopped; heads writes nothing before it is done; to start again: headcount heads bundled:qnli'
    >>> stopped_line(["sweep", "bundled:qnli", "--task", "qnli"])
    'stopped; nothing is kept without --out; with it the same command resumes: headcount sweep bundled:qnli --task qnli --out study'
    """  # noqa: E501
    verb = next((word for word in words if word in RESUMED or word in AT_THE_END), None)
    if verb is None:
        return "stopped"
    if verb == "live":
        return f"stopped, the page answers no more; to start again: {_command(words)}"
    option = RESUMED.get(verb)
    whole = (verb == "prune" and option_value(words, "--heads")) or (verb == "gates" and "--roles" not in words)
    if option is None or whole:
        return f"stopped; {verb} writes nothing before it is done; to start again: {_command(words)}"
    folder = option_value(words, option) or {"demo": "demo-out"}.get(verb)
    if folder is None:
        return (
            f"stopped; nothing is kept without {option}; with it the same command resumes: "
            f"{_command([*words, option, 'study'])}"
        )
    if verb == "recover":
        folder = str(state_beside(Path(folder)))
    if not os.path.exists(folder):
        return f"stopped before anything was saved in {folder}; to start again: {_command(words)}"
    return f"stopped; what was computed is in {folder}, and the same command resumes: {_command(words)}"


def option_value(words: list[str], option: str) -> str | None:
    """The value of an option on the command line, or in the file that --config names."""
    for index, word in enumerate(words):
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
        if word == option and index + 1 < len(words):
            return words[index + 1]
    if option == "--config":
        return None
    file = option_value(words, "--config")
    return None if file is None else _from_file(file, option.removeprefix("--"))


def _from_file(file: str, name: str) -> str | None:
    import tomllib

    try:
        with open(file, "rb") as opened:
            value = tomllib.load(opened).get(name)
    except (OSError, ValueError):
        return None
    return None if value is None else str(value)


def _command(words: list[str]) -> str:
    import shlex

    return shlex.join(["headcount", *words])
