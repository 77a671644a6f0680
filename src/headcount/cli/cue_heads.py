"""`headcount cue-heads`: which heads carry the words that give the label away, and the model without them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import load_for_task, say_saved

if TYPE_CHECKING:
    import xarray as xr

PRINTED = 10


def cue_heads(
    model: str,
    /,
    *,
    data: options.Data,
    task: Annotated[
        str | None,
        Parameter(help="A GLUE task (rte, sst2, ...), classification (the default) or multiple-choice."),
    ] = None,
    choices: Annotated[
        tuple[str, ...] | None,
        Parameter(help="Columns of the choices of multiple-choice data.", consume_multiple=True),
    ] = None,
    text: Annotated[
        tuple[str, ...] | None,
        Parameter(
            help="Text columns. With --choices: the columns of the context, which are joined.", consume_multiple=True
        ),
    ] = None,
    label: options.Label = None,
    labels: options.Labels = None,
    cue: Annotated[
        tuple[str, ...] | None,
        Parameter(help="Only these cues, words or bigrams; by default all of the data.", consume_multiple=True),
    ] = None,
    side: Annotated[
        Literal["first", "second", "both"] | None,
        Parameter(help="Of pairs, count the cues of this text; both by default."),
    ] = None,
    tokens: Annotated[
        Literal["words", "whitespace", "pieces"],
        Parameter(help="Cues are words and punctuation marks, what stands between white space, or pieces."),
    ] = "words",
    cased: Annotated[bool, Parameter(help="Keep upper case; by default texts are put in lower case.")] = False,
    bigrams: Annotated[
        bool, Parameter(negative="--no-bigrams", help="Also count pairs of neighbouring tokens.")
    ] = True,
    least: Annotated[int, Parameter(help="Only cues that are applicable to at least this many examples.")] = 10,
    how: Annotated[
        Literal["zero", "uniform"], Parameter(help="Replacement for the output of an ablated head.")
    ] = "zero",
    removed: Annotated[
        tuple[int, ...],
        Parameter(help="Remove this many heads that carry cues, selected on half of the data.", consume_multiple=True),
    ] = (1, 2, 4, 8),
    randoms: Annotated[int, Parameter(help="Random sets of as many heads to compare with.")] = 10,
    max_length: options.MaxLength = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    out: options.Out = None,
    name: options.Name = None,
    json_: options.Json = False,
    tokenizer: options.Tokenizer = None,
    trust_remote_code: options.Trust = False,
) -> None:
    """Find the heads that carry statistical cues, and what the model is without them.

    Example: headcount cue-heads bundled:qnli --data bundled:pairs --task qnli --side second --cue the --limit 150

    Each head is ablated. A head carries cues if, without it, the right label loses where cues point to it and gains
    where they point elsewhere. Heads are then selected on half of the examples and removed on the other half.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:qnli.
    """
    from rich.console import Console

    from headcount.cli.progress import show_progress
    from headcount.data.number_options import check_numbers
    from headcount.statistical_cues.cue_heads import cue_heads as run
    from headcount.statistical_cues.reading import find_cue_task

    for count in removed:
        check_numbers(removed=count)
    kind = find_cue_task(data, task, choices, text, label, labels, modelled=True).task.kind.name
    loaded, pieces = load_for_task(model, kind, device, dtype, trust_remote_code, tokenizer)
    with show_progress("cue-heads", "examples") as progress:
        result = run(
            loaded,
            pieces,
            data,
            task=task,
            choices=choices,
            text=text,
            label=label,
            labels=labels,
            cue=cue,
            side=side,
            tokens=tokens,
            cased=cased,
            bigrams=bigrams,
            least=least,
            how=how,
            removed=removed,
            randoms=randoms,
            max_length=max_length,
            limit=limit,
            seed=seed,
            out=out,
            name=name,
            progress=progress,
        )
    if json_:
        print(json.dumps(cue_heads_json(result)))
        return
    console = Console(highlight=False)
    _show(console, result)
    if out is not None:
        say_saved(console, out)


def cue_heads_json(result: xr.Dataset) -> dict[str, Any]:
    """Attributes, numbers of the whole model, a row for each head and for each number of removed heads."""
    from headcount.cli.cues import records
    from headcount.core.results import as_table

    whole = {name: array.item() for name, array in result.data_vars.items() if array.ndim == 0}
    along = [name for name, array in result.data_vars.items() if array.dims == ("removed",)]
    return {
        "attributes": result.attrs,
        "whole": whole,
        "cues": [str(cue) for cue in result["cue"].values],
        "heads": records(as_table(result)),
        "removed": records(result[along].to_dataframe().reset_index()),
    }


def _show(console: Any, result: xr.Dataset) -> None:
    from rich.table import Table

    from headcount.story.cue_heads import COLUMNS, cue_head_rows, cue_head_sentences

    title = (
        "Without each head: reliance on cues, and the log-odds of the right label where\ncues are right and where they "
        "are wrong. Attention to cue words (if uniform)"
    )
    table = Table(*COLUMNS, title=title, title_justify="left")
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for row in cue_head_rows(result, PRINTED):
        table.add_row(*row)
    console.print(table)
    for sentence in cue_head_sentences(result):
        console.print(sentence, markup=False)
