"""`headcount adversarial`: a multiple-choice data set with twins in which no cue helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from headcount.cli import options


def adversarial(
    *,
    data: options.Data,
    choices: Annotated[tuple[str, ...], Parameter(help="Columns of the choices.", consume_multiple=True)],
    label: options.Label = None,
    negations: Annotated[
        Path | None, Parameter(help="Table of claims and their negations, with the columns original and negated.")
    ] = None,
    claim: Annotated[str | None, Parameter(help="Column of the claims; claim by default.")] = None,
    swap: Annotated[bool, Parameter(help="Add each example with its choices in reverse order.")] = False,
    output: Annotated[
        Path | None, Parameter(name=["-o", "--output"], help="File to write: csv, tsv, parquet or jsonl.")
    ] = None,
    json_: options.Json = False,
) -> None:
    """Add twins with negated claims to multiple-choice data, so that no word gives the label away.

    Example: headcount adversarial --data arct.csv --choices warrant0 warrant1 --negations claims.csv -o twins.csv

    The twin of an example has the negated claim and the other choice as its label (Niven and Kao 2019). A model that
    has learned only cues is right on half of the examples.
    """
    from rich.console import Console

    from headcount.reporting.document import check_output
    from headcount.statistical_cues.adversarial import TWIN
    from headcount.statistical_cues.adversarial import adversarial as run
    from headcount.story.cues import balance_sentences

    if output is not None:
        check_output(output, "twins.csv")
    twins = run(data, choices=choices, label=label, negations=negations, claim=claim, swap=swap, output=output)
    counts = {str(kind): int(count) for kind, count in twins[TWIN].value_counts(sort=False).items()}
    if json_:
        print(json.dumps({"rows": counts, **twins.attrs}))
        return
    console = Console(highlight=False)
    console.print(", ".join(f"{count:,} {kind}" for kind, count in counts.items()) + " examples.", markup=False)
    for sentence in balance_sentences(twins.attrs, len(choices)):
        console.print(sentence, markup=False)
    if output is not None:
        console.print(f"Written to {output}.", markup=False, soft_wrap=True)
