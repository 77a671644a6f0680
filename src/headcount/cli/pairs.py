"""`headcount sweep --by pair`: which pairs the options ask for, and their interactions as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headcount.core.options import without_effect
from headcount.errors import InvalidOption

if TYPE_CHECKING:
    import xarray as xr
    from rich.console import Console
    from rich.table import Table

    from headcount.ablation.choices import Pairs, ScreenedPairs

HESSIAN = "hessian"


def check_pairs(
    by: str | None, among: str | None, screen: str | None, top: int | None, control: int | None, stack: str | None
) -> None:
    """Refuse options of pairs without pairs, and those that have no effect on the pairs that are asked for."""
    if by != "pair":
        without_effect("among", among, "no pairs are left out", "give by='pair' too, or leave it out")
        if screen == HESSIAN:
            without_effect("screen", screen, "it ranks pairs, but no pairs are left out", "give by='pair' too")
        return
    number = is_number(among)
    if screen == HESSIAN:
        if number:
            without_effect("among", among, "screen='hessian' ranks pairs, not heads", "give top= and names of heads")
        return
    for option, value in (("top", top), ("control", control)):
        without_effect(option, value, "it belongs to screen='hessian'", "the number of heads is that of among=")
    if not number:
        without_effect("screen", screen, "it ranks heads for a number in among=, such as among=20")
        without_effect("stack", among and stack, "the heads of among= name their stacks")


def is_number(among: str | None) -> bool:
    """Whether so many heads are to be ranked, rather than named."""
    return among is not None and among.strip().lstrip("+-").isdigit()


def find_pairs(
    model: Any,
    tokenizer: Any,
    data: Any,
    among: str | None,
    screen: str | None,
    top: int | None,
    control: int | None,
    options: Mapping[str, Any],
) -> Pairs | ScreenedPairs:
    """The value of `by=` in Python that these options stand for; `options`: those of both kinds of screening."""
    from headcount.ablation.choices import Pairs, heads_of
    from headcount.choosing.screen import TOP
    from headcount.choosing.screen import screen as rank_heads
    from headcount.choosing.screen_pairs import screen_pairs
    from headcount.trace.anatomy import read_anatomy

    if screen == HESSIAN:
        most = TOP if top is None else top
        return screen_pairs(model, tokenizer, data, among=among or "all", top=most, control=control, **options)
    count = len(heads_of(read_anatomy(model).layout, options["stack"]))
    if among is None:
        pairs = count * (count - 1) // 2
        raise InvalidOption(
            f"got by='pair' without among=: {count:,} heads have {pairs:,} pairs, so that every text would run "
            f"{pairs + count:,} times; name heads (among='L3H7,L5'), rank them (among=20), let screen='hessian' select "
            "pairs, or run all of them with among='all'"
        )
    if not is_number(among):
        return Pairs(among)
    if int(among) < 2:
        raise InvalidOption(f"got among={among}; expected at least two heads: they are ablated in pairs")
    if int(among) >= count:
        raise InvalidOption(f"got among={among}; expected fewer than the {count:,} heads: among='all' runs all pairs")
    estimate = screen or "importance"
    return Pairs(rank_heads(model, tokenizer, data, estimate=estimate, top=int(among), control=0, **options))


def show_pairs(console: Console, result: xr.Dataset) -> None:
    """Print the largest interactions, of the metric and where there are significant ones also of the loss."""
    from headcount.story.pairs import is_significant, pair_sentences

    console.print(largest_interactions(result, result.attrs["metric"]))
    if "loss_interaction" in result and is_significant(result, "loss_"):
        console.print(largest_interactions(result, "loss", "loss_"))
    for sentence in pair_sentences(result):
        console.print(sentence)


def largest_interactions(result: xr.Dataset, metric: str, prefix: str = "", most: int = 10) -> Table:
    """A table of the pairs with the largest interactions, significant ones first."""
    from rich.table import Table

    from headcount.core.claims import KINDS
    from headcount.core.results import PAIR, as_table
    from headcount.story.pairs import pair_kinds

    rows = as_table(result)
    names = ("joint", "interaction", "low", "high", "q")
    joint, interaction, low, high, q = (rows[f"{prefix}{name}"] for name in names)
    kinds = pair_kinds(result, prefix)
    order = sorted(range(len(rows)), key=lambda row: (kinds[row] == 0, -abs(interaction[row])))
    shown = Table("left out", title=f"Interactions in {metric}", title_justify="left")
    for column in ("change", "interaction [95 %]", "q"):
        shown.add_column(column, justify="right")
    shown.add_column("")
    for row in order[:most]:
        shown.add_row(
            rows[PAIR][row],
            f"{joint[row]:+.3f}",
            f"{interaction[row]:+.3f} [{low[row]:+.3f}, {high[row]:+.3f}]",
            f"{q[row]:.2g}",
            KINDS[kinds[row]] if kinds[row] else "",
        )
    return shown
