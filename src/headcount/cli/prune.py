"""`headcount prune`: choose heads and feed-forward units, remove them, fine-tune if asked, save."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.choose import (
    PASSED_ON,
    Batch,
    ByEstimate,
    Drop,
    Faster,
    Keep,
    Length,
    Multiple,
    Operations,
    Rearrange,
    Refit,
    Score,
    Tolerance,
    Train,
    Weights,
    next_try,
    run_choice,
    show_choice,
    show_parts,
)
from headcount.cli.options import (
    as_stored,
    find_named_task,
    find_tokenizer,
    load_ready,
    refuse_others,
    spell_lora,
    spell_teacher,
)
from headcount.cli.prune_parts import recover_parts, run_stages
from headcount.core.options import belongs_to, without_effect
from headcount.errors import InvalidOption, NotFinite, TrainingDiverged

SIZES = ("tolerance", "drop", "keep", "operations", "weights", "faster")
"""Options that say how small the model is to get."""
WITH_HEADS = ("model", "out", "heads", "overwrite", "tokenizer", "device", "dtype", "trust_remote_code")
"""Options that apply when --heads names the heads; the others are about choosing them."""


def prune(
    model: str,
    /,
    *,
    out: Annotated[Path, Parameter(help="Folder for the pruned model.")],
    heads: Annotated[
        str | None,
        Parameter(help="Heads to remove, such as 'L3H7,L5,L6H0-3', and feed-forward units, such as 'L3U0-511'."),
    ] = None,
    what: Annotated[
        Literal["heads", "units", "both"] | None,
        Parameter(help="What may be removed: attention heads, as by default, feed-forward units, or both."),
    ] = None,
    tolerance: Tolerance = None,
    drop: Drop = None,
    keep: Keep = None,
    operations: Operations = None,
    weights: Weights = None,
    faster: Faster = None,
    by_estimate: ByEstimate = False,
    by: Annotated[
        Literal["head", "group"] | None,
        Parameter(
            help="What is removed together: a head, as by default, or a group: all query heads that share a key/value "
            "head, and that one with them, so that the cache shrinks."
        ),
    ] = None,
    task: Annotated[
        str | None, Parameter(help="A GLUE task such as mrpc, or a kind of task such as classification.")
    ] = None,
    data: Annotated[str | None, Parameter(help="Labelled examples, as for headcount sweep, or bundled:pairs.")] = None,
    order: Annotated[
        str | None,
        Parameter(
            help="Orders in which heads are removed: some of importance, ablation, taylor, norm, gates, random and "
            "file:PATH, separated by commas; the first one decides; importance,random by default."
        ),
    ] = None,
    steps: Annotated[int | None, Parameter(help="Number of steps of each curve; 10 by default.")] = None,
    randoms: options.Randoms = None,
    anew: options.Anew = False,
    normed: Annotated[
        bool | None,
        Parameter(
            negative="--no-normed",
            help="Divide each importance by the norm over the heads of its layer, as by default.",
        ),
    ] = None,
    at_least: Annotated[int | None, Parameter(help="Heads that every layer keeps at least; 0 by default.")] = None,
    stack: options.Stack = None,
    train: Train = None,
    score: Score = None,
    own_labels: options.OwnLabels = False,
    rearrange: Rearrange = False,
    refit: Refit = None,
    multiple: Multiple = None,
    batch: Batch = None,
    length: Length = None,
    metric: options.Metric = None,
    stages: Annotated[
        int | None,
        Parameter(help="Reach a budget in so many stages, each a cut, a refit and a recovery (--recover)."),
    ] = None,
    recover: Annotated[int | None, Parameter(help="Fine-tune for this many steps after pruning.")] = None,
    learning_rate: Annotated[
        float | None,
        Parameter(help="Learning rate of the recovery (--recover); 2e-5 by default, 2e-4 with --lora."),
    ] = None,
    lora: Annotated[
        bool,
        Parameter(
            help="Recover (--recover) with LoRA adapters, which are merged into the weights, instead of training all "
            "weights (needs peft)."
        ),
    ] = False,
    lora_rank: options.LoraRank = None,
    teacher: Annotated[
        bool | None,
        Parameter(
            negative="--no-teacher",
            help="Recover (--recover) with the whole model as the teacher, as by default; --no-teacher trains on the "
            "labels instead.",
        ),
    ] = None,
    temperature: options.Temperature = None,
    hidden: options.Hidden = False,
    study: options.Study = None,
    name: Annotated[
        str | None, Parameter(help="Name of the results, if a study holds several of their kind; prune by default.")
    ] = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    overwrite: options.Overwrite = False,
    limit: options.Limit = None,
    seed: Annotated[int | None, Parameter(help="Random seed; 0 by default.")] = None,
    max_length: options.MaxLength = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    trust_remote_code: options.Trust = False,
) -> None:
    """Remove heads and feed-forward units from a model and save the smaller model, which loads anywhere.

    Example: headcount prune bundled:qnli --task qnli --data bundled:pairs --tolerance 1 --out small --study study

    Name the heads with --heads, or let them be chosen by --task, --data and one of --drop, --keep and --tolerance: one
    half of the examples orders the heads and determines how many are removed, the held-out half evaluates the result.
    An interrupted run resumes when the same command is run again with --study. To keep one head in each of 12 layers:
    --at-least 1 --keep 12. For heads and feed-forward units together give --what both and a budget: --operations 50%,
    --weights 60%, --faster 2 (measured) or --tolerance 1.

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, or bundled:qnli.
    """
    given = dict(locals())
    from rich.console import Console

    from headcount.budgets.choose_parts import PartChoice
    from headcount.data.synthetic.source import find_source
    from headcount.models.checkpoint import save
    from headcount.models.matching_weights import WRITTEN, check_head
    from headcount.models.output_folder import check_apart, check_output_folder
    from headcount.pruning.lora import check_lora
    from headcount.pruning.teacher import check_temperature
    from headcount.zoo.bundled import find_data, find_model

    if heads is not None:
        refuse_others(prune, given, WITH_HEADS, "--heads says which heads go")
        if not heads.strip(" ,"):
            raise InvalidOption("got no heads; expected at least one, such as --heads L3H7")
    elif not data or not (task or find_source(data)) or all(given[option] is None for option in SIZES):
        raise InvalidOption(
            "say what to remove: --heads 'L3H7,L5', or --task, --data and one of --drop 40%, --keep 80, "
            "--tolerance 0.5, --operations 50%, --weights 60%, --faster 2"
        )
    belongs_to("by_estimate", by_estimate, "tolerance", tolerance)
    belongs_to("stages", stages, "recover", recover or None)
    belongs_to("learning_rate", learning_rate, "recover", recover or None)
    belongs_to("lora", lora, "recover", recover or None)
    belongs_to("lora_rank", lora_rank, "lora", lora)
    belongs_to(
        "no_teacher" if teacher is False else "teacher", None if teacher is None else True, "recover", recover or None
    )
    taught = bool(recover) and teacher is not False
    belongs_to("temperature", temperature, "recover", recover or None)
    belongs_to("hidden", hidden, "recover", recover or None)
    without_effect("temperature", None if taught else temperature, "there is no teacher")
    without_effect("hidden", hidden and not taught, "there is no teacher")
    if lora:
        check_lora()
    check_apart(out, {"the model": find_model(model), "the data": find_data(data), "the study": study})
    check_output_folder(out, overwrite)
    console = Console(highlight=False)
    loaded = load_ready(model, device, dtype, trust_remote_code, uses_head=True)
    loaded_tokenizer = find_tokenizer(model, tokenizer, trust_remote_code)
    if heads is not None:
        check_head(loaded, *WRITTEN)
        lines = remove_heads(loaded, heads)
    else:
        known = find_named_task(task, data, text, label, labels)
        check_temperature(temperature, known.kind)
        chosen_by = {option: given[option] for option in PASSED_ON if given[option] is not None}
        examples: dict[str, Any] = {"metric": metric, "limit": limit, "seed": seed or 0, "max_length": max_length}
        trained: dict[str, Any] = {
            **{"max_steps": recover, "learning_rate": learning_rate, "lora": lora, "lora_rank": lora_rank},
            **{"temperature": temperature, "hidden": hidden},
        }
        state = None if study is None else out.with_name(f"{out.name}.recovery")
        if stages is not None:
            trained["teacher"] = loaded if taught else None
            smaller, lines = run_stages(
                loaded, loaded_tokenizer, str(data), known, chosen_by, stages, trained, state, **examples
            )
            save(as_stored(smaller, loaded), loaded_tokenizer, out, overwrite=overwrite)
            say_end(console, say_left(loaded, smaller) + lines, model, out)
            return
        choice = run_choice("prune", loaded, loaded_tokenizer, str(data), known, chosen_by)
        if isinstance(choice, PartChoice):
            show_parts(console, choice)
            if choice.model is None:
                console.print("No model was written. Give more examples, a larger --tolerance, or --by-estimate.")
                return
            lines = say_left(loaded, choice.model)
            if recover:
                trained["teacher"] = loaded if taught else None
                lines += recover_parts(
                    loaded, choice.model, loaded_tokenizer, str(data), train, known, trained, state, **examples
                )
            save(as_stored(choice.model, loaded), loaded_tokenizer, out, overwrite=overwrite)
            say_end(console, lines, model, out)
            return
        show_choice(console, choice, tolerance, by_estimate)
        if not choice.heads:
            console.print(f"No model was written. {next_try(choice)}")
            return
        if recover:
            # A copy, as the cut is made in place.
            trained["teacher"] = copy.deepcopy(loaded) if taught else None
            lines = cut_and_recover(loaded, loaded_tokenizer, str(data), known, choice.heads, trained, **examples)
        else:
            lines = remove_heads(loaded, choice.heads)
    save(as_stored(loaded), loaded_tokenizer, out, overwrite=overwrite)
    say_end(console, lines, model, out)


def say_end(console: Any, lines: list[str], model: str, out: Path) -> None:
    """Print what remains, where it was saved and what to do next."""
    for line in lines:
        console.print(line)
    console.print(f"Saved in {out} (how to load it: {out / 'README.md'}).", markup=False, soft_wrap=True)
    console.print(f"Next: headcount cost {model} {out}", markup=False, soft_wrap=True)


def say_left(whole: Any, smaller: Any) -> list[str]:
    """What is left of a model, and how its cut was checked."""
    from headcount.pruning.prune import LAST_CHECK
    from headcount.trace.anatomy import read_anatomy

    left = count_left(read_anatomy(whole), whole.num_parameters(), smaller)
    return [left, f"Checked before the refit: {getattr(smaller, LAST_CHECK)}."]


def count_left(old: Any, before: int, smaller: Any) -> str:
    """The heads, units and parameters that are left of a model that had so many; units only where some are gone."""
    from headcount.trace.anatomy import read_anatomy

    new, after = read_anatomy(smaller), smaller.num_parameters()
    some = new.units.count < old.units.count
    units = f" and {new.units.count:,} of {old.units.count:,} feed-forward units" if some else ""
    return (
        f"{new.layout.count} of {old.layout.count} heads{units} are left, {after:,} of {before:,} parameters "
        f"({1 - after / before:.1%} less)."
    )


def remove_heads(model: Any, heads: Any) -> list[str]:
    """Prune the model in place; returns lines that say what remains."""
    from headcount.pruning.prune import LAST_CHECK, prune
    from headcount.trace.anatomy import read_anatomy

    old, before = read_anatomy(model), model.num_parameters()
    prune(model, heads)
    return [count_left(old, before, model), f"Checked: {getattr(model, LAST_CHECK)}."]


def cut_and_recover(
    model: Any,
    tokenizer: Any,
    data: str,
    task: Any,
    heads: Any,
    trained: dict[str, Any],
    metric: str | None,
    limit: int | None,
    seed: int,
    max_length: int | None,
) -> list[str]:
    """Prune the model and fine-tune it on the selection half; the last line has its scores on the held-out half."""
    from headcount.ablation.job import task_metric
    from headcount.ablation.summary import metric_name
    from headcount.choosing.halves import read_halves
    from headcount.cli.progress import show_progress
    from headcount.pruning.held_out import HeldOut
    from headcount.pruning.recover import find_rate, recover
    from headcount.story.cuts import recovery_sentence

    selection, rest = read_halves(data, task, limit, seed, tokenizer)
    scored_by = task_metric(task, metric)
    held_out = HeldOut.read(model, tokenizer, rest, task, scored_by, max_length, seed)
    whole = held_out.outputs(model)
    lines = remove_heads(model, heads)
    cut = held_out.outputs(model)
    options = {**trained, "seed": seed, "max_length": max_length}
    try:
        with show_progress("recover", "steps") as progress:
            recover(model, tokenizer, selection, task=task, progress=progress, **options)
        after = held_out.outputs(model)
    except (TrainingDiverged, NotFinite) as error:
        rate = find_rate(trained["learning_rate"], trained["lora"])
        raise TrainingDiverged(
            f"the recovery diverged and nothing was saved ({error}); give a lower learning_rate= than {rate:g}"
        ) from error
    how = f"{trained['max_steps']} steps{spell_lora(trained['lora'], trained['lora_rank'])}"
    how += spell_teacher(trained["teacher"] is not None, trained["lora"])
    compared = held_out.compare(whole, cut, after, seed=seed)
    before, now = compared.scores
    lines.append(recovery_sentence(metric_name(scored_by), how, before, now, compared.whole, compared.changes[1]))
    return lines
