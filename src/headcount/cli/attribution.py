"""`headcount attribution`: what patching each head would do to the metric, estimated from one backward pass."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.cli.options import find_named_task, load_for_task, say_part, say_saved


@with_engine
def attribution(
    model: str,
    /,
    *,
    task: options.Task = None,
    data: options.Data,
    out: options.Out = None,
    name: options.Name = None,
    by: Annotated[
        Literal["head", "position"], Parameter(help="Each head, or each head at each position as well.")
    ] = "head",
    counterpart: Annotated[
        tuple[str, ...] | None,
        Parameter(consume_multiple=True, help="Columns of the other input of each pair; counterpart by default."),
    ] = None,
    wrong: Annotated[
        str | None, Parameter(help="Column of wrong answers, for --metric logit_difference; wrong by default.")
    ] = None,
    direction: Annotated[
        Literal["denoise", "noise"],
        Parameter(help="denoise: clean heads in the corrupted run; noise: the reverse."),
    ] = "denoise",
    positions: Annotated[
        str, Parameter(help="Where heads are patched: all, last, answer or the name of a span.")
    ] = "all",
    align: Annotated[
        Literal["position", "span"],
        Parameter(help="How tokens of the two inputs are matched; span: only those in spans of the same name."),
    ] = "position",
    stack: options.Stack = None,
    metric: Annotated[
        Literal["logit_difference", "log_probability"] | None,
        Parameter(help="The metric whose change is estimated; the first if there are wrong answers."),
    ] = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    batch_tokens: options.BatchTokens = None,
    shard: options.Shard = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    device_map: options.DeviceMap = None,
    dtype: options.Dtype = "auto",
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Estimate what patching each head would do to the metric, from two forward passes and one backward pass.

    Example: headcount attribution bundled:qnli --task qnli --data questions.csv --counterpart other --out study

    The data are pairs of inputs, as for headcount sweep --how patch, whose exact changes are estimated to first order:
    the difference of a head's outputs on the two inputs, times the gradient of the metric. Only outputs of heads are
    patched, not queries, keys or values alone.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:qnli.
    """
    from rich.console import Console
    from rich.table import Table

    from headcount.ablation.hows import Patch
    from headcount.choosing.attribution import attribution as run
    from headcount.cli.progress import show_progress
    from headcount.cli.table import json_rows
    from headcount.engines.compute import Compute
    from headcount.story.attribution import COLUMNS, ESTIMATE, attribution_rows, attribution_sentences
    from headcount.story.notes import blank_note, cut_note, source_note

    patch = Patch(direction=direction, positions=positions, align=align)
    known = find_named_task(task, data, text, label, labels, None, counterpart, wrong)
    loaded, pieces = load_for_task(
        model, known.kind.name, device, dtype, trust_remote_code, tokenizer, device_map=device_map
    )
    with show_progress("attribution", "examples", limited=limit is None) as progress:
        result = run(
            loaded,
            pieces,
            data,
            task=known,
            by=by,
            how=patch,
            stack=stack,
            metric=metric,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            compute=Compute(batch_tokens, shard=shard),
            progress=progress,
        )
    if json_:
        print(json.dumps(json_rows(result)))
        return
    console = Console(highlight=False)
    for note in (*source_note(result.attrs), *cut_note(result.attrs), *blank_note(result.attrs)):
        console.print(note)
    if not result.attrs["complete"]:
        say_part(console)
        return
    table = Table(*COLUMNS)
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for row in attribution_rows(result):
        table.add_row(*row)
    console.print(table)
    for sentence in (*attribution_sentences(result), ESTIMATE):
        console.print(sentence, markup=False)
    if out is not None:
        say_saved(console, out)
