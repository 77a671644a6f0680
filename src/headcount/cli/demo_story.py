"""What the demo found: sentences beside its tables, and one last screen of 80 x 24 that says it all."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from headcount.cli.demo import SmallModel

WIDTH, HEIGHT = 80, 24
NOTICEABLE = 1.1
"""A model that is less than this much faster is not called faster."""


def story(
    by_layer: xr.Dataset, by_head: xr.Dataset, seen: xr.DataTree, words: xr.DataTree, changed: xr.DataTree, pairs: int
) -> list[str]:
    """What was found, in plain sentences with the figures."""
    from headcount.core.story import tell_effects, tell_sweep
    from headcount.measures.story import changes, left_out, strongest

    worst = int(by_layer["delta"].values[0].argmin())
    drop = by_layer.isel(stack=0, layer=worst)
    change = f"{float(drop['delta']):+.4f} [{float(drop['low']):+.4f}, {float(drop['high']):+.4f}]"

    def most(tree: xr.DataTree, measure: str, variable: str, **choice: str) -> str:
        return " ".join(strongest(tree[measure].to_dataset(), variable, choice))

    previous, following = most(seen, "position", "previous"), most(seen, "position", "next")
    subject = most(words, "links", "gain", link="verb to subject")
    return [
        "",
        f"Without a head (it then attends everywhere alike), on {pairs} pairs drawn at random:",
        *[f"- {sentence}" for sentence in tell_sweep(by_head)],
        f"- {tell_effects(by_layer, 'accuracy', 'layer')} It suffers most without the heads of L{worst}: {change}.",
        "",
        "What heads look at (share of their attention, mean over the texts, 95 % interval):",
        f"- most at the previous token {previous}, at the next {following},",
        f"  at [SEP] {most(seen, 'special', 'sep')}, at [CLS] {most(seen, 'special', 'cls')};",
        f"- from a word to the same word in the other text {most(seen, 'repeated', 'attention')};",
        f"- more from verb to subject than that far away elsewhere (before fine-tuning) {subject}.",
        *[f"- {line}" for line in left_out(seen) if "left out" not in line],
        "",
        "Before and after fine-tuning:",
        *[f"- {line}" for line in changes(changed)],
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
    """What was found, where the page is, what to type next: at most 24 lines of 80 columns (but for long paths)."""
    found = [
        _effects(by_head),
        _looks(seen),
        f"Fine-tuning changed the maps of {_changed(changed)} most.",
        _smaller(small),
    ]
    lines = [
        f"What was found, in {seconds:.0f} s, on {by_head.sizes['example']} of 438 pairs (random, half of each label):"
    ]
    for number, sentence in enumerate(found, start=1):
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
    """Single heads: on accuracy, and on the loss, which is more sensitive."""
    from headcount.core.claims import LEVEL, significant
    from headcount.core.story import tell_ranks

    def count(q: str) -> str:
        number = int(significant(by_head[q].values).sum())
        return (
            f"{number} of the 144 heads {'has' if number == 1 else 'have'}" if number else "none of the 144 heads has"
        )

    worst = np.unravel_index(int(np.nanargmax(by_head["loss_delta"].values)), by_head["loss_delta"].shape)
    one = by_head.isel(stack=worst[0], layer=worst[1], head=worst[2])
    rise = f"{float(one['loss_delta']):+.3f} [{float(one['loss_low']):+.3f}, {float(one['loss_high']):+.3f}]"
    base = f"{float(by_head['baseline']):.2f}"
    return (
        f"Ablated alone, {count('q')} a significant effect on accuracy ({base}; q < {LEVEL}). "
        f"{tell_ranks(by_head, 'head')} The mean loss rises most without L{worst[1]}H{worst[2]}: {rise}."
    )


def _looks(seen: xr.DataTree) -> str:
    from headcount.measures.story import strongest

    def most(measure: str, variable: str) -> str:
        head, value = strongest(seen[measure].to_dataset(), variable, {})
        return f"{head} ({float(value.split(' ')[0]):.2f})"

    return (
        f"{most('position', 'previous')} looks most at the previous token, {most('position', 'next')} at the next one, "
        f"{most('repeated', 'attention')} at the same word in the other text (share of the head's attention)."
    )


def _changed(changed: xr.DataTree) -> str:
    from headcount.measures.story import strongest

    cosine = changed["cosine"].to_dataset()
    head, value = strongest(cosine, "maps", {}, smallest=True)
    return f"{head} (cosine {float(value.split(' ')[0]):.2f}; the median head {float(cosine['maps'].median()):.2f})"


def _smaller(small: SmallModel) -> str:
    from headcount.core.cut_story import tell_control

    held_out, order, count = small.found.confirmed, small.found.order, len(small.found.removed)
    step = held_out.sel(order=order, removed=count)
    change = f"{float(step['delta']):+.3f} [{float(step['low']):+.3f}, {float(step['high']):+.3f}]"
    before, after = small.megabytes
    return (
        f"Without {count} of 144 heads accuracy changes by {change} on {held_out.attrs['examples']} held-out pairs"
        f"{tell_control(held_out, order, count)}. On disk the model takes {before:.1f} -> {after:.1f} MB"
        f"{faster(small)}."
    )


def faster(small: SmallModel) -> str:
    """The end of a sentence on the time of a batch; nothing where a user would not notice the difference."""
    whole, cut = (small.costs[small.costs.model == name].iloc[0] for name in ("whole", "small"))
    ratio = whole.ms / cut.ms
    if ratio < NOTICEABLE or cut.ms_high >= whole.ms_low:
        return ""
    return f"; {int(whole.batch)} texts of {int(whole.length)} tokens are read {ratio:.2f} times as fast"
