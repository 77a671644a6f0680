"""`headcount prune`: the model without some heads, their weights gone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.cli.options import (
    Device,
    Dtype,
    Labels,
    Limit,
    Tokenizer,
    Trust,
    as_stored,
    find_tokenizer,
    load_ready,
)
from headcount.core.options import belongs_to, without_effect
from headcount.errors import InvalidOption, NotFinite, TrainingDiverged

if TYPE_CHECKING:
    from rich.console import Console

    from headcount.choosing.smaller import Smaller


def prune(
    model: str,
    /,
    *,
    out: Annotated[Path, Parameter(help="The folder for the smaller model.")],
    heads: Annotated[str | None, Parameter(help="Take out these, such as 'L3H7,L5,L6H0-3'.")] = None,
    drop: Annotated[str | None, Parameter(help="Take out so many: 40% or 58.")] = None,
    keep: Annotated[str | None, Parameter(help="Keep so many: 80 or 80%.")] = None,
    tolerance: Annotated[
        float | None,
        Parameter(help="Take out as many as can be shown to cost at most this many points of the score (95 %)."),
    ] = None,
    by_estimate: Annotated[
        bool,
        Parameter(help="Compare --tolerance with the mean change alone, however uncertain it is.", negative=""),
    ] = False,
    task: Annotated[str | None, Parameter(help="A GLUE task such as mrpc, or a kind such as classification.")] = None,
    data: Annotated[str | None, Parameter(help="Labelled examples, as for sweep, or bundled:pairs.")] = None,
    order: Annotated[
        str | None,
        Parameter(
            help="Some of importance,ablation,taylor,norm,gates,random,file:PATH; the first one decides; "
            "importance,random by default."
        ),
    ] = None,
    steps: Annotated[int | None, Parameter(help="Steps of the curves; 10 by default.")] = None,
    randoms: Annotated[int | None, Parameter(help="Random orders to compare with; 3 by default.")] = None,
    anew: Annotated[bool, Parameter(help="Compute the importance again after each step.", negative="")] = False,
    at_least: Annotated[int | None, Parameter(help="Heads that every layer keeps; 0 by default.")] = None,
    stack: Annotated[str | None, Parameter(help="Only heads of this stack: encoder, decoder or cross.")] = None,
    recover: Annotated[int | None, Parameter(help="Fine-tune for so many steps after the cut.")] = None,
    recover_rate: Annotated[float | None, Parameter(help="Learning rate of --recover; 2e-5 by default.")] = None,
    study: Annotated[Path | None, Parameter(help="The study folder that curves and importance go to.")] = None,
    name: Annotated[
        str | None, Parameter(help="A name for the results, where a study holds several alike; prune by default.")
    ] = None,
    text: Annotated[tuple[str, ...] | None, Parameter(help="Text columns.", consume_multiple=True)] = None,
    label: Annotated[str | None, Parameter(help="Label column.")] = None,
    labels: Labels = None,
    overwrite: Annotated[
        bool, Parameter(help="Replace a folder that headcount wrote; files of others in it stay.", negative="")
    ] = False,
    limit: Limit = None,
    seed: Annotated[int | None, Parameter(help="Seed of everything that is drawn; 0 by default.")] = None,
    max_length: Annotated[int | None, Parameter(help="Cut texts to so many tokens.")] = None,
    tokenizer: Tokenizer = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    trust_remote_code: Trust = False,
) -> None:
    """Take heads out of a model and save what is left: smaller, faster, and it loads again anywhere.

    Example: headcount prune bundled:qnli --task qnli --data bundled:pairs --tolerance 1 --out small --study study

    Either --heads says which, or --task and --data with one of --drop, --keep and --tolerance: then one half of the
    examples orders the heads and selects how many go, and the result is evaluated on the held-out half. Killed at any
    moment, the same command with --study resumes. One head in every layer: --at-least 1 --keep 12 (12 layers).

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, or bundled:qnli.
    """
    from rich.console import Console

    from headcount.models.matching_weights import WRITTEN, check_head
    from headcount.models.output_folder import check_apart, check_output_folder
    from headcount.trace.anatomy import read_anatomy
    from headcount.zoo.bundled import find_data, find_model

    if heads is not None:
        chosen_by = {
            "drop": drop,
            "keep": keep,
            "tolerance": tolerance,
            "by_estimate": by_estimate,
            "task": task,
            "data": data,
            "order": order,
            "steps": steps,
            "randoms": randoms,
            "anew": anew,
            "at_least": at_least,
            "stack": stack,
            "recover": recover,
            "recover_rate": recover_rate,
            "study": study,
            "name": name,
            "text": text,
            "label": label,
            "labels": labels,
            "limit": limit,
            "seed": seed,
            "max_length": max_length,
        }
        for option, given in chosen_by.items():
            without_effect(option, given, "--heads says which heads go", "leave one of them out")
    _check_ways(heads, task, data, (drop, keep, tolerance), recover)
    belongs_to("by_estimate", by_estimate, "tolerance", tolerance)
    belongs_to("recover_rate", recover_rate, "recover", recover or None)
    check_apart(out, {"the model": find_model(model), "the data": find_data(data), "the study": study})
    check_output_folder(out, overwrite)
    console = Console(highlight=False)
    loaded = load_ready(model, device, dtype, trust_remote_code, uses_head=True)
    words = find_tokenizer(model, tokenizer, trust_remote_code)
    if heads is not None:
        check_head(loaded, *WRITTEN)
        _cut(console, loaded, words, heads, out, overwrite, model)
        return
    from headcount.choosing.smaller import Target, find_smaller, read_halves
    from headcount.cli.progress import show_progress
    from headcount.data.tasks import find_task
    from headcount.story.cuts import choice_sentences

    target = Target.parse(read_anatomy(loaded).layout.count, drop, keep, tolerance)
    known = find_task(str(task), texts=text, label=label, names=labels)
    with show_progress("prune", "") as progress:
        found = find_smaller(
            loaded,
            words,
            str(data),
            task=known,
            target=target,
            orders=("importance,random" if order is None else order).split(","),
            randoms=randoms,
            steps=10 if steps is None else steps,
            anew=anew,
            at_least=at_least or 0,
            stack=stack,
            by_estimate=by_estimate,
            limit=limit,
            seed=seed or 0,
            max_length=max_length,
            study=study,
            name=name,
            progress=progress,
        )
    console.print(curve_heading(found))
    console.print(curve_table(found))
    for line in choice_sentences(
        found.chosen, found.confirmed, found.order, len(found.removed), tolerance, by_estimate
    ):
        console.print(line)
    if not found.removed:
        console.print(f"No model was written. {_next_try(found)}")
        return
    if recover:
        parts = read_halves(str(data), known, limit, seed or 0, words)
        console.print(_recovered(loaded, words, parts, known, found, recover, recover_rate or 2e-5, max_length))
        from headcount.models.checkpoint import save

        save(as_stored(loaded), words, out, overwrite=overwrite)
        say_where(console, out, model)
        return
    _cut(console, loaded, words, found.removed, out, overwrite, model)


def _next_try(found: Smaller) -> str:
    """What to do where a tolerance chose nothing."""
    if found.cut is None:
        return "No head goes."
    if found.cut.by_estimate:
        return "Give more examples, a larger --tolerance, --drop 25%, or --by-estimate."
    return "Give a larger --tolerance, or more --steps for a smaller first cut."


def _check_ways(
    heads: str | None, task: str | None, data: str | None, sizes: tuple[Any, ...], recover: int | None
) -> None:
    """Either the heads are named, or what they are to be chosen by."""
    asked = [one for one in sizes if one is not None]
    if heads is not None and not heads.strip(" ,"):
        raise InvalidOption("got no heads; expected at least one, such as --heads L3H7")
    if heads is None and (not task or not data or not asked):
        raise InvalidOption(
            "say which heads go: --heads 'L3H7,L5', or --task, --data and one of --drop 40%, --keep 80, --tolerance 0.5"
        )


def _cut(console: Console, model: Any, tokenizer: Any, heads: Any, out: Path, overwrite: bool, name: str) -> None:
    from headcount.models.checkpoint import save
    from headcount.pruning.prune import LAST_CHECK, prune
    from headcount.trace.anatomy import read_anatomy

    before, count = model.num_parameters(), read_anatomy(model).layout.count
    prune(model, heads)
    save(as_stored(model), tokenizer, out, overwrite=overwrite)
    after, left = model.num_parameters(), read_anatomy(model).layout.count
    console.print(
        f"{left} of {count} heads are left, {after:,} of {before:,} parameters ({1 - after / before:.1%} less)."
    )
    console.print(f"Checked: {getattr(model, LAST_CHECK)}.")
    say_where(console, out, name)


def say_where(console: Console, out: Path, name: str) -> None:
    console.print(f"Saved in {out} (how to load it: {out / 'README.md'}).", markup=False, soft_wrap=True)
    console.print(f"Next: headcount cost {name} {out}", markup=False, soft_wrap=True)


def curve_heading(found: Smaller) -> str:
    """What stands in the cells of the table."""
    return (
        f"{found.confirmed.attrs['metric']} on the held-out half, and its change from the whole model [95 % interval]:"
    )


def curve_table(found: Smaller) -> Any:
    """The curves on the held-out half: a row for each step, a column for each order, random ones as one."""
    from rich.table import Table

    curves = found.confirmed
    names = [str(name) for name in curves["order"].values]
    randoms = [name for name in names if name.startswith("random ")]
    shown = [name for name in names if name not in randoms] + (["random"] if randoms else [])
    whole_change = [name for name in shown if name == found.order or (len(shown) < 3 and name != "random")]
    table = Table("heads left", *shown)
    for column in table.columns:
        column.justify = "right"
    whole = f"{float(curves['baseline']):.3f}"
    table.add_row(str(curves.attrs["heads"]), *[whole] * len(shown))
    for count in curves["removed"].values:
        cells = []
        for name in shown:
            if name == "random":
                scores = curves["score"].sel(order=randoms, removed=count).values
                spread = f" ({scores.min():.3f}-{scores.max():.3f})" if len(randoms) > 1 else ""
                cells.append(f"{scores.mean():.3f}{spread}")
                continue
            row = curves.sel(order=name, removed=count)
            change = f" {float(row['delta']):+.3f} [{float(row['low']):+.3f}, {float(row['high']):+.3f}]"
            # Three intervals side by side would not fit into 80 columns: the order that decides has its own.
            cells.append(f"{float(row['score']):.3f}" + (change if name in whole_change else ""))
        chosen = " *" if int(count) == len(found.removed) else ""
        table.add_row(f"{curves.attrs['heads'] - int(count)}{chosen}", *cells)
    return table


def _recovered(
    model: Any, tokenizer: Any, parts: Any, task: Any, found: Smaller, steps: int, rate: float, length: int | None
) -> str:
    """Cut, score, train on, score again: the two scores in one sentence."""
    from headcount.cli.progress import show_progress
    from headcount.pruning.prune import prune
    from headcount.pruning.recover import recover
    from headcount.training.scores import score_table

    prune(model, found.removed)
    before = score_table(model, tokenizer, parts[1], task, length)
    try:
        with show_progress("recover", "steps") as progress:
            recover(model, tokenizer, parts[0], task, steps, rate=rate, max_length=length, progress=progress)
        after = score_table(model, tokenizer, parts[1], task, length)
    except (TrainingDiverged, NotFinite) as error:
        raise TrainingDiverged(
            f"the recovery diverged and nothing was saved ({error}); give a lower --recover-rate than {rate:g}"
        ) from error
    metric = next(iter(before))
    whole = float(found.confirmed["baseline"])
    return (
        f"Fine-tuned for {steps} steps on the selection half: {metric} {before[metric]:.4f} -> {after[metric]:.4f} on "
        f"the held-out half (the whole model {whole:.4f})."
    )
