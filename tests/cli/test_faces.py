"""Python and command line are two faces of one request: the same verbs, options and defaults."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.cli.main import app
from headcount.engines.compute import SWEPT
from headcount.training.trainer import Settings

VERBS = [name for name in app if not name.startswith("-") and name != "demo"]
"""The demo is a tour through the others."""
BLOCKS = {
    *("ablated", "gated", "observe", "mean_outputs", "read_anatomy", "find_task"),  # inside a Python program
    "show",  # inside a notebook
    *("screen", "screen_pairs"),  # sweep --screen
    "adversarial_scores",  # adversarial --model
    *("load", "save", "open_study", "bundled", "bundled_pairs", "bundled_sentences"),  # names on the command line
}
"""Functions that are no verbs: what the verbs are made of."""
NAMES = {"gates": "learn_gates"}
"""Functions with another name than their verb: `hc.gates` would read like the gates that `hc.gated` takes."""
LOADING = {"model", "tokenizer", "device", "device_map", "dtype", "trust_remote_code"}
"""The command line names a model and loads it; Python has loaded it."""
GROUPS: dict[str, dict[str, Any]] = {
    "task": {"task": None, "text": None, "label": None, "labels": None},  # find_task(...)
    # Every(by, stack), a list of sets (from a file), RandomSets(draws, size, stack), screen(...), or Pairs(among)
    "by": {
        **{"by": "head", "stack": None, "sets": None, "draws": None, "size": None},
        **{"screen": None, "top": None, "control": None, "among": None},
    },
    "generate": {"num_beams": None, "max_new_tokens": None},
    "compute": {field.name: field.default for field in dataclasses.fields(hc.Compute)},  # but what only sweeps read
    "engine": {"engine": None} | {field.name: field.default for field in dataclasses.fields(hc.Ray)},
    "settings": {field.name: field.default for field in dataclasses.fields(Settings)},
}
"""Options that Python takes as one object; the command line takes their fields."""
BY_NAME = {"choose", "curve"}
"""Verbs whose `by` is a word in Python too: what is removed together."""
PYTHON_ONLY = {
    "*": {"progress"},
    "finetune": {"more", "save_steps"},  # any of TrainingArguments
    "partial": {"more", "save_steps", "checkpoints", "spacing", "report_to", "labels"},  # of whole trainings: finetune
    "cost": {"models"},
    "carriers": {"label", "labels"},  # a text is its own label
    "refit": {"label", "labels"},  # not read
    "function-vectors": {"label", "labels"},
    # The same options have other groups elsewhere: by= is a name here, and how= a patch.
    "attribution": {"sets", "draws", "size", "screen", "top", "control", "among", "how"},
}
TYPED_ONLY = {
    "*": {"json", "list"},  # how it is shown
    "recover": {"overwrite"},  # Python has the model, and hc.save; its out= is the state alone
    "refit": {"out", "overwrite"},
    "cost": {"other"},
    # how=Patch(part, direction, positions, align) or Means(by); find_task(counterpart=, wrong=)
    "sweep": {"part", "direction", "positions", "align", "mean_by", "counterpart", "wrong"},
    "attribution": {"direction", "positions", "align", "counterpart", "wrong"},  # Patch(...), find_task(...)
    "function-vectors": {"counterpart"},
    "finetune": {"text", "label"},  # find_task(...) for each
    "paths": {"direction"},  # Patch(direction=...)
    "cues": {"output"},  # Python has the Dataset
    "adversarial": {"text", "twin_column", "untrained", "max_length"},  # adversarial_scores(...)
}


def function_of(verb: str) -> str:
    return NAMES.get(verb, verb.replace("-", "_"))


def typed(verb: str) -> dict[str, Any]:
    """The options of a verb and their defaults."""
    signature = inspect.signature(app[verb].default_command)  # type: ignore[arg-type]
    found = {name.rstrip("_"): parameter.default for name, parameter in signature.parameters.items()}
    gone = LOADING | TYPED_ONLY["*"] | TYPED_ONLY.get(verb, set())
    return {name: default for name, default in found.items() if name not in gone}


def written(verb: str) -> dict[str, Any]:
    """The options of the function and their defaults, those of groups one by one."""
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(getattr(hc, function_of(verb))).parameters.items():
        single = name == "by" and verb in BY_NAME
        found |= {name: parameter.default} if single else GROUPS.get(name, {name: parameter.default})
    gone = LOADING | PYTHON_ONLY["*"] | PYTHON_ONLY.get(verb, set()) | (set() if verb == "sweep" else set(SWEPT))
    return {name: default for name, default in found.items() if name not in gone}


def known_default(verb: str, name: str) -> bool:
    """Where None stands for "not given", the help says what the default is."""
    helps = {
        argument.field_info.name: argument.parameter.help or "" for argument in app[verb].assemble_argument_collection()
    }
    default = written(verb)[name]
    return f"{default} by default" in helps[name] or (default is True and "as by default" in helps[name])


def plain(default: Any) -> Any:
    """A default as it is typed."""
    if isinstance(default, Path):
        return str(default)
    return (",".join(map(str, default)) or None) if isinstance(default, tuple) else default


def test_every_verb_is_a_function_and_the_other_way_round() -> None:
    functions = {name for name in hc.__all__ if inspect.isfunction(getattr(hc, name))}
    assert functions - BLOCKS == {function_of(verb) for verb in VERBS}


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "prune"])
def test_the_same_options_with_the_same_defaults(verb: str) -> None:
    here, there = typed(verb), written(verb)
    assert set(here) == set(there)
    for name, default in here.items():
        if default is inspect.Parameter.empty:
            assert there[name] in (None, inspect.Parameter.empty), f"{name} must be typed, but Python has a default"
        elif there[name] is not inspect.Parameter.empty:
            assert plain(default) == plain(there[name]) or (default is None and known_default(verb, name)), name


def test_prune_has_the_options_of_what_it_is_made_of() -> None:
    """choose, prune, recover and save; none is given where --heads says which heads go."""
    trained = {"learning_rate", "lora", "lora_rank", "teacher", "temperature", "hidden"}
    recovery = {"recover", "stages", *trained}
    here = set(typed("prune"))
    assert here - {"heads", "out", "overwrite"} - recovery == set(typed("choose"))
    assert trained <= set(inspect.signature(hc.recover).parameters)
