"""`headcount probe`: how well the attention of every head follows annotations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import load_model_and_tokenizer, say_part, say_saved

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr


def probe(
    model: str,
    /,
    *,
    data: Annotated[
        str,
        Parameter(
            help="A CoNLL-U file, or a parquet, jsonl, csv or tsv file with lists of tokens, upos, heads and deprels; "
            "for frames a table with text, target and fes, a folder with FrameNet, or nltk:framenet_v17."
        ),
    ],
    kind: Annotated[Literal["dependencies", "frames"], Parameter(help="Which annotations.")] = "dependencies",
    relations: Annotated[
        str | None, Parameter(help="Only these, such as nsubj,obj; all with at least 100 cases by default.")
    ] = None,
    words: Annotated[
        Literal["written", "annotated"] | None,
        Parameter(
            help="Words as they are written (the default; French du is one), or those of the tree with spaces between."
        ),
    ] = None,
    elements: Annotated[
        Literal["core", "any", "strict"] | None,
        Parameter(
            help="Frame elements: core ones (the default), any, or only those of sentences all of whose elements are "
            "core, short and distant."
        ),
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
    """Find the heads that follow syntactic dependencies, beside what fixed offsets and random weights get.

    Example: headcount probe bundled:qnli --data bundled:sentences --limit 100 --out study

    For each relation the best head and the best fixed offset are selected on one half of the sentences and evaluated on
    the other. An interrupted run resumes when the same command is run again with --out.

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
            elements=elements,
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
    for line in frame_lines(probed, out) if kind == "frames" else relation_lines(probed):
        console.print(line)
    if out is not None:
        say_saved(console, out)


def relations_as_json(probed: xr.Dataset) -> dict[str, Any]:
    """The numbers of each relation, for scripts."""
    columns = [name for name, array in probed.data_vars.items() if array.dims == ("relation",)]
    table = probed[columns].to_dataframe().reset_index()
    attributes = {name: probed.attrs[name] for name in ("lost", "filter", "links") if name in probed.attrs}
    return {"attributes": attributes, "relations": json.loads(table.to_json(orient="records"))}


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


def frame_lines(probed: xr.Dataset, out: Path | None) -> list[Any]:
    """What the filter left, the heads above the 99th percentile as a table, and what it comes to."""
    from rich.table import Table

    from headcount.story.frames import effect_sentences, filter_rows, frame_rows, frame_sentences

    left = Table("annotation sets", "left")
    heads = Table("head", "weight", "compared", "unlinked", "difference", "q")
    for table, rows in ((left, filter_rows(probed)), (heads, frame_rows(probed))):
        for column in table.columns[1:]:
            column.justify = "right"
        for row in rows:
            table.add_row(*row)
    note = (
        "-> the element attends to the predicate, <- the predicate to the element; mean weights over sentences, of all "
        "links and of those that can be compared with unlinked words at the same distance:"
    )
    effects = effect_sentences(probed, out) if out is not None else []
    return [left, note, heads, *frame_sentences(probed), *effects]
