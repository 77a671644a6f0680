"""`headcount measure`: what every head looks at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import load_model_and_tokenizer, say_part, say_saved
from headcount.core.options import without_effect
from headcount.errors import InvalidOption

if TYPE_CHECKING:
    import xarray as xr


def measure(
    model: str | None = None,
    /,
    *,
    data: Annotated[
        str | None,
        Parameter(
            help="A parquet, csv, tsv or jsonl file with a text column or two, a CoNLL-U file, "
            "bundled:pairs or bundled:sentences."
        ),
    ] = None,
    out: options.Study = None,
    only: Annotated[str | None, Parameter(help="Some measures, such as entropy,position; all by default.")] = None,
    name: options.Name = None,
    text: options.TextColumns = None,
    spacy: Annotated[
        str | None, Parameter(help="A spaCy pipeline that you have: it annotates plain texts for the word measures.")
    ] = None,
    tagger: options.Tagger = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    distance_examples: Annotated[
        int | None, Parameter(help="Texts for the distances between heads; 50 by default.")
    ] = None,
    batch_tokens: options.BatchTokens = None,
    shard: options.Shard = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    list_: Annotated[bool, Parameter(name="--list", help="Explain all measures and stop.", negative="")] = False,
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Measure what every head looks at: position, special tokens, entropy, words, links between words, and more.

    Example: headcount measure bundled:qnli --data bundled:sentences --limit 40 --out study

    One pass over the texts feeds all measures; no attention map is kept. Killed at any moment, the same command goes
    on where it stopped.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:pretrained.
    """
    from rich.console import Console

    console = Console(highlight=False)
    if list_:
        others = {
            "data": data,
            "out": out,
            "only": only,
            "name": name,
            "text": text,
            "spacy": spacy,
            "tagger": tagger,
            "limit": limit,
            "max_length": max_length,
            "distance_examples": distance_examples,
            "batch_tokens": batch_tokens,
            "shard": shard,
            "json": json_,
            "trust_remote_code": trust_remote_code,
            "seed": seed or None,
            "device": None if device == "auto" else device,
            "dtype": None if dtype == "auto" else dtype,
        }
        if model is not None:
            raise InvalidOption(f"got the model {model} with --list, which only explains the measures; leave one out")
        for option, given in others.items():
            without_effect(option, given, "--list only explains the measures", "leave one of them out")
        console.print(explain())
        return
    if model is None or data is None:
        missing = "a model" if model is None else "--data"
        raise InvalidOption(f"{missing} is missing; expected headcount measure MODEL --data FILE --out STUDY")
    from headcount.cli.progress import show_progress
    from headcount.engines.compute import Compute
    from headcount.measures.measure import measure as run

    loaded, words = load_model_and_tokenizer(model, device, dtype, trust_remote_code, tokenizer)
    with show_progress("measure", limited=limit is None) as progress:
        found = run(
            loaded,
            words,
            data,
            only=None if only is None else [only],
            text=text,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            compute=Compute(batch_tokens, shard=shard),
            distance_examples=distance_examples,
            spacy=spacy,
            tagger=tagger,
            progress=progress,
        )
    if json_:
        print(json.dumps(as_json(found)))
        return
    if not is_complete(found):
        say_part(console)
        return
    for line in lines_of(found):
        console.print(line)
    if out is not None:
        say_saved(console, out)


def explain() -> Any:
    """A table of all measures."""
    from rich.table import Table

    from headcount.measures.catalogue import MEASURES

    table = Table("measure", "what it says", "paper")
    for one in MEASURES.values():
        table.add_row(one.name, one.summary, one.paper)
    return table


def is_complete(found: xr.DataTree) -> bool:
    """Whether all measures are done, those that other shards have to do included."""
    return all(node.attrs["complete"] for node in found.children.values())


def as_json(found: xr.DataTree) -> dict[str, Any]:
    """The numbers of each head by measure, for scripts."""
    from headcount.cli.table import json_rows

    rows = {name: json_rows(node.to_dataset()) for name, node in found.children.items()}
    return {"attributes": found.attrs, "measures": rows}


def lines_of(found: xr.DataTree) -> list[Any]:
    """The heads that stand out, as a table, and what was left out."""
    from rich.table import Table

    from headcount.story.heads import standing_out
    from headcount.story.notes import measure_notes

    table = Table("the head that ...", "is", "value [95 % interval]", "median head")
    table.columns[3].justify = "right"
    for row in standing_out({name: node.to_dataset() for name, node in found.children.items()}):
        table.add_row(*row)
    return [table, *measure_notes(found)]
