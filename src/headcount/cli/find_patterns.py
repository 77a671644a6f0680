"""`headcount find-patterns`: the pattern of every head's attention maps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.cli.options import load_model_and_tokenizer, say_part, say_saved

if TYPE_CHECKING:
    import xarray as xr

NAMED = 3
"""Heads named in each row: those with the clearest pattern."""


@with_engine
def find_patterns(
    model: str,
    /,
    *,
    data: options.Texts,
    out: options.Study = None,
    name: options.Name = None,
    text: options.TextColumns = None,
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
    """Name the pattern of every head's attention maps: vertical, diagonal, both, block, or heterogeneous.

    Example: headcount find-patterns bundled:qnli --data bundled:sentences --limit 40 --out study

    A rule fitted to labelled maps names the map of every head on every text; the output says how reliable the names
    are. The study also stores three typical maps per head for the page. An interrupted run resumes when the same
    command is run again with --out.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:pretrained.
    """
    from rich.console import Console

    from headcount.attention_maps.find_patterns import find_patterns as run
    from headcount.cli.measure import is_complete, measures_json
    from headcount.cli.progress import show_progress
    from headcount.engines.compute import Compute

    console = Console(highlight=False)
    loaded, loaded_tokenizer = load_model_and_tokenizer(model, device, dtype, trust_remote_code, tokenizer)
    with show_progress("find-patterns", limited=limit is None) as progress:
        measured = run(
            loaded,
            loaded_tokenizer,
            data,
            text=text,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            compute=Compute(batch_tokens, shard=shard),
            progress=progress,
        )
    if json_:
        print(json.dumps(measures_json(measured.filter(lambda node: node.name != "typical"))))
        return
    if not is_complete(measured):
        say_part(console)
        return
    for line in pattern_lines(measured):
        console.print(line)
    if out is not None:
        say_saved(console, out)


def pattern_lines(measured: xr.DataTree) -> list[Any]:
    """A table of the patterns of each stack, and notes on how reliable their names are."""
    from rich.table import Table

    from headcount.story.notes import measure_notes
    from headcount.story.patterns import known_stacks, pattern_rows, rule_sentences

    dataset = measured["patterns"].to_dataset()
    lines: list[Any] = []
    stacks = known_stacks(dataset)
    for stack in stacks:
        title = f"The {stack}'s self-attention" if len(stacks) > 1 else None
        table = Table("pattern", "% of maps", "heads", "most clearly", title=title)
        for column in table.columns[1:3]:
            column.justify = "right"
        for row in pattern_rows(dataset, stack, NAMED):
            table.add_row(*row)
        lines.append(table)
    return [*lines, *rule_sentences(dataset, measured.attrs["texts"]), *measure_notes(measured)]
