"""`headcount demo`: the whole story on the bundled model, offline, in one command."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    import xarray as xr

PAIRS, QUICK_PAIRS = 200, 20


def demo(
    *,
    out: Annotated[Path, Parameter(help="The study folder.")] = Path("demo-out"),
    full: Annotated[bool, Parameter(help="All bundled pairs instead of 200.", negative="")] = False,
    quick: Annotated[bool, Parameter(help="Only 20 pairs: half a minute at most.", negative="")] = False,
) -> None:
    """Look at every head of a real BERT with 12 layers and 12 heads, without a GPU and without a network.

    Example: headcount demo --out demo-out

    Killed at any moment, the same command goes on where it stopped.
    """
    from rich.console import Console

    from headcount.ablation.sweep import sweep
    from headcount.cli.heads import heads_table
    from headcount.cli.sweep import progress_bar
    from headcount.models.anatomy import read_anatomy
    from headcount.models.load import load
    from headcount.zoo.bundled import bundled

    start = time.perf_counter()
    console = Console(highlight=False)
    model, tokenizer = load(bundled("qnli"))
    model.float()  # the weights are shipped in half precision; a CPU computes in float32
    console.print("A BERT that says whether a sentence answers a question, and its heads:")
    console.print(heads_table(read_anatomy(model)))
    pairs = first_pairs(None if full else QUICK_PAIRS if quick else PAIRS)
    results: dict[str, xr.Dataset] = {}
    for by in ("layer", "head"):
        with progress_bar(f"without each {by}", shown=sys.stderr.isatty()) as progress:
            results[by] = sweep(model, tokenizer, pairs, task="qnli", by=by, out=out, progress=progress)
    for line in story(results, len(pairs)):
        console.print(line)
    console.print(f"The study is in {out} ({time.perf_counter() - start:.0f} s). Next: headcount table {out} --to csv")


def first_pairs(count: int | None) -> Any:
    """The first bundled pairs, half of them with an answer."""
    from headcount.data.tables import read_table
    from headcount.zoo.bundled import bundled_pairs

    table = read_table(bundled_pairs())
    return table if count is None else table.head(count)


def story(results: dict[str, xr.Dataset], pairs: int) -> list[str]:
    """What was found, in plain sentences with the figures."""
    from headcount.ablation.summary import tell

    layers = results["layer"]
    worst = int(layers["delta"].values[0].argmin())
    drop = layers.isel(stack=0, layer=worst)
    change = f"{float(drop['delta']):+.4f} [{float(drop['low']):+.4f}, {float(drop['high']):+.4f}]"
    return [
        "",
        f"What was found on {pairs} pairs (a head is left out by letting it attend everywhere alike):",
        *[f"- {sentence}" for sentence in tell(results["head"])],
        f"- The layer that is needed most is L{worst}: without its heads the accuracy changes by {change}.",
        "",
    ]
