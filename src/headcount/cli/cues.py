"""`headcount cues`: which words give the label away, and how far they get without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import find_tokenizer, load_for_task, say_saved
from headcount.core.options import belongs_to, without_effect

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

PRINTED = 15


def cues(
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
            help="Text columns. With --choices and --model: the columns of the context, which are joined.",
            consume_multiple=True,
        ),
    ] = None,
    label: options.Label = None,
    labels: options.Labels = None,
    side: Annotated[
        Literal["first", "second", "both"] | None,
        Parameter(help="Of pairs, count the cues of this text; both by default."),
    ] = None,
    applicable: Annotated[
        Literal["exactly-one", "any"] | None,
        Parameter(
            help="A cue is applicable if exactly one choice has it (as in the paper), or any; exactly-one by default."
        ),
    ] = None,
    tokens: Annotated[
        Literal["words", "whitespace", "pieces"],
        Parameter(
            help="Tokens: words and punctuation marks, what stands between white space, or the pieces of --tokenizer."
        ),
    ] = "words",
    cased: Annotated[bool, Parameter(help="Keep upper case; by default texts are put in lower case.")] = False,
    bigrams: Annotated[
        bool, Parameter(negative="--no-bigrams", help="Also count pairs of neighbouring tokens.")
    ] = True,
    least: Annotated[int, Parameter(help="Test only cues that are applicable to at least this many examples.")] = 10,
    top: Annotated[int | None, Parameter(help="Keep only this many cues, the strongest ones.")] = None,
    classifier: Annotated[bool, Parameter(negative="--no-classifier", help="Train the cue-only classifier.")] = True,
    model: Annotated[
        str | None,
        Parameter(help="A folder or hub name of a fine-tuned model, to compare with the cue-only classifier."),
    ] = None,
    tokenizer: Annotated[
        str | None,
        Parameter(help="Folder or hub name of a tokenizer: for --tokens pieces, or if the model comes without one."),
    ] = None,
    untrained: Annotated[bool, Parameter(help="Allow a model whose task head was never trained.")] = False,
    max_length: options.MaxLength = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    out: options.Out = None,
    name: options.Name = None,
    output: Annotated[
        Path | None, Parameter(name=["-o", "--output"], help="File for the cues: csv, parquet or json by its suffix.")
    ] = None,
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Find words that give the label away, and what a classifier gets from such cues alone (Niven and Kao 2019).

    Example: headcount cues --data bundled:pairs --task qnli --side second --least 5

    Productivity is the share of the examples with a cue for which it points to the right label or choice; coverage is
    the share of all examples that have it. A model that is no better than the cue-only classifier may have learned
    nothing but cues.
    """
    from rich.console import Console

    from headcount.reporting.document import check_output
    from headcount.reporting.table import find_format, write_rows
    from headcount.statistical_cues.cues import cues as run
    from headcount.statistical_cues.reading import find_cue_task

    if output is not None:
        check_output(output, "cues.csv")
    if model is None:
        belongs_to("device", None if device == "auto" else device, "model", model)
        belongs_to("dtype", None if dtype == "auto" else dtype, "model", model)
        if tokenizer is None:
            without_effect("trust_remote_code", trust_remote_code, "there is neither a model nor a tokenizer")
    loaded, pieces = None, None
    if model is not None:
        kind = find_cue_task(data, task, choices, text, label, labels, modelled=True).task.kind.name
        loaded, pieces = load_for_task(model, kind, device, dtype, trust_remote_code, tokenizer, untrained)
    elif tokenizer is not None:
        pieces = find_tokenizer(tokenizer, None, trust_remote_code)
    result = run(
        data,
        task=task,
        choices=choices,
        text=text,
        label=label,
        labels=labels,
        side=side,
        applicable=applicable,
        tokens=tokens,
        cased=cased,
        bigrams=bigrams,
        least=least,
        top=top,
        classifier=classifier,
        model=loaded,
        tokenizer=pieces,
        untrained=untrained,
        max_length=max_length,
        limit=limit,
        seed=seed,
        out=out,
        name=name,
    )
    if output is not None:
        write_rows(_rows(result), output, find_format(None, output))
    if json_:
        print(json.dumps(cues_json(result)))
        return
    _show(Console(highlight=False), result)
    console = Console(highlight=False)
    if output is not None:
        console.print(f"Cues written to {output}.", markup=False, soft_wrap=True)
    if out is not None:
        say_saved(console, out)


def _rows(result: xr.Dataset) -> pd.DataFrame:
    """A row for each cue."""
    along = [key for key, array in result.data_vars.items() if array.dims == ("cue",)]
    return result[along].to_dataframe().reset_index()


def cues_json(result: xr.Dataset) -> dict[str, Any]:
    """Attributes, numbers of the whole data set, a row for each part of a model's accuracy and for each cue."""
    whole = {name: array.item() for name, array in result.data_vars.items() if array.ndim == 0}
    parts = [key for key, array in result.data_vars.items() if array.dims == ("part",)]
    return {
        "attributes": result.attrs,
        "whole": {name: value if isinstance(value, float | int | str) else str(value) for name, value in whole.items()},
        "parts": records(result[parts].to_dataframe().reset_index()) if parts else [],
        "cues": records(_rows(result)),
    }


def records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows for JSON, null where there is no number; pandas' own JSON rounds small p-values to 0."""
    plain = rows.astype(object).where(rows.notna(), None)
    return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]


def _show(console: Any, result: xr.Dataset) -> None:
    from rich.markup import escape
    from rich.table import Table

    from headcount.story.cues import CHOICE_COLUMNS, LABEL_COLUMNS, cue_heading, cue_rows, cue_sentences

    for note in result.attrs["notes"]:
        console.print(f"Note: {note}.", markup=False)
    console.print(cue_heading(result), markup=False)
    names, columns = (1, CHOICE_COLUMNS) if result.attrs["choices"] else (2, LABEL_COLUMNS)
    table = Table(*columns)
    for column in table.columns[names:]:
        column.justify, column.no_wrap = "right", True
    for column in table.columns[:names]:
        column.overflow = "fold"
    for row in cue_rows(result, PRINTED):
        table.add_row(*map(escape, row))
    console.print(table)
    for sentence in cue_sentences(result):
        console.print(sentence, markup=False)
