"""`headcount patterns`: what the maps of every head look like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.cli.options import Device, Dtype, Limit, Seed, Tokenizer, Trust, load_model_and_tokenizer, say_saved

if TYPE_CHECKING:
    import xarray as xr

NAMED = 3
"""Heads that a row names: the clearest ones."""


def patterns(
    model: str,
    /,
    *,
    data: Annotated[
        str,
        Parameter(
            help="A parquet, csv, tsv or jsonl file with a text column or two, a CoNLL-U file, "
            "bundled:pairs or bundled:sentences."
        ),
    ],
    out: Annotated[Path | None, Parameter(help="The study folder that the results go to.")] = None,
    name: Annotated[str | None, Parameter(help="A name for the results, where a study holds several alike.")] = None,
    text: Annotated[
        tuple[str, ...] | None, Parameter(help="The text columns, one or two.", consume_multiple=True)
    ] = None,
    limit: Limit = None,
    seed: Seed = 0,
    max_length: Annotated[int | None, Parameter(help="Cut texts to so many tokens.")] = None,
    batch_tokens: Annotated[int | None, Parameter(help="Tokens of a batch.")] = None,
    tokenizer: Tokenizer = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    json_: Annotated[bool, Parameter(name="--json", help="Print the results as JSON.", negative="")] = False,
    trust_remote_code: Trust = False,
) -> None:
    """Name the pattern of every head's maps: vertical, diagonal, both, block, or heterogeneous.

    Example: headcount patterns bundled:qnli --data bundled:sentences --limit 40 --out study

    A rule that was fitted to labelled maps names every map of every text; the table says how good the names are. The
    study also gets three maps of each head, which the page shows. Killed at any moment, the same command goes on.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:pretrained.
    """
    from rich.console import Console

    from headcount.attention_maps.find_patterns import find_patterns
    from headcount.cli.measure import as_json
    from headcount.cli.progress import show_progress

    console = Console(highlight=False)
    loaded, words = load_model_and_tokenizer(model, device, dtype, trust_remote_code, tokenizer)
    with show_progress("patterns", limited=limit is None) as progress:
        found = find_patterns(
            loaded,
            words,
            data,
            text=text,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            batch_tokens=batch_tokens,
            progress=progress,
        )
    if json_:
        print(json.dumps(as_json(found.filter(lambda node: node.name != "typical"))))
        return
    for line in tell(found):
        console.print(line)
    if out is not None:
        say_saved(console, out)


def tell(found: xr.DataTree) -> list[Any]:
    """A table for each stack: how many maps and heads have each pattern; then how good the names are."""
    from rich.table import Table

    from headcount.core.results import HEAD_DIMS
    from headcount.measures.story import left_out, pattern_rows

    dataset = found["patterns"].to_dataset()
    said: list[Any] = []
    # Cross attention has no patterns, nor has a side whose texts are all too short.
    known = dataset["whole_share"].notnull().all("pattern").values
    stacks = [str(stack) for stack in dataset["stack"].values[known]]
    for stack in stacks:
        title = f"The {stack}'s self-attention" if len(stacks) > 1 else None
        table = Table("pattern", "% of maps", "heads", "most clearly", title=title)
        for column in table.columns[1:3]:
            column.justify = "right"
        for row in pattern_rows(dataset, stack, NAMED):
            table.add_row(*row)
        said.append(table)
    rule = dataset.attrs["rule"]
    texts = int(dataset["values_sure"].notnull().any(HEAD_DIMS).sum())
    weak = sorted(dataset.attrs["f1"], key=dataset.attrs["f1"].__getitem__)[:2]
    said.append(
        f"95 % intervals: over {texts} texts, and the mistakes of the rule that names the maps. On {rule['maps']:.0f} "
        f"labelled maps, each of a family of models that the rule had not seen, its macro F1 is {rule['f1']:.2f} "
        f"[{rule['f1_low']:.2f}, {rule['f1_high']:.2f}] (accuracy {rule['accuracy']:.0%}; weakest: {weak[0]} "
        f"{dataset.attrs['f1'][weak[0]]:.2f}, {weak[1]} {dataset.attrs['f1'][weak[1]]:.2f}); two labellings agree on "
        f"{rule['agreement']:.0%} of them."
    )
    short = found.attrs["texts"] - texts
    return [*said, *([f"{short} texts are too short to have a pattern."] if short else []), *left_out(found)]
