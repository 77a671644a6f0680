"""`headcount find-patterns`: what the maps of every head look like."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.cli import options
from headcount.cli.options import load_model_and_tokenizer, say_part, say_saved

if TYPE_CHECKING:
    import xarray as xr

NAMED = 3
"""Heads that a row names: the clearest ones."""


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
    """Name the pattern of every head's maps: vertical, diagonal, both, block, or heterogeneous.

    Example: headcount find-patterns bundled:qnli --data bundled:sentences --limit 40 --out study

    A rule that was fitted to labelled maps names every map of every text; the table says how good the names are. The
    study also gets three maps of each head, which the page shows. Killed at any moment, the same command goes on.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:pretrained.
    """
    from rich.console import Console

    from headcount.attention_maps.find_patterns import find_patterns as run
    from headcount.cli.measure import as_json, is_complete
    from headcount.cli.progress import show_progress
    from headcount.engines.compute import Compute

    console = Console(highlight=False)
    loaded, words = load_model_and_tokenizer(model, device, dtype, trust_remote_code, tokenizer)
    with show_progress("find-patterns", limited=limit is None) as progress:
        found = run(
            loaded,
            words,
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
        print(json.dumps(as_json(found.filter(lambda node: node.name != "typical"))))
        return
    if not is_complete(found):
        say_part(console)
        return
    for line in lines_of(found):
        console.print(line)
    if out is not None:
        say_saved(console, out)


def lines_of(found: xr.DataTree) -> list[Any]:
    """A table for each stack: how many maps and heads have each pattern; then how good the names are."""
    from rich.table import Table

    from headcount.story.notes import measure_notes
    from headcount.story.patterns import known_stacks, pattern_rows, rule_sentences

    dataset = found["patterns"].to_dataset()
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
    return [*lines, *rule_sentences(dataset, found.attrs["texts"]), *measure_notes(found)]
