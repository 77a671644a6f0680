"""`headcount heads`: which heads a model has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from headcount.cli.options import Trust, load_ready

if TYPE_CHECKING:
    from rich.table import Table

    from headcount.core.units import UnitLayout
    from headcount.models.anatomy import Anatomy
    from headcount.models.attention import Attention

T = TypeVar("T")


def heads(
    model: str,
    /,
    *,
    pick: Annotated[str | None, Parameter(help="Show which heads an expression such as 'L3H7,L5' selects.")] = None,
    trust_remote_code: Trust = False,
) -> None:
    """Show the stacks, layers, heads, key/value groups, feed-forward units and parameters of a model.

    Example: headcount heads bundled:qnli --pick "L3H7,L5"

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:qnli.
    """
    from rich.console import Console

    from headcount.trace.anatomy import proof_of, read_anatomy
    from headcount.trace.heads import heads as run

    loaded = load_ready(model, "cpu", "auto", trust_remote_code)
    anatomy = read_anatomy(loaded)
    console = Console()
    if pick is not None:
        console.print(run(loaded, pick).plan(), markup=False, highlight=False)
        return
    console.print(heads_table(anatomy))
    console.print(
        f"{type(loaded).__name__}, {loaded.num_parameters():,} parameters, {anatomy.layout.count} heads. "
        f"The first is {anatomy.layout.spell(next(iter(anatomy.layout)))}; "
        "layers and heads are counted from 0.",
        highlight=False,
    )
    console.print(units_line(anatomy.units), highlight=False)
    proof = proof_of(loaded)
    if proof is not None:
        text = f"Models of type {proof.family.model_types[0]!r} have no record. {proof}"
        console.print(text, highlight=False, markup=False)


def heads_table(anatomy: Anatomy) -> Table:
    """A row for each stack, or for each range of equal layers in it."""
    from rich.table import Table

    table = Table("stack", "layers", "heads a layer", "key/value groups", "head size", "parameters a head")
    for column in table.columns[2:]:
        column.justify = "right"
    for stack, layers in anatomy.stacks.items():
        for span, row in _spans([_row(block) for block in layers]):
            table.add_row(stack, span, *row)
    return table


def units_line(units: UnitLayout) -> str:
    """How many feed-forward units each layer has, or why that is not known."""
    if not units.stacks:
        return f"{units.missing[0].upper()}{units.missing[1:]}."
    parts = []
    for stack, layers in units.stacks.items():
        spans = _spans([f"{len(numbers):,}" for numbers in layers])
        counts = spans[0][1] if len(spans) == 1 else ", ".join(f"{span} {count}" for span, count in spans)
        parts.append(f"{stack} {counts}" if len(units.stacks) > 1 else counts)
    return f"Feed-forward units a layer: {'; '.join(parts)}."


def _spans(rows: Sequence[T]) -> list[tuple[str, T]]:
    """Ranges of layers whose rows are equal, with these."""
    found = []
    start = 0
    for number, row in enumerate(rows):
        if number + 1 == len(rows) or rows[number + 1] != row:
            found.append((f"L{start}" if start == number else f"L{start}-L{number}", row))
            start = number + 1
    return found


def _row(block: Attention) -> tuple[str, ...]:
    known = block.heads and block.plan.query is not None
    size = f"{block.parameters(block.heads[0]):,}" if known else "-"
    return str(len(block.heads)), str(block.kv_heads), str(block.head_size), size
