"""`headcount prune`: choose heads and feed-forward units, remove them, fine-tune if asked, save."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.choose import (
    PASSED_ON,
    WHAT,
    Anew,
    Batch,
    ByEstimate,
    Drop,
    Faster,
    Keep,
    Length,
    Multiple,
    Operations,
    OwnLabels,
    Randoms,
    Rearrange,
    Refit,
    Score,
    Stack,
    Tolerance,
    Train,
    Weights,
    next_budget,
    next_try,
    run_choice,
    show_choice,
    show_parts,
)
from headcount.cli.engine_options import with_engine
from headcount.cli.groups import FIRST, ORDER, RECOVERY
from headcount.cli.options import (
    as_stored,
    bare_head,
    find_named_task,
    find_source_of,
    find_tokenizer,
    load_ready,
    refuse_others,
)
from headcount.cli.prune_stages import run_stages
from headcount.cli.recovery import recover_smaller, remove_state
from headcount.cli.stopping import state_beside
from headcount.core.options import belongs_to, without_effect
from headcount.errors import InvalidOption, NoModelWritten

SIZES = ("tolerance", "drop", "keep", "operations", "weights", "faster")
"""Options that say how small the model is to get."""
WITH_HEADS = ("model", "out", "heads", "overwrite", "tokenizer", "device", "dtype", "trust_remote_code")
"""Options that apply when --heads names the heads; the others are about choosing them."""


@with_engine
def prune(
    model: str,
    /,
    *,
    out: Annotated[Path, Parameter(group=FIRST, help="Folder for the pruned model.")],
    heads: Annotated[
        str | None,
        Parameter(
            group=FIRST, help="Heads to remove, such as 'L3H7,L5,L6H0-3', and feed-forward units, such as 'L3U0-511'."
        ),
    ] = None,
    what: Annotated[
        Literal["heads", "units", "both"] | None,
        Parameter(
            group=FIRST,
            help=f"{WHAT}; heads by default. Units and both need --operations, --weights, --faster or --tolerance.",
        ),
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
            group=ORDER,
            help="What is removed together: a head, as by default, or a group: all query heads that share a key/value "
            "head, and that one with them, so that the cache shrinks.",
        ),
    ] = None,
    task: Annotated[
        str | None,
        Parameter(
            group=FIRST,
            help="A GLUE task such as mrpc, or a kind of task such as classification, similarity (for embedding "
            "models) or causal-lm; headcount sweep --help lists them.",
        ),
    ] = None,
    data: Annotated[
        str | None, Parameter(group=FIRST, help="Labelled examples, as for headcount sweep; without it the hub's GLUE.")
    ] = None,
    order: Annotated[
        str | None,
        Parameter(
            group=ORDER,
            help="Orders in which heads are removed: some of importance, ablation, taylor, norm, gates, random and "
            "file:PATH, separated by commas; the first one decides; importance,random by default.",
        ),
    ] = None,
    steps: Annotated[int | None, Parameter(help="Number of steps of each curve; 10 by default.")] = None,
    randoms: Randoms = None,
    anew: Anew = False,
    normed: Annotated[
        bool | None,
        Parameter(
            group=ORDER,
            negative="--no-normed",
            help="Divide each importance by the norm over the heads of its layer, as by default.",
        ),
    ] = None,
    at_least: Annotated[
        int | None,
        Parameter(
            help="Heads that every layer keeps at least; 0 by default. --at-least 1 --keep 12 keeps one in each of 12 "
            "layers."
        ),
    ] = None,
    stack: Stack = None,
    train: Train = None,
    score: Score = None,
    own_labels: OwnLabels = False,
    rearrange: Rearrange = False,
    refit: Refit = None,
    multiple: Multiple = None,
    batch: Batch = None,
    length: Length = None,
    metric: options.Metric = None,
    stages: Annotated[
        int | None,
        Parameter(
            group=RECOVERY,
            help="Reach a budget in this many stages, each with a cut, a refit and a recovery (--recover).",
        ),
    ] = None,
    recover: Annotated[
        int | None,
        Parameter(group=RECOVERY, help="Fine-tune for this many steps after pruning (after each of the --stages)."),
    ] = None,
    learning_rate: Annotated[
        float | None,
        Parameter(group=RECOVERY, help="Learning rate of the recovery (--recover); 2e-5 by default, 2e-4 with --lora."),
    ] = None,
    lora: Annotated[
        bool,
        Parameter(
            group=RECOVERY,
            help="Recover (--recover) with LoRA adapters, which are merged into the weights, instead of training all "
            "weights (needs peft).",
        ),
    ] = False,
    lora_rank: Annotated[options.LoraRank, Parameter(group=RECOVERY)] = None,
    teacher: Annotated[
        bool | None,
        Parameter(
            group=RECOVERY,
            negative="--no-teacher",
            help="Recover (--recover) by learning the whole model's outputs, as by default; --no-teacher trains on the "
            "labels instead.",
        ),
    ] = None,
    temperature: Annotated[options.Temperature, Parameter(group=RECOVERY)] = None,
    hidden: Annotated[options.Hidden, Parameter(group=RECOVERY)] = False,
    study: Annotated[options.Study, Parameter(group=FIRST)] = None,
    name: Annotated[
        str | None,
        Parameter(
            help="Name of the results, if a study holds several of their kind; prune by default, budget for a budget."
        ),
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

    Name heads and units with --heads, or let them be chosen with --task and --data. Heads are removed in an order:
    --tolerance, --drop or --keep says how many. Heads and units together are chosen to a budget: --what both and one of
    --operations 50%, --weights 60%, --faster 2 and --tolerance 1. Either way one half of the examples selects and the
    held-out half evaluates the result. An interrupted run resumes when the same command is run again with --study.

    Exit code 1: no model was written, because no cut is shown to stay within the --tolerance.

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, or bundled:qnli.
    """
    given = dict(locals())
    from rich.console import Console

    from headcount.budgets.choose_parts import PartChoice
    from headcount.data.synthetic.source import find_source
    from headcount.engines.executors import current_executor
    from headcount.models.checkpoint import save
    from headcount.models.matching_weights import WRITTEN, check_head
    from headcount.models.output_folder import check_apart, check_output_folder
    from headcount.pruning.lora import check_lora
    from headcount.pruning.teacher import check_temperature
    from headcount.zoo.bundled import find_data, find_model

    if heads is not None:
        refuse_others(prune, given, WITH_HEADS, "--heads says which heads go")
        without_effect("engine", current_executor().elsewhere, "--heads says which heads go")
        if not heads.strip(" ,"):
            raise InvalidOption("got no heads; expected at least one, such as --heads L3H7")
    elif not (task or find_source(data)) or all(given[option] is None for option in SIZES):
        raise InvalidOption(
            "say what to remove: --heads 'L3H7,L5', or --task, --data (without it the hub's GLUE) and one of "
            "--drop 40%, --keep 80, --tolerance 0.5, --operations 50%, --weights 60%, --faster 2"
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
    known = None if heads is not None else find_named_task(task, data, text, label, labels)
    source = "" if known is None else find_source_of(known, data)
    head = None if known is None else bare_head(known.kind.name)
    loaded = load_ready(model, device, dtype, trust_remote_code, head=head, uses_head=True)
    loaded_tokenizer = find_tokenizer(model, tokenizer, trust_remote_code)
    if heads is not None or known is None:
        check_head(loaded, *WRITTEN)
        lines, smaller, state = remove_heads(loaded, heads), loaded, None
    else:
        check_temperature(temperature, known.kind)
        chosen_by = {option: given[option] for option in PASSED_ON if given[option] is not None}
        examples: dict[str, Any] = {"metric": metric, "limit": limit, "seed": seed or 0, "max_length": max_length}
        trained: dict[str, Any] = {
            **{"max_steps": recover, "learning_rate": learning_rate, "lora": lora, "lora_rank": lora_rank},
            **{"temperature": temperature, "hidden": hidden},
        }
        state = None if study is None else state_beside(out)
        by_order = False
        if recover:
            trained["teacher"] = loaded if taught else None
        if stages is not None:
            smaller, lines = run_stages(
                loaded, loaded_tokenizer, source, known, chosen_by, stages, trained, state, **examples
            )
            lines = say_left(loaded, smaller, refitted=refit != "none") + lines
        else:
            choice = run_choice("prune", loaded, loaded_tokenizer, source, known, chosen_by)
            if isinstance(choice, PartChoice):
                show_parts(console, choice)
                if choice.model is None:
                    raise nothing_written(next_budget(choice))
                smaller = choice.model
                lines = say_left(loaded, smaller, refitted=refit != "none")
            else:
                show_choice(console, choice, tolerance, by_estimate)
                if not choice.heads:
                    raise nothing_written(next_try(choice))
                by_order = True
                smaller = copy.deepcopy(loaded) if recover else loaded  # a recovery compares both
                lines = remove_heads(smaller, choice.heads)
            if recover:
                lines += recover_smaller(
                    loaded,
                    smaller,
                    loaded_tokenizer,
                    source,
                    train,
                    known,
                    trained,
                    state,
                    **examples,
                    by_order=by_order,
                )
    save(as_stored(smaller, loaded), loaded_tokenizer, out, overwrite=overwrite)
    remove_state(state)
    say_end(console, lines, model, out)


def nothing_written(advice: str) -> NoModelWritten:
    """The error where nothing can go, so that a script that needs the model stops; `advice` says what to try."""
    return NoModelWritten(f"no model was written; {advice[:1].lower()}{advice[1:].removesuffix('.')}")


def say_end(console: Any, lines: list[str], model: str, out: Path) -> None:
    """Print what remains, where it was saved and what to do next."""
    for line in lines:
        console.print(line)
    console.print(f"Saved in {out} (how to load it: {out / 'README.md'}).", markup=False, soft_wrap=True)
    console.print(f"Next: headcount cost {model} {out}", markup=False, soft_wrap=True)


def say_left(whole: Any, smaller: Any, refitted: bool) -> list[str]:
    """What is left of a model, and how its cut was checked."""
    from headcount.pruning.prune import LAST_CHECK
    from headcount.trace.anatomy import read_anatomy

    left = count_left(read_anatomy(whole), whole.num_parameters(), smaller)
    return [left, f"Checked{' before the refit' if refitted else ''}: {getattr(smaller, LAST_CHECK)}."]


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
