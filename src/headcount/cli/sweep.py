"""`headcount sweep`: the score of a task without each head, each layer, or any set of heads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import load_for_task, say_part, say_saved
from headcount.core.options import belongs_to, without_effect

if TYPE_CHECKING:
    import xarray as xr

    from headcount.ablation.choices import Every, RandomSets


def sweep(
    model: str,
    /,
    *,
    task: options.Task,
    data: Annotated[
        str | None,
        Parameter(
            help="A parquet, csv, tsv or jsonl file, a folder with validation.*, or "
            "hub:NAME; without it the hub's GLUE; bundled:pairs comes with the package."
        ),
    ] = None,
    out: options.Out = None,
    name: options.Name = None,
    by: Annotated[
        Literal["head", "layer", "all-but-one"] | None, Parameter(help="What is left out at a time; head by default.")
    ] = None,
    how: Annotated[str, Parameter(help="Replacement for the head's output: zero, uniform or mean.")] = "zero",
    stack: options.Stack = None,
    sets: Annotated[Path | None, Parameter(help="A file of sets of heads to leave out, one a line.")] = None,
    draws: Annotated[int | None, Parameter(help="So many random sets, each of --size heads.")] = None,
    size: Annotated[int | None, Parameter(help="Heads in a random set.")] = None,
    reference: Annotated[str | None, Parameter(help="Data for the mean outputs of --how mean.")] = None,
    metric: options.Metric = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    memory: Annotated[str | None, Parameter(help="Memory for the passes, such as 4GB.")] = None,
    batch_tokens: Annotated[
        int | None, Parameter(help="Tokens of a batch before it is repeated for the variants.")
    ] = None,
    compiled: Annotated[
        bool, Parameter(name="--compile", help="Run unchanged layers through torch.compile.", negative="")
    ] = False,
    num_beams: options.NumBeams = None,
    max_new_tokens: options.MaxNewTokens = None,
    shard: options.Shard = None,
    texts: Annotated[bool | None, Parameter(help="Keep the texts in the study, as by default.")] = None,
    untrained: Annotated[bool, Parameter(help="Allow a classifier that was never trained.", negative="")] = False,
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Score a task without each head, each layer, all heads of a layer but one, or any set of heads.

    Example: headcount sweep bundled:qnli --task qnli --data bundled:pairs --limit 40 --out study

    Killed at any moment, the same command goes on where it stopped.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:qnli.
    """
    from headcount.ablation.choices import Every
    from headcount.ablation.replacements import check_how
    from headcount.ablation.sweep import sweep as run
    from headcount.cli.progress import show_progress
    from headcount.data.tasks import find_task
    from headcount.engines.compute import Compute
    from headcount.trace.anatomy import read_anatomy

    check_how(how)
    left_out = what_is_left_out(by, stack, sets, draws, size)
    belongs_to("texts" if texts else "no_texts", None if texts is None else True, "out", out)
    found = find_task(task, text=text, label=label, labels=labels, metric=metric)
    loaded, words = load_for_task(model, found.kind.name, device, dtype, untrained, trust_remote_code, tokenizer)
    of = f"{read_anatomy(loaded).layout.count} heads on " if left_out == Every() else ""
    with show_progress("sweep", "examples", of=of, limited=limit is None) as progress:
        result = run(
            loaded,
            words,
            found.name if data is None else data,
            task=found,
            by=left_out,
            how=how,
            reference=reference,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            texts=texts is not False,
            untrained=untrained,
            compute=Compute(batch_tokens, memory, compiled, shard),
            generate={"num_beams": num_beams, "max_new_tokens": max_new_tokens},
            progress=progress,
        )
    if json_:
        print(json.dumps(as_json(result)))
    else:
        show(result, out)


def what_is_left_out(
    by: str | None, stack: str | None, sets: Path | None, draws: int | None, size: int | None
) -> Every | RandomSets | list[str]:
    """The one value that these options are in Python."""
    from headcount.ablation.choices import Every, RandomSets, read_sets

    belongs_to("size", size, "draws", draws)
    for option, given in (("sets", sets), ("draws", draws)):
        without_effect("by", given and by, f"{option}= says what is left out")
    if sets is not None:
        without_effect("draws", draws, "sets= says which heads are left out", "give one of the two")
        without_effect("stack", stack, "the heads of sets= name their stacks")
        return read_sets(sets)
    return Every(by or "head", stack) if draws is None else RandomSets(draws, size or 0, stack)


def show(result: xr.Dataset, out: Path | None) -> None:
    """The result as a table of the strongest effects and a few sentences."""
    from rich.console import Console

    from headcount.cli.table import strongest
    from headcount.story.notes import cut_note
    from headcount.story.sweeps import sweep_sentences

    console = Console(highlight=False)
    for line in cut_note(result.attrs):
        console.print(line)
    for note in result.attrs["notes"]:
        console.print(f"Note: {note}.")
    if "score" not in result:
        say_part(console)
        return
    if "texts" in result:
        console.print("Texts are generated anew for every variant: nothing could be replayed.")
    console.print(strongest(result))
    for sentence in sweep_sentences(result):
        console.print(sentence)
    if out is not None:
        say_saved(console, out)


def as_json(result: xr.Dataset) -> dict[str, Any]:
    """The numbers of each choice and of the whole, for scripts."""
    from headcount.cli.table import json_rows

    whole = {name: _plain(result[name]) for name in result.data_vars if result[name].ndim == 0}
    return {"attributes": result.attrs, "whole": whole, "choices": json_rows(result)}


def _plain(value: xr.DataArray) -> Any:
    item = value.item()
    return item if isinstance(item, float | int | str) else str(item)
