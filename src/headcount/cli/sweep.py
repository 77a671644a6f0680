"""`headcount sweep`: the score of a task with each head, each layer, pairs or any set of heads ablated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.cli.options import find_named_task, find_source_of, load_for_task, say_part, say_saved
from headcount.cli.pairs import HESSIAN, check_pairs, find_pairs, show_pairs
from headcount.core.options import belongs_to, without_effect

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table

    from headcount.ablation.choices import Every, Pairs, RandomSets, Screened, ScreenedPairs
    from headcount.ablation.hows import Means, Patch, Resample


@with_engine
def sweep(
    model: str,
    /,
    *,
    task: options.Task = None,
    data: options.DataOrGlue = None,
    out: options.Out = None,
    name: options.Name = None,
    by: Annotated[
        Literal["head", "layer", "all-but-one", "position", "pair"] | None,
        Parameter(help="What is ablated at a time; head by default. position: a head at one position (--how patch)."),
    ] = None,
    among: Annotated[
        str | None,
        Parameter(
            help="Heads whose pairs --by pair ablates: names such as L3H7,L5, a number for as many of the most "
            "important ones, or all."
        ),
    ] = None,
    how: Annotated[
        str, Parameter(help="Replacement for the head's output: zero, uniform, mean, patch or resample.")
    ] = "zero",
    counterpart: Annotated[
        tuple[str, ...] | None,
        Parameter(consume_multiple=True, help="Columns of the other input of each pair, for --how patch."),
    ] = None,
    wrong: Annotated[
        str | None, Parameter(help="Column of wrong answers, for --metric logit_difference; wrong by default.")
    ] = None,
    part: Annotated[
        Literal["output", "query", "key", "value", "weights"] | None,
        Parameter(help="Part of the head that --how patch takes from the other input; output by default."),
    ] = None,
    direction: Annotated[
        Literal["denoise", "noise"] | None,
        Parameter(help="Direction of --how patch: denoise (default), clean heads in the corrupted run, or noise."),
    ] = None,
    positions: Annotated[
        str | None, Parameter(help="Where --how patch replaces heads: all, last, answer or the name of a span.")
    ] = None,
    align: Annotated[
        Literal["position", "span"] | None,
        Parameter(help="How --how patch matches tokens; span: only those in spans of the same name."),
    ] = None,
    mean_by: Annotated[
        Literal["tokens", "position"] | None,
        Parameter(help="What --how mean averages over: all tokens, the default, or those at each position."),
    ] = None,
    stack: options.Stack = None,
    sets: Annotated[Path | None, Parameter(help="File of sets of heads to ablate, one per line.")] = None,
    draws: Annotated[
        int | None,
        Parameter(help="Number of random sets (with --size), or of other examples drawn for each (--how resample)."),
    ] = None,
    size: Annotated[int | None, Parameter(help="Number of heads in each random set.")] = None,
    screen: Annotated[
        Literal["importance", "taylor", "norm", "attribution", "hessian"] | None,
        Parameter(
            help="Run only the heads that this estimate ranks highest (one backward pass), and a control; "
            "attribution is for --how patch, hessian ranks pairs (one backward pass per head)."
        ),
    ] = None,
    top: Annotated[
        int | None, Parameter(help="Number of heads or pairs that --screen ranks highest; 64 by default.")
    ] = None,
    control: Annotated[
        int | None, Parameter(help="Number of other heads or pairs, drawn at random, to check --screen; 32 by default.")
    ] = None,
    stop_when: Annotated[
        float | None,
        Parameter(
            help="Race: a head stops once its change is known to lie beyond this margin, such as 0.002, or in it."
        ),
    ] = None,
    reference: Annotated[
        str | None, Parameter(help="Data over which --how mean averages the outputs of heads.")
    ] = None,
    metric: options.Metric = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    device_map: options.DeviceMap = None,
    dtype: options.Dtype = "auto",
    memory: Annotated[str | None, Parameter(help="Memory limit, such as 4GB.")] = None,
    batch_tokens: Annotated[
        int | None, Parameter(help="Tokens per batch, before it is repeated for each ablated variant.")
    ] = None,
    compiled: Annotated[
        bool | None,
        Parameter(
            name="--compile",
            negative="--no-compile",
            help="Compile unchanged layers with torch.compile, or not; by default on a GPU, in long sweeps.",
        ),
    ] = None,
    num_beams: options.NumBeams = None,
    max_new_tokens: options.MaxNewTokens = None,
    shard: options.Shard = None,
    texts: Annotated[
        bool | None, Parameter(negative="--no-texts", help="Store the texts in the study, as by default.")
    ] = None,
    untrained: Annotated[bool, Parameter(help="Allow a model whose task head was never trained.")] = False,
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Ablate each head, each layer, all heads of a layer but one, pairs or any sets of heads, and score the task.

    Example: headcount sweep bundled:qnli --task qnli --data bundled:pairs --limit 40 --out study

    Pairs of heads: headcount sweep bundled:qnli --task qnli --data bundled:pairs --limit 40 --by pair --among 6

    Heads of one input in a run on another: headcount sweep LLM --how patch --data synthetic:names --out study

    An interrupted run resumes when the same command is run again with --out.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:qnli.
    """
    from headcount.ablation.choices import Every
    from headcount.ablation.hows import Resample
    from headcount.ablation.sweep import sweep as run
    from headcount.choosing.screen import ATTRIBUTION, TOP
    from headcount.choosing.screen import screen as screen_heads
    from headcount.cli.progress import show_progress
    from headcount.engines.compute import Compute
    from headcount.trace.anatomy import read_anatomy

    replacement = read_how(how, part, direction, positions, align, mean_by, None if size else draws)
    if isinstance(replacement, Resample) and not size:
        draws = None
    check_pairs(by, among, screen, top, control, stack)
    left_out: Every | RandomSets | Screened | Pairs | ScreenedPairs | list[str]
    left_out = what_is_left_out(by, stack, sets, draws, size)
    if by != "pair":
        check_screen(screen, top, control, left_out)
    belongs_to("texts" if texts else "no_texts", None if texts is None else True, "out", out)
    known = find_named_task(task, data, text, label, labels, metric, counterpart, wrong)
    loaded, loaded_tokenizer = load_for_task(
        model, known.kind.name, device, dtype, trust_remote_code, tokenizer, untrained, device_map
    )
    compute = Compute(batch_tokens, memory, compiled, shard)
    source = find_source_of(known, data)
    if screen is not None or by == "pair":
        steps = {HESSIAN: ("curvature", "heads"), ATTRIBUTION: ("attribution", "examples")}
        step, unit = steps.get(screen or "", ("importance", "examples"))
        with show_progress(step, unit, limited=limit is None) as progress:
            screening: dict[str, Any] = {
                "task": known,
                "stack": stack,
                "limit": limit,
                "seed": seed,
                "max_length": max_length,
                "out": out,
                "name": name,
                "compute": compute,
                "progress": progress,
            }
            if by == "pair":
                left_out = find_pairs(loaded, loaded_tokenizer, source, among, screen, top, control, screening)
            else:
                assert screen is not None
                screening |= {"how": replacement} if screen == ATTRIBUTION else {}
                size_of_top = TOP if top is None else top
                left_out = screen_heads(
                    loaded, loaded_tokenizer, source, estimate=screen, top=size_of_top, control=control, **screening
                )
    of = f"{read_anatomy(loaded).layout.count} heads on " if left_out == Every() else ""
    with show_progress("sweep", "examples", of=of, limited=limit is None) as progress:
        result = run(
            loaded,
            loaded_tokenizer,
            source,
            task=known,
            by=left_out,
            how=replacement,
            reference=reference,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            texts=texts is not False,
            untrained=untrained,
            compute=compute,
            generate={"num_beams": num_beams, "max_new_tokens": max_new_tokens},
            stop_when=stop_when,
            progress=progress,
        )
    if json_:
        print(json.dumps(sweep_json(result)))
    else:
        show(result, out)


