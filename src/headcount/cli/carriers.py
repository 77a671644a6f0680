"""`headcount carriers`: do the heads that score high in a measure carry what it is about?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import find_named_task, load_for_task, say_saved

if TYPE_CHECKING:
    import xarray as xr


def carriers(
    model: str,
    /,
    *,
    data: options.Data,
    measure: Annotated[
        str, Parameter(help="The measure that orders the heads: induction, duplicate, copying, retrieval, ...")
    ] = "induction",
    task: Annotated[
        str | None, Parameter(help="A language-modelling task; not needed for synthetic texts (completion).")
    ] = None,
    text: options.Text = None,
    top: Annotated[int, Parameter(help="Number of heads with the highest scores.")] = 10,
    randoms: Annotated[int, Parameter(help="Random sets of as many heads of the same layers.")] = 10,
    how: Annotated[Literal["zero", "uniform"], Parameter(help="Replacement for the output of ablated heads.")] = "zero",
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    out: options.Out = None,
    name: options.Name = None,
    json_: options.Json = False,
    tokenizer: options.Tokenizer = None,
    trust_remote_code: options.Trust = False,
) -> None:
    """Ablate the heads that score highest in a measure, and as many random ones of the same layers.

    Example: headcount carriers bundled:pretrained --data synthetic:repeat --task masked-lm --measure duplicate

    One half of the texts selects the heads, the loss is that of the other half: on synthetic:repeat the loss of the
    second copy of random tokens, so that the heads with high induction scores are shown to carry it, or not.

    Parameters
    ----------
    model
        A folder written by save_pretrained, or a name on the Hugging Face hub, of a language model.
    """
    from rich.console import Console

    from headcount.choosing.carriers import carriers as run
    from headcount.cli.progress import show_progress

    known = find_named_task(task, data, text, None, None)
    loaded, pieces = load_for_task(model, known.kind.name, device, dtype, trust_remote_code, tokenizer)
    with show_progress("carriers", "texts") as progress:
        result = run(
            loaded,
            pieces,
            data,
            measure=measure,
            task=known,
            top=top,
            randoms=randoms,
            how=how,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            progress=progress,
        )
    if json_:
        print(json.dumps(carriers_json(result)))
        return
    console = Console(highlight=False)
    _show(console, result)
    if out is not None:
        say_saved(console, out)


def carriers_json(result: xr.Dataset) -> dict[str, Any]:
    """Attributes, numbers of all heads together, and a row for each head with a high score."""
    from headcount.cli.cues import records

    along = [name for name, array in result.data_vars.items() if array.dims == ("rank",)]
    return {
        "attributes": result.attrs,
        "whole": {name: array.item() for name, array in result.data_vars.items() if array.ndim == 0},
        "heads": records(result[along].to_dataframe().reset_index(drop=True)),
        "random_sets": result["random_set"].values.tolist(),
    }


def _show(console: Any, result: xr.Dataset) -> None:
    from rich.table import Table

    from headcount.story.carriers import COLUMNS, carrier_rows, carrier_sentences

    table = Table(*COLUMNS, title=f"{result.attrs['title']} ({result.attrs['measure']})", title_justify="left")
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for row in carrier_rows(result):
        table.add_row(*row)
    console.print(table)
    for sentence in carrier_sentences(result):
        console.print(sentence, markup=False)
