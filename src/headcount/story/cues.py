"""Statistical cues in rows and sentences: how far one cue gets, all of them, and a model without their help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant
from headcount.story.names import in_points, short_name, spell_interval
from headcount.story.notes import blank_note, cut_note

CHOICE_COLUMNS = ("cue", "applicable", "productivity", "coverage", "alone", "q")
LABEL_COLUMNS = ("cue", "label", "examples", "productivity", "chance", "q")


def cue_heading(result: xr.Dataset) -> str:
    """What was counted, and in which examples."""
    attributes = result.attrs
    tokens = {"words": "words and punctuation marks", "whitespace": "tokens between white space", "pieces": "pieces"}
    case = "" if attributes["tokens"] == "pieces" else ", as they are" if attributes["cased"] else ", in lower case"
    counted = f"{'single and neighbouring ' if attributes['bigrams'] else ''}{tokens[attributes['tokens']]}{case}"
    if attributes["choices"]:
        having = {"exactly-one": "exactly one", "any": "at least one"}[attributes["applicable"]]
        where = f"applicable where {having} of {len(attributes['choices'])} choices has the cue"
    else:
        side = attributes["side"]
        where = f"applicable where {f'the {side} text' if side in ('first', 'second') else 'the text'} has the cue"
    return (
        f"Cues in {attributes['examples']:,} examples: {counted}; {where}, tested if that is so in at least "
        f"{attributes['least']}."
    )


def cue_rows(result: xr.Dataset, most: int) -> list[tuple[str, ...]]:
    """The strongest cues, a row for each, in the order of CHOICE_COLUMNS or LABEL_COLUMNS."""
    rows = []
    for number in range(min(most, result.sizes["cue"])):
        row = result.isel(cue=number)
        label = (str(row["label_of_cue"].values),) if "label_of_cue" in result else ()
        # With a label there is no room for all: its coverage is the share of these examples, and the chance differs.
        shares = (
            (f"{float(row['chance']):.2f}",)
            if label
            else (f"{float(row['coverage']):.3f}", f"{float(row['alone']):.3f}")
        )
        rows.append(
            (
                str(row["cue"].values),
                *label,
                f"{int(row['applicability']):,}",
                spell_interval(_with_interval(row, "productivity"), 2),
                *shares,
                f"{float(row['q']):.2g}",
            )
        )
    return rows


def has_cues(result: xr.Dataset) -> bool:
    """Whether a result is about the cues of a data set."""
    return "productivity" in result and result["productivity"].dims == ("cue",)


def cue_sentences(result: xr.Dataset) -> list[str]:
    """What the cues come to, and what to know about the examples."""
    return [*cue_findings(result), *cut_note(result.attrs), *blank_note(result.attrs)]


def cue_findings(result: xr.Dataset) -> list[str]:
    """How many cues are significant, the best one, all together, and a model beside them."""
    lines = [_count(result), _best(result)]
    if "cue_accuracy" in result:
        lines.append(_together(result))
    if "model_accuracy" in result:
        lines += _model(result)
    return lines


def _count(result: xr.Dataset) -> str:
    tested, shown = int(result["tested"]), result.sizes["cue"]
    clear = int(significant(result["q"].values).sum())
    among = f"{tested:,} cues" if shown == tested else f"the {shown:,} strongest of {tested:,} cues"
    if not clear:
        return f"None of {among} has a productivity that differs significantly from chance (q < {LEVEL})."
    verb = "has" if clear == 1 else "have"
    return f"{clear:,} of {among} {verb} a productivity that differs significantly from chance (q < {LEVEL})."


def _best(result: xr.Dataset) -> str:
    """The best cue on the half that did not select it, and whether it is above guessing there."""
    accuracy, guess = _with_interval(result, "best_accuracy"), float(result["best_guess"])
    verdict = "more than" if accuracy[1] > guess else "less than" if accuracy[2] < guess else "not shown to differ from"
    guessing = "guessing" if result.attrs["choices"] else "its most frequent label"
    return (
        f'One cue alone: "{result["best_cue"].item()}" ({result["best_rule"].item()}), selected on one half of the '
        f"examples, gets {_percent(accuracy)} of the other half right, {verdict} the {100 * guess:.1f} % of {guessing}."
    )


def _together(result: xr.Dataset) -> str:
    accuracy, attributes = _with_interval(result, "cue_accuracy"), result.attrs
    floor, name = float(result["majority"]), "the most frequent label"
    if attributes["choices"]:
        floor, name = 1 / len(attributes["choices"]), "guessing"
    above = accuracy[1] > floor
    verdict = "a floor that a model must beat" if above else f"not shown to be above {name}"
    return (
        f"All cues together, in a logistic regression: {_percent(accuracy)} out-of-fold ({name}: {100 * floor:.1f} %); "
        f"{verdict}."
    )


def _model(result: xr.Dataset) -> list[str]:
    model = short_name(str(result.attrs.get("model", "the model")))
    overall, right, wrong = (result.sel(part=name) for name in ("all", "cues right", "cues wrong"))
    accuracies = [_percent(_with_interval(part, "model_accuracy")) for part in (overall, right, wrong)]
    lines = [
        f"{model} gets {accuracies[0]} right.",
        (
            f"Where the cue-only classifier is right ({int(right['part_examples']):,} examples), it gets "
            f"{accuracies[1]}; where that is wrong ({int(wrong['part_examples']):,}), {accuracies[2]}."
        ),
    ]
    explained = _with_interval(result, "explained")
    if np.isfinite(explained).all():
        verdict = "explain" if explained[1] > 0 else "are not shown to explain"
        lines.append(
            f"Cues {verdict} part of this: if they pointed the right way no more often than by guessing, the accuracy "
            f"would be {_percent(_with_interval(result, 'accuracy_without_cues'))}, "
            f"{spell_interval(in_points(explained), 2, signed=True)} points being due to them."
        )
    consistency = _with_interval(result, "error_consistency")
    if np.isfinite(consistency).all():
        verdict = "more" if consistency[1] > 0 else "fewer" if consistency[2] < 0 else "not shown to have more"
        has = "have" if verdict != "not shown to have more" else "are"
        lines.append(
            f"The two {has} {verdict} errors in common than independent classifiers of the same accuracy would "
            f"(kappa {spell_interval(consistency, 2)})."
        )
    return lines


def balance_sentences(balance: Mapping[Any, float], choices: int) -> list[str]:
    """Whether the cues of a data set with twins, and the position of the correct choice, are at chance."""
    cues, off = int(balance["cues"]), int(balance["off_chance"])
    if off:
        line = (
            f"{off:,} of {cues:,} words and bigrams are not at chance: their productivity differs from 1/{choices} by "
            f"up to {balance['largest']:.2f}. Only negated claims balance cues."
        )
    else:
        line = f"All {cues:,} words and bigrams are at chance: a productivity of exactly 1/{choices}."
    return [line, f"The first choice is correct in {100 * balance['first']:.1f} % of the examples."]


def twin_sentences(result: xr.Dataset) -> list[str]:
    """A model on examples and on their adversarial twins, and what one that reads only the choices would get."""
    model = short_name(str(result.attrs.get("model", "the model")))
    original, adversarial, overall = (
        _with_interval(result.sel(set=name), "accuracy") for name in ("original", "adversarial", "all")
    )
    change = _with_interval(result, "change")
    verdict = "lower" if change[2] < 0 else "higher" if change[1] > 0 else "not shown to differ"
    both, same = (_percent(_with_interval(result, name)) for name in ("both_right", "same_choice"))
    originals = f"{_percent(original)} of {int(result['pairs']):,} originals"
    lines = [
        f"{model} gets {originals} right and {_percent(adversarial)} of their twins.",
        (
            f"On the twins its accuracy is {verdict}: {spell_interval(in_points(change), 1, signed=True)} points, "
            "paired by example."
        ),
        f"It gets both of a pair right in {both} of the pairs, and predicts the same choice for both in {same}.",
    ]
    if result.attrs["mirrored"]:
        above = "more" if overall[1] > 0.5 else "less" if overall[2] < 0.5 else "not shown to be more"
        lines.append(
            "A model that reads only the choices would predict the same choice for both, never get both right, and get "
            f"50.0 % of all examples; {model} gets {_percent(overall)}, {above} than that."
        )
    return [*lines, *cut_note(result.attrs), *blank_note(result.attrs)]


def _with_interval(row: xr.Dataset, name: str) -> tuple[float, float, float]:
    value, low, high = (float(row[f"{name}{ending}"]) for ending in ("", "_low", "_high"))
    return value, low, high


def _percent(values: tuple[float, float, float]) -> str:
    """A share with its interval, in percent."""
    value, low, high = in_points(values)
    return f"{value:.1f} % [{low:.1f}, {high:.1f}]" if np.isfinite(value) else "none"
