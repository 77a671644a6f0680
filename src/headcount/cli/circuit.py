"""`headcount circuit`: the smallest set of heads that alone keeps the score."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import find_named_task, load_for_task, say_saved

if TYPE_CHECKING:
    import xarray as xr


def circuit(
    model: str,
    /,
    *,
    data: options.Data,
    task: options.Task = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    how: Annotated[
        Literal["resample", "mean", "patch", "zero", "uniform"],
        Parameter(
            help="Replacement for the outputs of all other heads: their outputs on another example (resample), their "
            "mean outputs, their outputs on the second input of each example (patch, column counterpart), zero, or "
            "uniform attention."
        ),
    ] = "resample",
    tolerance: Annotated[
        str | None,
        Parameter(
            help="What the circuit may lose: points of the score, such as 1, or a share of what all heads bring, such "
            "as 5% (the default)."
        ),
    ] = None,
    keep: Annotated[int | None, Parameter(help="Number of heads in the circuit, instead of a tolerance.")] = None,
    by_estimate: Annotated[
        bool, Parameter(help="Compare the change itself with the tolerance, not its confidence bound.")
    ] = False,
    order: Annotated[
        str,
        Parameter(
            help="What ranks the heads: ablation (the score with each head replaced), importance (one backward pass), "
            "taylor, norm, gates or file:PATH."
        ),
    ] = "ablation",
    passes: Annotated[int, Parameter(help="Maximum number of passes that drop heads which are not needed.")] = 2,
    subsets: Annotated[
        int, Parameter(help="Number of random halves of the circuit for which completeness is computed.")
    ] = 10,
    randoms: Annotated[
        int, Parameter(help="Number of random sets with as many heads in each layer, for comparison.")
    ] = 10,
    stack: Annotated[
        Literal["encoder", "decoder", "cross"] | None, Parameter(help="Replace only heads of this stack.")
    ] = None,
    metric: Annotated[
        str | None, Parameter(help="Score that the circuit keeps: accuracy, loss, logit_difference, ...")
    ] = None,
    reference: Annotated[
        str | None, Parameter(help="Data for mean outputs; by default the half of the examples that selects.")
    ] = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    device: options.Device = "auto",
    device_map: options.DeviceMap = None,
    dtype: options.Dtype = "auto",
    out: options.Out = None,
    name: options.Name = None,
    json_: options.Json = False,
    tokenizer: options.Tokenizer = None,
    trust_remote_code: options.Trust = False,
) -> None:
    """Find the smallest set of heads that alone keeps the score, with all other heads replaced.

    Example: headcount circuit bundled:qnli --task qnli --data bundled:pairs --order importance --keep 10

    One half of the examples selects the heads; the other half says how faithful, complete and minimal the circuit is,
    beside random sets with as many heads in each layer.

    Parameters
    ----------
    model
        A folder written by save_pretrained, or a name on the Hugging Face hub.
    """
    from rich.console import Console

    from headcount.choosing.circuit import circuit as run
    from headcount.cli.progress import show_progress

    known = find_named_task(task, data, text, label, labels)
    loaded, pieces = load_for_task(
        model, known.kind.name, device, dtype, trust_remote_code, tokenizer, device_map=device_map
    )
    with show_progress("circuit", "examples") as progress:
        result = run(
            loaded,
            pieces,
            data,
            task=known,
            how=how,
            tolerance=tolerance,
            keep=keep,
            by_estimate=by_estimate,
            order=order,
            passes=passes,
            subsets=subsets,
            randoms=randoms,
            stack=stack,
            metric=metric,
            reference=reference,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            progress=progress,
        )
    if json_:
        print(json.dumps(circuit_json(result)))
        return
    console = Console(highlight=False)
    _show(console, result)
    if out is not None:
        say_saved(console, out)


def circuit_json(result: xr.Dataset) -> dict[str, Any]:
    """Attributes, numbers of the circuit, and rows: its heads, subsets, random sets, steps of the search."""
    from headcount.cli.cues import records

    heads = result[[name for name, array in result.data_vars.items() if array.dims == ("stack", "layer", "head")]]
    rows = heads.to_dataframe().reset_index()

    def along(dimension: str) -> Any:
        names = [name for name, array in result.data_vars.items() if array.dims == (dimension,)]
        return records(result[names].to_dataframe().reset_index()) if names else []

    return {
        "attributes": result.attrs,
        "whole": {name: array.item() for name, array in result.data_vars.items() if array.ndim == 0},
        "heads": records(rows[rows["in_circuit"] == 1]),
        "subsets": along("subset"),
        "random_sets": along("draw"),
        "search": along("kept"),
    }


def _show(console: Any, result: xr.Dataset) -> None:
    from rich.table import Table

    from headcount.story.circuits import COLUMNS, MOST, circuit_rows, circuit_sentences

    if result.attrs["size"] < result.attrs["of"]:
        table = Table(*COLUMNS, title=f"The circuit ({result.attrs['metric']})", title_justify="left")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in circuit_rows(result):
            table.add_row(*row)
        console.print(table)
        if result.attrs["size"] > MOST:
            console.print(f"The {MOST} heads that are needed most, of {result.attrs['size']}; --json has all of them.")
    for sentence in circuit_sentences(result):
        console.print(sentence, markup=False)
