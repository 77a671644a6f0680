"""What a model keeps of its score with part of its input, in sentences."""

from __future__ import annotations

import numpy as np
import pandas as pd

from headcount.core.few_values import LEAST, t_interval
from headcount.errors import listed

ALL, FINE_TUNED = "all", "fine-tuned"
VALIDATION = "validation"
"""The examples that sentences are about; others are compared with them."""
WIDE = 1.0
"""An interval of a share that is wider than this tells nothing."""
NAMES = {"bag-of-vectors": "a bag of vectors", "bilstm": "a BiLSTM"}


def partial_sentences(summary: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    """What each part keeps, whether the baselines do as well, which runs failed, and what the intervals are of."""
    further = _further_sets(summary, runs)
    summary, runs = (table[table["split"] == VALIDATION] for table in (summary, runs))
    own = summary[summary["model"] == FINE_TUNED]
    seeds = int(own["seeds"].iloc[0])
    if seeds < LEAST:
        lines = [f"Too few seeds to tell how much of the score a part keeps: {seeds}; expected at least {LEAST}."]
    else:
        lines = [*_parts(own, seeds), *_baselines(summary, runs, seeds)]
    return [*lines, *further, *_failed(runs), *([] if seeds < LEAST else [_scope(own)])]


def _parts(own: pd.DataFrame, seeds: int) -> list[str]:
    """Each part against all inputs, if these are above chance; otherwise against chance."""
    whole = own[own["input"] == ALL]
    chance = f"chance ({own['chance'].iloc[0]:.3f})"
    lines = []
    if len(whole) and not whole["above_chance"].iloc[0]:
        lines.append(
            f"With all inputs the model is not clearly better than {chance}, so what a part keeps of its score cannot "
            f"be told ({_gain(whole.iloc[0], seeds)})."
        )
    for _, row in own[own["input"] != ALL].iterrows():
        if np.isfinite(row["kept"]) and row["above_chance"]:
            shares = f"{_percent(row['kept_low'])} to {_percent(row['kept_high'])}"
            if row["kept_high"] - row["kept_low"] > WIDE:
                lines.append(
                    f"{seeds} seeds are too few to tell how much {row['input']} keeps of what all inputs gain over "
                    f"{chance}: 95 % interval {shares}."
                )
                continue
            lines.append(
                f"{row['input']} keeps {_percent(row['kept'])} of what all inputs gain over {chance}; 95 % interval "
                f"over {seeds} seeds: {shares}."
            )
        else:
            clearly = "is better than" if row["above_chance"] else "is not clearly better than"
            lines.append(f"{row['input']} {clearly} {chance}: {_gain(row, seeds)}.")
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _gain(row: pd.Series, seeds: int) -> str:
    return f"{row['gain']:+.3f}, 95 % interval over {seeds} seeds: {row['gain_low']:+.3f} to {row['gain_high']:+.3f}"


def _baselines(summary: pd.DataFrame, runs: pd.DataFrame, seeds: int) -> list[str]:
    """Baselines that do as well as the fine-tuned model on the same input, as far as the seeds can tell."""
    lines = []
    last = ALL if ALL in set(summary["input"]) else summary["input"].iloc[-1]
    there = runs[runs["input"] == last]
    own = there[there["model"] == FINE_TUNED].sort_values("seed")["score"].to_numpy()
    for model in dict.fromkeys(there["model"]):
        other = there[there["model"] == model].sort_values("seed")["score"].to_numpy()
        low, high = t_interval(own - other)
        if model != FINE_TUNED and low <= 0:
            lines.append(
                f"On {last}, the fine-tuned model is not clearly better than {NAMES.get(model, model)}: "
                f"{(own - other).mean():+.3f}, 95 % interval over {seeds} seeds: {low:+.3f} to {high:+.3f}."
            )
    return lines


def _further_sets(summary: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    """How the fine-tuned model does on other sets than the validation examples, with all it was given."""
    own = summary[summary["model"] == FINE_TUNED]
    last = ALL if ALL in set(own["input"]) else own["input"].iloc[-1]
    scores = runs[(runs["model"] == FINE_TUNED) & (runs["input"] == last)].sort_values("seed")
    usual = scores[scores["split"] == VALIDATION]["score"].to_numpy()
    if len(usual) < LEAST:
        return []
    lines = []
    for _, row in own[(own["input"] == last) & (own["split"] != VALIDATION)].iterrows():
        changes = scores[scores["split"] == row["split"]]["score"].to_numpy() - usual
        low, high = t_interval(changes)
        clearly = "better" if row["above_chance"] else "not clearly better"
        scores_with = "all inputs score" if last == ALL else f"{last} scores"
        lines.append(
            f"On {row['split']}, {scores_with} {row['mean']:.3f}, {clearly} than chance ({row['chance']:.3f}); the "
            f"change from the validation examples is {changes.mean():+.3f}, 95 % interval over {len(usual)} seeds: "
            f"{low:+.3f} to {high:+.3f}."
        )
    return lines


def _failed(runs: pd.DataFrame) -> list[str]:
    """The runs that failed to train, by name."""
    failed = runs[runs["failed"]]
    if not len(failed):
        return []
    names = [f"{row.input}/{row.model}/seed-{row.seed}" for row in failed.itertuples()]
    line = (
        f"{len(failed)} of {len(runs)} runs failed to train (no better than a constant prediction on the training "
        f"examples); they count in the means: {listed(names)}."
    )
    return [line]


def _scope(own: pd.DataFrame) -> str:
    examples = int(own["examples"].iloc[0])
    line = f"Intervals are over seeds, not over examples: all runs are scored on the same {examples:,}"
    if own["metric"].iloc[0] != "accuracy":
        return f"{line}."
    best = float(own["mean"].max())
    half = 1.96 * np.sqrt(best * (1 - best) / examples)
    return f"{line}, which alone know an accuracy of {best:.3f} to ±{half:.3f}."