def read_how(
    how: str,
    part: str | None,
    direction: str | None,
    positions: str | None,
    align: str | None,
    mean_by: str | None,
    draws: int | None,
) -> Patch | Resample | Means | str:
    """The value of `how=` in Python that these options stand for."""
    from headcount.ablation.hows import Means, Patch, Resample, find_how

    given = {"part": part, "direction": direction, "positions": positions, "align": align}
    for option, value in given.items():
        if how != "patch":
            without_effect(option, value, f"how={how!r} takes nothing from another input, as patch does")
    if how != "mean":
        without_effect("mean_by", mean_by, f"how={how!r} needs no mean outputs, as mean does")
    if how == "patch":
        return Patch(**{option: value for option, value in given.items() if value is not None})
    if how == "resample":
        return Resample(1 if draws is None else draws)
    return Means(mean_by) if mean_by is not None else find_how(how).name


def what_is_left_out(
    by: str | None, stack: str | None, sets: Path | None, draws: int | None, size: int | None
) -> Every | RandomSets | list[str]:
    """The value of `by=` in Python that these options stand for."""
    from headcount.ablation.choices import Every, RandomSets, read_sets

    belongs_to("size", size, "draws", draws)
    for option, given in (("sets", sets), ("draws", draws)):
        without_effect("by", given and by, f"{option}= says what is left out")
    if sets is not None:
        without_effect("draws", draws, "sets= says which heads are left out", "give one of the two")
        without_effect("stack", stack, "the heads of sets= name their stacks")
        return read_sets(sets)
    return Every(by or "head", stack) if draws is None else RandomSets(draws, size or 0, stack)


