"""`headcount function-vectors`: which heads carry the task that few-shot prompts show?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import find_named_task, load_for_task, say_saved

if TYPE_CHECKING:
    import xarray as xr


def function_vectors(
    model: str,
    /,
    *,
    data: options.Data,
    task: Annotated[str | None, Parameter(help="completion, if the data are not synthetic texts.")] = None,
    text: options.Text = None,
    counterpart: Annotated[
        tuple[str, ...] | None,
        Parameter(consume_multiple=True, help="Column of the shuffled prompts; counterpart by default."),
    ] = None,
    repeated: Annotated[
        str, Parameter(help="Texts of repeated tokens, on which induction is measured.")
    ] = "synthetic:repeat",
    texts: Annotated[int, Parameter(help="Number of these texts.")] = 50,
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
    """Put each head's mean output over clean few-shot prompts into shuffled ones, and see whether the answer returns.

    Example: headcount function-vectors MODEL --data synthetic:few-shot --limit 200 --out study

    The mean is over the last token of other prompts of the same task, without the answers of those it is put into. The
    induction score of each head is measured beside it: are the heads that carry a task those that copy?

    Parameters
    ----------
    model
        A folder written by save_pretrained, or a name on the Hugging Face hub, of a causal language model.
    """
    from rich.console import Console

    from headcount.choosing.function_vectors import function_vectors as run
    from headcount.cli.progress import show_progress

    known = find_named_task(task, data, text, None, None, None, counterpart)
    loaded, pieces = load_for_task(model, known.kind.name, device, dtype, trust_remote_code, tokenizer)
    with show_progress("function-vectors", "examples") as progress:
        result = run(
            loaded,
            pieces,
            data,
            task=known,
            repeated=repeated,
            texts=texts,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            progress=progress,
        )
    if json_:
        print(json.dumps(vectors_json(result)))
        return
    console = Console(highlight=False)
    _show(console, result)
    if out is not None:
        say_saved(console, out)


def vectors_json(result: xr.Dataset) -> dict[str, Any]:
    """Attributes, numbers of all heads together, and a row for each head and for each task."""
    from headcount.cli.cues import records
    from headcount.cli.table import json_rows

    along = [name for name, array in result.data_vars.items() if array.dims == ("task",)]
    return {
        "attributes": result.attrs,
        "whole": {name: array.item() for name, array in result.data_vars.items() if array.ndim == 0},
        "heads": json_rows(result),
        "tasks": records(result[along].to_dataframe().reset_index()),
    }


def _show(console: Any, result: xr.Dataset) -> None:
    from rich.table import Table

    from headcount.story.function_vectors import COLUMNS, vector_rows, vector_sentences

    table = Table(*COLUMNS)
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for row in vector_rows(result):
        table.add_row(*row)
    console.print(table)
    for sentence in vector_sentences(result):
        console.print(sentence, markup=False)
