"""`headcount measure`: what every head looks at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.cli.options import load_model_and_tokenizer, refuse_others, say_part, say_saved
from headcount.errors import InvalidOption

if TYPE_CHECKING:
    import xarray as xr


@with_engine
def measure(
    model: str | None = None,
    /,
    *,
    data: options.Texts | None = None,
    out: options.Study = None,
    only: Annotated[
        str | None, Parameter(help="Only these measures, such as entropy,position; all by default.")
    ] = None,
    name: options.Name = None,
    text: options.TextColumns = None,
    spacy: Annotated[
        str | None, Parameter(help="An installed spaCy pipeline that annotates plain texts for the measures of words.")
    ] = None,
    tagger: options.Tagger = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    distance_examples: Annotated[
        int | None, Parameter(help="Number of texts for the distances between heads; 50 by default.")
    ] = None,
    batch_tokens: options.BatchTokens = None,
    shard: options.Shard = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    device_map: options.DeviceMap = None,
    dtype: options.Dtype = "auto",
    list_: Annotated[bool, Parameter(name="--list", help="List all measures and exit.")] = False,
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Measure what every head looks at: position, special tokens, entropy, words, links between words, and more.

    Example: headcount measure bundled:qnli --data bundled:sentences --limit 40 --out study

    All measures share one pass over the texts, and no attention map is stored. An interrupted run resumes when the
    same command is run again with --out.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:pretrained.
    """
    given = dict(locals())
    from rich.console import Console

    console = Console(highlight=False)
    if list_:
        if model is not None:
            raise InvalidOption(f"got the model {model} with --list, which only explains the measures; leave one out")
        refuse_others(measure, given, ("model", "list_"), "--list only explains the measures")
        console.print(explain())
        return
    if model is None or data is None:
        missing = "a model" if model is None else "--data"
        raise InvalidOption(f"{missing} is missing; expected headcount measure MODEL --data FILE --out STUDY")
    from headcount.cli.progress import show_progress
    from headcount.engines.compute import Compute
    from headcount.measures.measure import measure as run

    loaded, loaded_tokenizer = load_model_and_tokenizer(model, device, dtype, trust_remote_code, tokenizer, device_map)
    with show_progress("measure", limited=limit is None) as progress:
        measured = run(
            loaded,
            loaded_tokenizer,
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
        print(json.dumps(measures_json(measured)))
        return
    if not is_complete(measured):
        say_part(console)
        return
    for line in measure_lines(measured):
        console.print(line)
    if out is not None:
        say_saved(console, out)


def explain() -> Any:
    """A table of all measures."""
    from rich.table import Table

    from headcount.measures.catalogue import MEASURES

    table = Table("measure", "what it says", "paper")
    for question in MEASURES.values():
        table.add_row(question.name, question.summary, question.paper)
    return table


def is_complete(measured: xr.DataTree) -> bool:
    """Whether all measures are done, including the parts of other shards."""
    return all(node.attrs["complete"] for node in measured.children.values())


def measures_json(measured: xr.DataTree) -> dict[str, Any]:
    """The attributes of the run and, by measure, a row for each head, as `--json` prints them."""
    from headcount.cli.table import json_rows

    rows = {name: json_rows(node.to_dataset()) for name, node in measured.children.items()}
    return {"attributes": measured.attrs, "measures": rows}


def measure_lines(measured: xr.DataTree) -> list[Any]:
    """A table of the heads that stand out, and notes on what was not measured."""
    from rich.table import Table

    from headcount.story.heads import standing_out
    from headcount.story.notes import measure_notes

    table = Table("the head that ...", "is", "value [95 % interval]", "median head")
    table.columns[3].justify = "right"
    for row in standing_out({name: node.to_dataset() for name, node in measured.children.items()}):
        table.add_row(*row)
    return [table, *measure_notes(measured)]
