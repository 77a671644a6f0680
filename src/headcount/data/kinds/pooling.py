"""How the vectors of a text's tokens become the text's vector: from sentence-transformers' files, or by options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headcount.data.kinds.sentence_files import (
    MODULES,
    SETTINGS,
    SentenceFiles,
    makes_vectors,
    module_name,
    read_json,
    read_modules,
)
from headcount.errors import UnsuitableModel

MEAN, FIRST, LAST = "mean", "first", "last"
POOLINGS = {MEAN: "the mean over its tokens", FIRST: "that of its first token", LAST: "that of its last token"}
_MODES = {"mean": MEAN, "mean_sqrt_len_tokens": MEAN, "cls": FIRST, "lasttoken": LAST}
"""By sentence-transformers' names; two of them differ in length alone, which a cosine ignores."""
_EARLIER = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
"""Flags that versions before 5 wrote in place of the name."""


@dataclass(frozen=True)
class Pooling:
    """Which tokens a text's vector is the mean of, and what is done to the text before.

    `prompt` precedes every text; its tokens count if `with_prompt`. `prompts`: the folder's own for kinds of texts, as
    pairs of name and prompt. `longest`: the most tokens of a text.
    """

    mode: str = MEAN
    prompt: str = ""
    with_prompt: bool = True
    longest: int | None = None
    lower: bool = False
    known: bool = False
    """Whether the model's folder says so."""
    prompts: tuple[tuple[str, str], ...] = ()

    def for_texts(self, *names: str, own: str | None = None) -> Pooling:
        """That of a kind of texts: with the user's `own` prompt, or the first of these names that the folder has."""
        named = (prompt for name in names for known, prompt in self.prompts if known == name)
        return replace(self, prompt=next(named, self.prompt) if own is None else own)

    def prepare(self, text: str) -> str:
        """The text as the tokenizer gets it."""
        return (self.prompt + text).lower() if self.lower else self.prompt + text

    def before(self, tokenizer: Any) -> int:
        """The number of tokens at the beginning that do not count: those of the prompt."""
        if self.with_prompt or not self.prompt:
            return 0
        ids = tokenizer(self.prompt, verbose=False)["input_ids"]
        return len(ids) - (ids[-1] in tokenizer.all_special_ids)

    def span(self, ids: Sequence[int], before: int) -> tuple[int, int]:
        """The tokens of an encoded text whose mean is the vector: from the first number up to the second."""
        count = len(ids)
        start = min(before, count - 1)
        return {MEAN: (start, count), FIRST: (start, start + 1), LAST: (count - 1, count)}[self.mode]

    def note(self) -> str:
        """What a result says of it."""
        others = " and ".join(f"pooling={mode}" for mode in POOLINGS if mode != self.mode)
        why = (
            "as the model's folder says"
            if self.known
            else f"since the model's folder does not say; other choices are {others}"
        )
        return f"a text's vector is {POOLINGS[self.mode]}, {why}"


def read_pooling(files: SentenceFiles) -> Pooling:
    """The pooling that these files describe; an error where vectors are made in another way."""
    if not makes_vectors(files):
        return Pooling()
    modules = read_modules(files[MODULES])
    others = [module_name(module) for module in modules[1:] if module_name(module) not in ("Pooling", "Normalize")]
    if others:
        raise UnsuitableModel(
            f"the model's vectors pass through {', '.join(others)} ({MODULES}), which is not computed here; "
            "give pooling=mean, first or last to compare the vectors before that"
        )
    path = next(f"{module['path']}/config.json" for module in modules if module_name(module) == "Pooling")
    pooling = read_json(path, files.get(path, b"{}"))
    modes = _modes(pooling)
    if len(modes) != 1 or modes[0] not in _MODES:
        raise UnsuitableModel(
            f"{path} says pooling {' and '.join(map(str, modes))}; expected mean, cls or lasttoken: give pooling=mean, "
            "first or last to compare other vectors of the model"
        )
    return replace(read_settings(files), mode=_MODES[modes[0]], with_prompt=bool(pooling.get("include_prompt", True)))


def read_settings(files: SentenceFiles) -> Pooling:
    """What the files say of texts: the prompt, the longest length, lower case."""
    settings = read_json(SETTINGS, files.get(SETTINGS, b"{}"))
    prompts, named = settings.get("prompts") or {}, settings.get("default_prompt_name")
    own = next((name for name in files if name.startswith("sentence_") and "/" not in name), "")
    limits = read_json(own, files[own]) if own else {}
    return Pooling(
        prompt=str(prompts.get(named) or ""),
        prompts=tuple((str(name), str(prompt or "")) for name, prompt in prompts.items()),
        longest=limits.get("max_seq_length"),
        lower=bool(limits.get("do_lower_case")),
        known=True,
    )


def _modes(pooling: dict[str, Any]) -> list[str]:
    given = pooling.get("pooling_mode")
    if given is None:
        return [mode for flag, mode in _EARLIER.items() if pooling.get(flag)] or ["mean"]
    return [given] if isinstance(given, str) else list(given)
