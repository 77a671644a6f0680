"""`headcount cost`: what a model costs to keep and to run, alone or beside another one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.cli.options import Device, Dtype, Trust, load_ready
from headcount.core.options import belongs_to

if TYPE_CHECKING:
    import pandas as pd


def cost(
    model: str,
    other: str | None = None,
    /,
    *,
    batches: Annotated[str, Parameter(help="Batch sizes.")] = "1,16",
    lengths: Annotated[str | None, Parameter(help="Lengths in tokens; 32,128 by default.")] = None,
    repeats: Annotated[int, Parameter(help="Passes that are timed.")] = 10,
    device: Device = "auto",
    dtype: Dtype = "auto",
    study: Annotated[Path | None, Parameter(help="A study folder that the numbers go to.")] = None,
    name: Annotated[str | None, Parameter(help="A name for the numbers in the study; models by default.")] = None,
    json_: Annotated[bool, Parameter(name="--json", help="Print the numbers as JSON.", negative="")] = False,
    trust_remote_code: Trust = False,
) -> None:
    """Measure parameters, size, operations, memory, latency and throughput of a model, or of two side by side.

    Example: headcount cost bundled:qnli small --batches 1,16 --lengths 64

    The models take turns, after a warm-up; times are medians, with the quartiles.

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, or bundled:qnli.
    other
        The model after a cut, to compare with.
    """
    from rich.console import Console
    from rich.markup import escape

    from headcount.cli.progress import show_progress
    from headcount.costs.cost import LENGTHS, attention_share, make_inputs
    from headcount.costs.cost import cost as measure
    from headcount.errors import InvalidOption
    from headcount.story.costs import cost_sentences

    belongs_to("name", name, "study", study)
    try:
        many = [int(part) for part in batches.split(",")]
        long = None if lengths is None else [int(part) for part in lengths.split(",")]
    except ValueError as error:
        given = f"--batches {batches}{'' if lengths is None else f' --lengths {lengths}'}"
        raise InvalidOption(f"got {given}; expected numbers, such as 1,16") from error
    names = [model, *([other] if other is not None else [])]
    if model == other:
        raise InvalidOption(f"got {model} twice; expected another model to compare with, or one alone")
    models = {one: load_ready(one, device, dtype, trust_remote_code) for one in names}
    with show_progress("cost", "batch shapes") as progress:
        found = measure(models, batches=many, lengths=long, repeats=repeats, study=study, name=name, progress=progress)
        first = models[model]
        share = attention_share(first, make_inputs(first, max(many), max(long or LENGTHS)))
    if json_:
        print(json.dumps({"attention_share": share, "rows": json.loads(found.to_json(orient="records"))}))
        return
    console = Console(highlight=False)
    for one in tables(found, [escape(Path(name).name) for name in names]):
        console.print(one)
    for line in cost_sentences(found, share, len(names) > 1):
        console.print(line)


SIZES = {"parameters": "million", "attention_parameters": "million", "bytes": "MB"}
"""What a model has as a whole, and the unit in which it is shown."""


def tables(found: pd.DataFrame, names: list[str]) -> list[Any]:
    """The size of each model, its time (half the distance of the quartiles behind the median) and its work."""
    from rich.table import Table

    from headcount.costs.cost import SCHEMAS

    size = Table("", *names)
    sides = ["before", "after"] if len(names) > 1 else ["model"]
    times = [f"{side} ({SCHEMAS['ms'].unit})" for side in sides]
    run = Table("batch x length", *times, *["faster"][: len(names) - 1], SCHEMAS["per_second"].unit)
    work = Table("batch x length", f"G{SCHEMAS['flops'].unit}", f"{SCHEMAS['peak_bytes'].title} (MB)")
    for column in (*size.columns[1:], *run.columns[1:], *work.columns[1:]):
        column.justify = "right"
    parts = [part for _, part in found.groupby("model", sort=False)]
    for name, unit in SIZES.items():
        size.add_row(f"{SCHEMAS[name].title} ({unit})", *[f"{part[name].iloc[0] / 1e6:,.2f}" for part in parts])
    for _, row in found.groupby(["batch", "length"], sort=False):
        times = [
            f"{middle:.1f} ±{(high - low) / 2:.1f}" for low, middle, high in row[["ms_low", "ms", "ms_high"]].to_numpy()
        ]
        faster = [f"{row.ms.iloc[0] / row.ms.iloc[1]:.2f} x"] if len(row) > 1 else []
        shape = f"{row.batch.iloc[0]} x {row.length.iloc[0]}" if row.length.iloc[0] else str(row.batch.iloc[0])
        run.add_row(shape, *times, *faster, _each(row.per_second, "{:.0f}"))
        work.add_row(shape, _each(row.flops / 1e9, "{:.2f}"), _each(row.peak_bytes / 1e6, "{:.0f}"))
    return [size, run, work]


def _each(values: pd.Series, form: str) -> str:
    return " -> ".join(form.format(value) for value in values)
