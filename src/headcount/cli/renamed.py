"""Earlier names of verbs and of their options are refused with the new one in the message."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from headcount.errors import InvalidOption

VERBS = {"learn-gates": "gates"}
"""Earlier names of verbs and their present names."""
RENAMED = {
    "gates": {"strengths": "price", "weight-learning-rate": "train-weights"},
    "sweep": {"beams": "num-beams"},
    "prune": {"recover-rate": "learning-rate"},
    "finetune": {
        "accumulate": "gradient-accumulation-steps",
        "batch": "per-device-train-batch-size",
        "epochs": "num-train-epochs",
        "precision": "dtype",
        "rate": "learning-rate",
        "warm-up": "warmup-steps",
    },
}
"""By verb: earlier names of options and their present names."""


def check_renamed_verb(words: Sequence[str]) -> None:
    """Refuse an earlier name of a verb.

    >>> check_renamed_verb(["learn-gates", "MODEL"])
    Traceback (most recent call last):
    headcount.errors.InvalidOption: got learn-gates, which is now gates: headcount gates ...
    """
    for word in words[:1]:
        if word in VERBS:
            raise InvalidOption(f"got {word}, which is now {VERBS[word]}: headcount {VERBS[word]} ...")


def check_renamed(words: Sequence[str], config: Path | None = None) -> None:
    """Refuse an earlier name on the command line, or in the file that --config names.

    >>> check_renamed(["sweep", "MODEL", "--beams=4"])
    Traceback (most recent call last):
    headcount.errors.InvalidOption: got --beams, which is now --num-beams
    """
    earlier = RENAMED.get(words[0], {}) if words else {}
    given = [word.partition("=")[0].removeprefix("--") for word in words[1:] if word.startswith("--")]
    if config is not None:
        given += [key.replace("_", "-") for key in tomllib.loads(config.read_text(encoding="utf-8"))]
    for name in given:
        if name in earlier:
            raise InvalidOption(f"got --{name}, which is now --{earlier[name]}")
