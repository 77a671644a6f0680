"""`headcount probe`: how well the attention of every head follows annotations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import load_model_and_tokenizer, say_part, say_saved

if TYPE_CHECKING:
    import xarray as xr


def probe(
    model: str,
    /,
    *,
    data: Annotated[
        str,
        Parameter(
            help="Dependencies: a CoNLL-U file, or a parquet, jsonl, csv or tsv file with tokens, upos, heads and "
            "deprels. Coreference: a CoNLL-2012 file, or a table with the columns of LitBank or GAP."
        ),
    ],
    kind: Annotated[Literal["dependencies", "coreference"], Parameter(help="Which annotations.")] = "dependencies",
    relations: Annotated[
        str | None, Parameter(help="Only these, such as nsubj,obj; all with at least 100 cases by default.")
    ] = None,
    words: Annotated[
        Literal["written", "annotated"] | None,
        Parameter(
            help="Words as they are written (the default; French du is one), or those of the tree with spaces between."
        ),
    ] = None,
    candidates: Annotated[
        Literal["words", "mentions"] | None,
        Parameter(help="An antecedent is chosen among all other words (the default), or among earlier mentions only."),
    ] = None,
    from_word: Annotated[
        Literal["mean", "first"],
        Parameter(help="Attention from a word of several pieces: the mean over them, or that of the first."),
    ] = "mean",
    control: Annotated[
        bool, Parameter(negative="--no-control", help="Also probe the same model with random weights.")
    ] = True,
    out: options.Out = None,
    name: options.Name = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    batch_tokens: options.BatchTokens = None,
    shard: options.Shard = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Find the heads that follow syntactic dependencies or find antecedents, beside what simple rules get.

    Example: headcount probe bundled:qnli --data bundled:sentences --limit 100 --out study

    For each relation the best head and the best rule (a fixed offset; the nearest mention or the same head word) are
    selected on one half of the sentences or documents and evaluated on the other. An interrupted run resumes when the
    same command is run again with --out.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:pretrained.
    """
    from rich.console import Console

    from headcount.cli.progress import show_progress
    from headcount.engines.compute import Compute
    from headcount.probing.probe import probe as run

    console = Console(highlight=False)
    loaded, pieces = load_model_and_tokenizer(model, device, dtype, trust_remote_code, tokenizer)
    with show_progress("probe", limited=limit is None) as progress:
        probed = run(
            loaded,
            pieces,
            data,
            kind=kind,
            relations=relations,
            words=words,
            candidates=candidates,
            from_word=from_word,
            control=control,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            compute=Compute(batch_tokens, shard=shard),
            progress=progress,
        )
    if json_:
        print(json.dumps(relations_as_json(probed)))
        return
    if not probed.attrs["complete"]:
        say_part(console)
        return
    lines = {"dependencies": relation_lines, "coreference": antecedent_lines}[kind]
    for line in lines(probed):
        console.print(line)
    if out is not None:
        say_saved(console, out)


def relations_as_json(probed: xr.Dataset) -> dict[str, Any]:
    """The numbers of each relation, for scripts."""
    columns = [name for name, array in probed.data_vars.items() if array.dims == ("relation",)]
    table = probed[columns].to_dataframe().reset_index()
    return {"attributes": {"lost": probed.attrs["lost"]}, "relations": json.loads(table.to_json(orient="records"))}


def relation_lines(probed: xr.Dataset) -> list[Any]:
    """The best head of each relation as a table, and what it comes to."""
    from rich.table import Table

    from headcount.story.relations import relation_rows, relation_sentences

    table = Table("relation", "best head", "right", "offset", "above the offset", "random")
    for column in table.columns[2:]:
        column.justify = "right"
    for row in relation_rows(probed):
        table.add_row(*row)
    note = "-> the dependent attends to its head, <- the head to its dependent; shares of the words, held-out half:"
    return [note, table, *relation_sentences(probed)]


def antecedent_lines(probed: xr.Dataset) -> list[Any]:
    """The best head of each kind of mention as a table, and what it comes to."""
    from rich.table import Table

    from headcount.story.coreference import antecedent_rows, antecedent_sentences

    table = Table("mentions", "cases", "best head", "right", "nearest", "same head", "rules", "random")
    for column in [table.columns[1], *table.columns[3:]]:
        column.justify = "right"
    for row in antecedent_rows(probed):
        table.add_row(*row)
    note = "-> the mention attends to its antecedent, <- the antecedent to it; shares of the mentions, held-out half:"
    return [note, table, *antecedent_sentences(probed)]
