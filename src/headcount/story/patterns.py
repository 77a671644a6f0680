"""The patterns of a model's attention maps, and how reliable their names are."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.story.names import spell_head, spell_interval


def pattern_rows(patterns: xr.Dataset, stack: str, named: int = 3) -> list[tuple[str, str, str, str]]:
    """Rows: a pattern, its share of all maps in percent, how many heads mostly have it, the clearest of these."""
    number = patterns["stack"].values.tolist().index(stack)
    mostly, share = patterns["mostly"].values[number], patterns["share"].values[number]
    rows = []
    for kind, pattern in enumerate(map(str, patterns["pattern"].values)):
        heads = np.argwhere(mostly == kind)
        clearest = sorted(heads.tolist(), key=lambda head: -share[head[0], head[1], kind])[:named]
        names = [spell_head(patterns, (number, *head), patterns.sizes["stack"] > 1) for head in clearest]
        rows.append((pattern, spell_interval(_percent(patterns, number, kind), 0), str(len(heads)), ", ".join(names)))
    return rows


def known_stacks(patterns: xr.Dataset) -> list[str]:
    """Stacks whose maps have patterns: not cross attention, nor a stack whose texts are all too short."""
    known = patterns["whole_share"].notnull().all("pattern").values
    return [str(stack) for stack in patterns["stack"].values[known]]


def share_sentences(patterns: xr.Dataset) -> list[str]:
    """For each stack that has patterns, their shares of all maps, the largest first, and how reliable the names are."""
    sentences = []
    stacks, rule = known_stacks(patterns), patterns.attrs["rule"]
    for stack in stacks:
        number = patterns["stack"].values.tolist().index(stack)
        shares = [_percent(patterns, number, kind) for kind in range(patterns.sizes["pattern"])]
        parts = [
            "{} {:.0f} % [{:.0f}, {:.0f}]".format(patterns["pattern"].values[kind], *shares[kind])
            for kind in sorted(range(len(shares)), key=lambda kind: -shares[kind][0])
        ]
        sentences.append(
            f"What the maps{f' of the {stack}' if len(stacks) > 1 else ''} look like: {', '.join(parts)}; named by a "
            f"rule whose macro F1 is {_f1(rule)} on model families that it has not seen."
        )
    return sentences


def rule_sentences(patterns: xr.Dataset, texts: int) -> list[str]:
    """What the intervals include, how reliable the names are, and how many texts are too short to have a pattern."""
    rule, f1 = patterns.attrs["rule"], patterns.attrs["f1"]
    long = int(patterns["values_sure"].notnull().any(HEAD_DIMS).sum())
    weak = sorted(f1, key=f1.__getitem__)[:2]
    sentences = [
        f"95 % intervals: over {long} texts, and the mistakes of the rule that names the maps. On {rule['maps']:.0f} "  # noqa: ISC004
        f"labelled maps, each of a model family that the rule had not seen, its macro F1 is {_f1(rule)} (accuracy "
        f"{rule['accuracy']:.0%}; weakest: {weak[0]} {f1[weak[0]]:.2f}, {weak[1]} {f1[weak[1]]:.2f}); two labellings "
        f"agree on {rule['agreement']:.0%} of them."
    ]
    return [*sentences, *([f"{texts - long} texts are too short to have a pattern."] if texts > long else [])]


def _f1(rule: dict[str, Any]) -> str:
    return spell_interval((rule["f1"], rule["f1_low"], rule["f1_high"]), 2)


def _percent(patterns: xr.Dataset, stack: int, kind: int) -> tuple[float, float, float]:
    value, low, high = (100 * float(patterns[f"whole_share{end}"].values[stack, kind]) for end in ("", "_low", "_high"))
    return value, low, high
