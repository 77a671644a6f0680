"""`headcount paths`: the effect of one head through another one alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import find_named_task, load_for_task, say_saved
from headcount.core.options import without_effect
from headcount.errors import InvalidOption, StudyProblem

if TYPE_CHECKING:
    import xarray as xr


def paths(
    model: str,
    /,
    *,
    data: options.Data,
    among: Annotated[
        str, Parameter(help='Heads such as "L3H1,L9H6", or a study folder with a circuit: all pairs of its heads.')
    ],
    task: options.Task = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    into: Annotated[
        tuple[Literal["query", "key", "value", "all"], ...],
        Parameter(
            help="What of the later head changes: query, key, value, or all three at once.", consume_multiple=True
        ),
    ] = ("query", "key", "value", "all"),
    how: Annotated[
        Literal["patch", "resample", "zero", "uniform", "mean"],
        Parameter(
            help="Replacement for the output of the earlier head: that on the second input of each example (patch, "
            "column counterpart), on another example (resample), zero, uniform attention, or its mean output."
        ),
    ] = "patch",
    direction: Annotated[
        Literal["noise", "denoise"] | None,
        Parameter(
            help="Of a patch: noise runs the text with heads of its counterpart (the default), denoise the counterpart "
            "with heads of the text."
        ),
    ] = None,
    metric: Annotated[str | None, Parameter(help="Score: logit_difference, log_probability, loss, ...")] = None,
    reference: Annotated[str | None, Parameter(help="Data for the mean outputs of --how mean.")] = None,
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
    """Replace one head's output only in what a later head's query, key or value reads (path patching).

    Example: headcount paths bundled:qnli --task qnli --data bundled:pairs --among "L3H1,L9H6" --how resample

    All other heads keep their outputs, so that only the residual stream and the feed-forward layers pass the change on
    from the one head to the other.

    Parameters
    ----------
    model
        A folder written by save_pretrained, or a name on the Hugging Face hub.
    """
    from rich.console import Console

    from headcount.ablation.hows import Patch
    from headcount.ablation.paths import paths as run
    from headcount.cli.progress import show_progress

    if how != "patch":
        without_effect("direction", direction, f"{how} needs no second input, as patch does")
    heads = find_among(among)
    known = find_named_task(task, data, text, label, labels)
    loaded, pieces = load_for_task(
        model, known.kind.name, device, dtype, trust_remote_code, tokenizer, device_map=device_map
    )
    with show_progress("paths", "examples") as progress:
        result = run(
            loaded,
            pieces,
            data,
            heads,
            into=into,
            task=known,
            how=Patch(direction=direction or "noise") if how == "patch" else how,
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
        print(json.dumps(paths_json(result)))
        return
    console = Console(highlight=False)
    _show(console, result)
    if out is not None:
        say_saved(console, out)


def find_among(among: str) -> Any:
    """Names of heads, or the circuit of a study."""
    if not Path(among).is_dir():
        return among
    from headcount.core.read_study import open_study

    tree = open_study(among)
    found = sorted(node.path.strip("/") for node in tree.subtree if "in_circuit" in node.data_vars)
    if not found:
        raise StudyProblem(f"{among} has no circuit; run headcount circuit with --out {among} first, or name heads")
    if len(found) > 1:
        raise InvalidOption(f"got among={among}, which has {len(found)} circuits ({', '.join(found)}); name the heads")
    return tree[found[0]].to_dataset()


def paths_json(result: xr.Dataset) -> dict[str, Any]:
    """Attributes, numbers of all paths together, and a row for each path."""
    from headcount.cli.cues import records

    along = [name for name, array in result.data_vars.items() if array.dims == ("sender", "receiver", "into")]
    rows = result[along].to_dataframe().reset_index()
    return {
        "attributes": result.attrs,
        "whole": {name: array.item() for name, array in result.data_vars.items() if array.ndim == 0},
        "paths": records(rows[rows["delta"].notna()]),
    }


def _show(console: Any, result: xr.Dataset) -> None:
    from rich.table import Table

    from headcount.story.paths import COLUMNS, path_rows, path_sentences

    table = Table(*COLUMNS, title=f"Change of {result.attrs['metric']} by path", title_justify="left")
    for column in table.columns[3:]:
        column.justify, column.no_wrap = "right", True
    for row in path_rows(result):
        table.add_row(*row)
    console.print(table)
    for sentence in path_sentences(result):
        console.print(sentence, markup=False)