def check_screen(screen: str | None, top: int | None, control: int | None, left_out: object) -> None:
    """Refuse the options of a screening without one, and a screening of anything but single heads."""
    from headcount.ablation.choices import Every

    belongs_to("top", top, "screen", screen)
    belongs_to("control", control, "screen", screen)
    if not isinstance(left_out, Every) or left_out.what != "head":
        without_effect("screen", screen, "it ranks single heads, but sets or layers are left out")


def show(result: xr.Dataset, out: Path | None) -> None:
    """Print the largest effects as a table, and a few sentences."""
    from rich.console import Console

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
    if result.attrs["by"] == "pair":
        show_pairs(console, result)
    else:
        console.print(largest_effects(result))
        for sentence in sweep_sentences(result):
            console.print(sentence)
    if out is not None:
        say_saved(console, out)


def largest_effects(result: xr.Dataset, most: int = 10) -> Table:
    """A table of the heads, layers or sets with the largest effects."""
    from rich.table import Table

    from headcount.core.results import as_table

    rows = as_table(result).dropna(subset="delta")  # heads that were not run have none
    rows = rows.reindex(rows["delta"].abs().sort_values(ascending=False, kind="stable").index).head(most)
    several = result.sizes.get("stack", 1) > 1
    raced = "decision" in result
    columns = ("change", "95 % interval", "q", "examples") if raced else ("score", "change", "95 % interval", "p", "q")
    patched = result.attrs["how"] == "patch"
    if "share" in rows:
        columns = ("score", "share", "95 % interval", "p", "q")
    shown = Table("patched" if patched else "left out")
    for column in columns:
        shown.add_column(column, justify="right")
    if raced:
        shown.add_column("decision")
    for row in rows.to_dict("records"):
        effect = (f"{row['delta']:+.4f}", f"{row['low']:+.4f} to {row['high']:+.4f}")
        if raced:
            cells = (*effect, f"{row['q']:.2g}", f"{row['examples_run']:.0f}", row["decision"])
        else:
            if "share" in row:
                effect = (f"{row['share']:.3f}", f"{row['share_low']:.3f} to {row['share_high']:.3f}")
            cells = (f"{row['score']:.4f}", *effect, f"{row['p']:.2g}", f"{row['q']:.2g}")
        shown.add_row(_spell_row(row, several), *cells)
    return shown


def _spell_row(row: dict[str, object], several: bool) -> str:
    if "set" in row:
        return str(row["set"])
    spelled = f"L{row['layer']}" + (f"H{row['head']}" if "head" in row else "")
    spelled += f" at {row['position']}" if "position" in row else ""
    return f"{row['stack']}.{spelled}" if several else spelled


def sweep_json(result: xr.Dataset) -> dict[str, Any]:
    """Attributes, numbers of the whole sweep and a row for each head, layer or set, as `--json` prints them."""
    from headcount.cli.table import json_rows

    whole = {name: _plain(result[name]) for name in result.data_vars if result[name].ndim == 0}
    return {"attributes": result.attrs, "whole": whole, "choices": json_rows(result)}


def _plain(value: xr.DataArray) -> Any:
    item = value.item()
    return item if isinstance(item, float | int | str) else str(item)
