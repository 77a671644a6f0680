"""`headcount adversarial`: a multiple-choice data set with twins in which no cue helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import load_for_task
from headcount.core.options import belongs_to, without_effect

if TYPE_CHECKING:
    import xarray as xr


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
    model: Annotated[
        str | None,
        Parameter(help="Folder or hub name of a fine-tuned multiple-choice model to score on originals and twins."),
    ] = None,
    text: Annotated[
        tuple[str, ...] | None,
        Parameter(help="Columns of the context that the model reads, which are joined.", consume_multiple=True),
    ] = None,
    twin_column: Annotated[
        str | None,
        Parameter(
            help="In data that has twins already, the column that says which rows they are (true or false); twin or "
            "adversarial by default."
        ),
    ] = None,
    tokenizer: options.Tokenizer = None,
    untrained: Annotated[bool, Parameter(help="Allow a model whose task head was never trained.")] = False,
    max_length: options.MaxLength = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Add twins with negated claims to multiple-choice data, so that no word gives the label away.

    Example: headcount adversarial --data arct.csv --choices warrant0 warrant1 --negations claims.csv -o twins.csv

    The twin of an example has the negated claim and the other choice as its label (Niven and Kao 2019). A model that
    has learned only cues is right on half of the examples. With --model, a model is scored on both; data that has twins
    already needs no --negations.
    """
    from rich.console import Console

    from headcount.reporting.document import check_output
    from headcount.statistical_cues.adversarial import adversarial as run
    from headcount.statistical_cues.reading import find_cue_task
    from headcount.statistical_cues.twin_pairs import TWIN
    from headcount.story.cues import balance_sentences, twin_sentences

    made = model is None or negations is not None or swap
    if model is None:
        for option, value in (
            *(("text", text), ("twin_column", twin_column), ("tokenizer", tokenizer), ("untrained", untrained)),
            *(("max_length", max_length), ("trust_remote_code", trust_remote_code)),
            *(("device", None if device == "auto" else device), ("dtype", None if dtype == "auto" else dtype)),
        ):
            belongs_to(option, value, "model", model)
    else:
        find_cue_task(data, None, choices, text, label, None, modelled=True)  # before the model is loaded
        if made:
            without_effect("twin_column", twin_column, "twins are made here")
        else:
            belongs_to("claim", claim, "negations", negations)
            without_effect("output", output, "no twins are made without negations= and swap=True")
    if output is not None:
        check_output(output, "twins.csv")
    said: dict[str, Any] = {}
    lines: list[str] = []
    twins = None
    if made:
        twins = run(data, choices=choices, label=label, negations=negations, claim=claim, swap=swap, output=output)
        counts = {str(kind): int(count) for kind, count in twins[TWIN].value_counts(sort=False).items()}
        said = {"rows": counts} | {str(key): value for key, value in twins.attrs.items()}
        lines.append(", ".join(f"{count:,} {kind}" for kind, count in counts.items()) + " examples.")
        lines += balance_sentences(twins.attrs, len(choices))
    if model is not None:
        from headcount.statistical_cues.adversarial_scores import adversarial_scores

        loaded, pieces = load_for_task(model, "multiple-choice", device, dtype, trust_remote_code, tokenizer, untrained)
        scores = adversarial_scores(
            loaded,
            pieces,
            data if twins is None else twins,
            choices=choices,
            text=text or (),
            label=label,
            twin_column=twin_column,
            untrained=untrained,
            max_length=max_length,
        )
        said["scores"] = scores_json(scores)
        lines += twin_sentences(scores)
    if json_:
        print(json.dumps(said))
        return
    console = Console(highlight=False)
    for sentence in lines:
        console.print(sentence, markup=False)
    if output is not None:
        console.print(f"Written to {output}.", markup=False, soft_wrap=True)


def scores_json(scores: xr.Dataset) -> dict[str, Any]:
    """Attributes, the accuracies of each set, and the numbers of all pairs."""
    accuracies = ("accuracy", "accuracy_low", "accuracy_high")
    return {
        "attributes": scores.attrs,
        **{str(name): {key: float(scores[key].sel(set=name)) for key in accuracies} for name in scores["set"].values},
        **{str(key): array.item() for key, array in scores.data_vars.items() if array.ndim == 0},
    }
