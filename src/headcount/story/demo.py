"""The findings of the demo: sentences beside its tables, and a last screen of 80 x 24 characters that sums them up."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant
from headcount.story.changes import change_sentences
from headcount.story.costs import speed_clause
from headcount.story.cuts import change_of, control_clause
from headcount.story.heads import strongest
from headcount.story.names import spell_estimate, spell_head
from headcount.story.notes import measure_notes
from headcount.story.sweeps import effects_sentence, ranks_sentence, sweep_sentences

if TYPE_CHECKING:
    import pandas as pd

WIDTH, HEIGHT = 80, 24


@dataclass(frozen=True)
class SmallModel:
    """The model without half of its heads: its score on held-out pairs, its folder and its costs."""

    held_out: xr.Dataset
    order: str
    removed: int
    folder: Path
    costs: pd.DataFrame
    """With rows for the models `whole` and `small`."""
    megabytes: tuple[float, float]
    """On disk, before and after, in the same dtype."""


def demo_sentences(
    by_layer: xr.Dataset, by_head: xr.Dataset, seen: xr.DataTree, words: xr.DataTree, changed: xr.DataTree, pairs: int
) -> list[str]:
    """The findings in sentences."""
    worst = int(by_layer["delta"].values[0].argmin())
    change, low, high = (float(by_layer[name].values[0, worst]) for name in ("delta", "low", "high"))

    def most(tree: xr.DataTree, measure: str, variable: str, **choice: Any) -> str:
        head, _, value = strongest(tree[measure].to_dataset(), variable, choice)
        return f"{head} {value}"

    previous, following = most(seen, "position", "previous"), most(seen, "position", "next")
    subject = most(words, "links", "gain", link="verb to subject")
    return [
        "",
        f"With one head ablated (uniform attention), on {pairs} pairs drawn at random:",
        *[f"- {sentence}" for sentence in sweep_sentences(by_head)],
        f"- {effects_sentence(by_layer, 'accuracy', 'layer')} It suffers most without the heads of L{worst}: "  # noqa: ISC004
        f"{spell_estimate((change, low, high), signed=True)}.",
        "",
        "What heads look at (share of attention, mean over texts, 95 % interval):",
        f"- most at the previous token {previous}, at the next {following},",
        f"  at [SEP] {most(seen, 'special', 'sep')}, at [CLS] {most(seen, 'special', 'cls')};",
        f"- from a word to the same word in the other text {most(seen, 'repeated', 'attention')};",
        f"- more from verb to subject than that far away elsewhere (before fine-tuning) {subject}.",
        *[f"- {line}" for line in measure_notes(seen) if "left out" not in line],
        "",
        "Before and after fine-tuning:",
        *[f"- {line}" for line in change_sentences(changed["cosine"].to_dataset())],
        "",
    ]


def last_screen(
    by_head: xr.Dataset,
    seen: xr.DataTree,
    changed: xr.DataTree,
    small: SmallModel,
    page: Path,
    out: Path,
    seconds: float,
) -> list[str]:
    """The main findings, where the page is and what to run next: at most 24 lines of 80 columns (except paths)."""
    sentences = [
        _effects(by_head),
        _looks(seen),
        f"Fine-tuning changed the maps of {_changed(changed)} most.",
        _smaller(small),
    ]
    lines = [
        f"What was found, in {seconds:.0f} s, on {by_head.sizes['example']} of 438 pairs (random, half of each label):"
    ]
    for number, sentence in enumerate(sentences, start=1):
        lines += textwrap.wrap(sentence, WIDTH, initial_indent=f"{number}. ", subsequent_indent="   ")
    return [
        *lines,
        "",
        f"See it:  open {page} in a browser",
        f"Use it:  model, tokenizer = headcount.load({str(small.folder)!r})",
        f"Read it: headcount table {out} --to csv",
        "",
        "Next, with a model and data of your own:",
        "  headcount heads MODEL",
        "  headcount sweep MODEL --task sst2 --data validation.csv --out study",
        "  headcount report study",
    ]


def _effects(by_head: xr.Dataset) -> str:
    """Effects of single heads on accuracy, and on the loss, which is more sensitive."""
    number = int(significant(by_head["q"].values).sum())
    has = f"{number} of the 144 heads {'has' if number == 1 else 'have'}" if number else "none of the 144 heads has"
    rise = by_head["loss_delta"].values
    index = np.unravel_index(int(np.nanargmax(rise)), rise.shape)
    ends = [float(by_head[name].values[index]) for name in ("loss_delta", "loss_low", "loss_high")]
    return (
        f"Ablated alone, {has} a significant effect on accuracy ({float(by_head['baseline']):.2f}; q < {LEVEL}). "
        f"{ranks_sentence(by_head, 'head')} The mean loss rises most without {spell_head(by_head, index, False)}: "
        f"{spell_estimate((ends[0], ends[1], ends[2]), signed=True)}."
    )


def _looks(seen: xr.DataTree) -> str:
    def most(measure: str, variable: str) -> str:
        head, value, _ = strongest(seen[measure].to_dataset(), variable, {})
        return f"{head} ({value:.2f})"

    return (
        f"{most('position', 'previous')} looks most at the previous token, {most('position', 'next')} at the next one, "
        f"{most('repeated', 'attention')} at the same word in the other text (share of the head's attention)."
    )


def _changed(changed: xr.DataTree) -> str:
    cosine = changed["cosine"].to_dataset()
    head, value, _ = strongest(cosine, "maps", {}, smallest=True)
    return f"{head} (cosine {value:.2f}; the median head {float(cosine['maps'].median()):.2f})"


def _smaller(small: SmallModel) -> str:
    before, after = small.megabytes
    return (
        f"Without {small.removed} of 144 heads accuracy changes by "
        f"{change_of(small.held_out, small.order, small.removed)} on {small.held_out.attrs['examples']} held-out "
        f"pairs{control_clause(small.held_out, small.order, small.removed)}. On disk the model takes {before:.1f} -> "
        f"{after:.1f} MB{speed_clause(small.costs, 'whole', 'small')}."
    )
