"""How much of a model's score is there without part of its input? As in Table 1 of Niven and Kao (2019)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4
from warnings import warn

import pandas as pd

from headcount.core.options import no_repeats, without_effect
from headcount.data.blank_rows import leave_out_blank
from headcount.data.examples import draw_rows
from headcount.data.in_memory import InMemory
from headcount.data.kinds.multiple_choice import MultipleChoice
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task, find_task
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.progress import Progress
from headcount.errors import CannotWrite, DataProblem, HeadcountWarning, InvalidOption, cannot_write, listed, short
from headcount.models.device import find_device
from headcount.training.baseline_run import BaselineRun, input_vectors, perform_baseline
from headcount.training.models import load_text_tokenizer
from headcount.training.part_scores import FINE_TUNED, majority_and_chance, summarise_parts
from headcount.training.parts import Part, find_parts, restrict, split_inputs
from headcount.training.perform_all import perform_all
from headcount.training.run import TrainingRun, perform_run
from headcount.training.run_folder import finished_result
from headcount.training.scored_sets import TESTS, VALIDATION, Sources, add_sets, check_set_names, unscored_sets
from headcount.training.splits import Splits, read_splits
from headcount.training.trainer import Settings
from headcount.training.vector_model import READERS

BASELINES = tuple(READERS)
KINDS = ("classification", "regression", "multiple-choice")
"""Kinds of tasks with one label for an example."""
PartRun = TrainingRun | BaselineRun


@takes_engine
def partial(
    model: str | Path,
    data: str | Path | InMemory | None,
    out: str | Path,
    *,
    inputs: Iterable[str] | str,
    task: str | Task | None = None,
    text: Iterable[str] | None = None,
    choices: Iterable[str] | None = None,
    label: str | None = None,
    tests: Sources | None = None,
    seeds: int | Iterable[int] = 5,
    baselines: str | Iterable[str] = BASELINES,
    settings: Settings | None = None,
    keep_models: bool = False,
    limit: int | None = None,
    jobs: int = 1,
    device: str | None = None,
    tokenizer: str | Path | None = None,
    trust_remote_code: bool = False,
    engine: str | Ray | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Fine-tune and score a model on parts of its input, beside small baselines: a table with one row for each run.

    `inputs`: each a list of columns separated by commas, or `all`. `choices`: the columns of the choices, for multiple
    choice; in an input `choices`, or what their names share before a number (`warrant` for warrant0 and warrant1),
    stands for all of them, and `text` is the context, by default all columns that the inputs name. `seeds`: their
    number, or a list of them. `baselines`: some of `bag-of-vectors` and `bilstm`, both on the model's input embeddings,
    which are not trained, with one hidden layer. All runs have the same training and validation examples; rows that
    are blank in one of the inputs are left out of all. `tests`: further labelled tables with the same columns, by name
    ({"adversarial": FILE_OR_FRAME}); every run is scored on them too, and the table has a row for each run and set
    (`split`: `validation`, or the name). Finished runs without the score of a set are run again.

    The columns `majority` and `chance` are the scores of predictions that read nothing. Each run goes to
    `out/input/model/seed-n`; `keep_models` saves the fine-tuned models there. `out/runs.csv` is the table,
    `out/summary.csv` what `summarise_parts` makes of it. The same call resumes. `jobs`, `data`, `settings` and what is
    `failed`: as in `finetune`.
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
    """
    settings = settings or Settings()
    settings.check()
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    check_numbers(seeds=len(numbers), jobs=jobs, limit=limit)
    for number in numbers:
        check_numbers(seed=number)
    no_repeats("seeds", numbers)
    check_set_names(tests or {})
    models = [FINE_TUNED, *_find_baselines(baselines)]
    wanted = [inputs] if isinstance(inputs, str) else list(inputs)
    split_inputs(wanted)  # before anything is loaded
    columns = _find_columns(task, text, choices, label)
    torch_device = find_device(device or "auto")
    pieces = load_text_tokenizer(model, tokenizer, trust_remote_code)
    splits, parts = _read_parts(columns, wanted, data, limit, pieces)
    splits = add_sets(splits, tests or {}, parts, pieces)
    known = _known(restrict(splits, parts[0]))  # labels are checked before the first run
    call = str(uuid4())
    name_of_tokenizer = None if tokenizer is None else str(tokenizer)
    runs: list[tuple[str, str, PartRun]] = []
    for part in parts:
        restricted = restrict(splits, part)
        for kind in models:
            for seed in numbers:
                folder = Path(out) / part.folder / kind / f"seed-{seed}"
                runs.append(
                    (
                        part.name,
                        kind,
                        TrainingRun(
                            str(model),
                            restricted,
                            "pretrained",
                            seed,
                            folder,
                            settings,
                            device=torch_device,
                            trust_remote_code=trust_remote_code,
                            tokenizer=name_of_tokenizer,
                            keep_model=keep_models,
                        )
                        if kind == FINE_TUNED
                        else BaselineRun(
                            str(model),
                            restricted,
                            kind,
                            seed,
                            folder,
                            settings.max_length,
                            torch_device,
                            trust_remote_code,
                            name_of_tokenizer,
                            call,
                        ),
                    )
                )
    again = _unscored([run for *_, run in runs])
    try:
        results = perform_all([run for *_, run in runs], perform_either, jobs, progress, again)
        rows = [
            _row(*run, split, result) | numbers
            for split, numbers in known.items()
            for run, result in zip(runs, results, strict=True)
        ]
        table = pd.DataFrame(rows)
        table.attrs["notes"] = list(splits.notes)
        table.to_csv(Path(out) / "runs.csv", index=False)
        summarise_parts(table).to_csv(Path(out) / "summary.csv", index=False)
    except OSError as error:
        raise CannotWrite(cannot_write(out, error)) from error
    finally:
        input_vectors.cache_clear()
    return table


def perform_either(run: PartRun, progress: Progress | None = None) -> dict[str, Any]:
    """Perform the run of a fine-tuned model or of a baseline."""
    return perform_run(run, progress) if isinstance(run, TrainingRun) else perform_baseline(run, progress)


def _find_baselines(baselines: str | Iterable[str]) -> list[str]:
    names = [name.strip() for name in baselines.split(",")] if isinstance(baselines, str) else list(baselines)
    if names == ["none"]:
        return []
    for name in names:
        if name not in READERS:
            raise InvalidOption(f"got {short(name)} in baselines=; expected some of {', '.join(READERS)}, or none")
    no_repeats("baselines", names)
    return names


@dataclass(frozen=True)
class _Columns:
    """The task, and the columns that the user named: None for the task's own, or all that the inputs name."""

    task: Task
    text: tuple[str, ...] | None
    choices: tuple[str, ...]


def _find_columns(
    task: str | Task | None, text: Iterable[str] | None, choices: Iterable[str] | None, label: str | None
) -> _Columns:
    chosen = () if choices is None else tuple(choices)
    given = None if text is None else tuple(text)
    if isinstance(task, Task):
        for option, value in (("text", text), ("label", label)):
            without_effect(option, value, "the task names its columns", "give find_task() the columns")
        known, given = task, task.texts[0] if task.kind.name == "multiple-choice" and not chosen else None
    else:
        if task is None and choices is None:
            raise InvalidOption("got neither task= nor choices=; name the task, or the columns of the choices")
        several = task is None or find_kind_name(task) == "multiple-choice"
        columns = chosen or given if several else given
        known = find_task(task or "multiple-choice", text=columns, label=label)
    if known.kind.name not in KINDS:
        raise InvalidOption(f"got task={known.name}, which is {known.kind.name}; expected {', '.join(KINDS)}")
    if not known.kind.find_metric(known.metric).higher_is_better:
        raise InvalidOption(f"got the metric {known.metric}; expected one of which more is better")
    if known.kind.name != "multiple-choice":
        without_effect("choices", choices, f"{known.name} is no multiple choice")
        if given is not None and len(given) > 2:
            raise InvalidOption(f"got text={list(given)}; expected one or two columns for {known.name}")
        return _Columns(known, given, ())
    if choices is None:
        chosen, given = tuple(known.texts[0][1:]), tuple(known.texts[0][:1])
    if len(chosen) < 2:
        raise InvalidOption(f"got choices={list(chosen)}; expected at least two columns")
    no_repeats("choices", chosen)
    return _Columns(known, given, chosen)


def find_kind_name(task: str) -> str:
    """The kind of a task by its name, also of one that needs the names of its columns."""
    return find_task(task, text=("text",)).kind.name


def _read_parts(
    columns: _Columns, inputs: list[str], data: str | Path | InMemory | None, limit: int | None, tokenizer: Any
) -> tuple[Splits, list[Part]]:
    """Both splits without the rows that are blank in one of the inputs, and the inputs."""
    splits = read_splits(columns.task, data)
    text = columns.text
    if text is None and not columns.choices:
        text = splits.task.columns(splits.train)
    present = [name for name in splits.train.columns if name in splits.validation.columns]
    parts = find_parts(inputs, present, text, columns.choices)
    if columns.choices:
        labels = splits.train[splits.task.label].dropna().unique()
        if len(labels) < 2:
            raise DataProblem(f"train has one label only ({listed(labels)}); expected at least two")
        splits = replace(splits, task=replace(splits.task, kind=MultipleChoice()))
    for part in parts:
        names = (*part.columns, *part.choices)
        train, validation = (
            leave_out_blank(table, names, splits.task.kind, tokenizer) for table in (splits.train, splits.validation)
        )
        splits = replace(splits, train=train, validation=validation)
    return replace(splits, train=draw_rows(splits.train, limit, 0)), parts


def _known(splits: Splits) -> dict[str, dict[str, Any]]:
    """What is known of each set without a run: the scores of predictions that read nothing, and its size."""
    rows = {}
    for name, table in {VALIDATION: splits.validation, **splits.tests}.items():
        majority, chance = majority_and_chance(replace(splits, validation=table))
        rows[name] = {"majority": majority, "chance": chance, "examples": len(table)}
    return rows


def _unscored(runs: Sequence[PartRun]) -> list[PartRun]:
    """The finished runs that lack the score of a set, with a warning."""
    done = [(run, finished_result(run.folder, run.identity)) for run in runs]
    lacking = [(run, unscored_sets(result, run.splits)) for run, result in done if result is not None]
    again = [run for run, names in lacking if names]
    if again:
        names = dict.fromkeys(name for _, each in lacking for name in each)
        runs_have = "1 finished run has" if len(again) == 1 else f"{len(again)} finished runs have"
        warn(
            f"{runs_have} no score on these examples of {listed(names)}: they are run again",
            HeadcountWarning,
            stacklevel=3,
        )
    return again


def _row(name: str, kind: str, run: PartRun, split: str, result: dict[str, Any]) -> dict[str, Any]:
    scores = (result if split == VALIDATION else result[TESTS][split])["scores"]
    metric = next(iter(scores))
    return {
        "input": name,
        "model": kind,
        "seed": run.seed,
        "metric": metric,
        "split": split,
        "score": scores[metric],
        **{f"score_{score}": value for score, value in scores.items()},
        "training_score": result["training_scores"].get(metric, float("nan")),
        "failed": result["failed"],
        "steps": result["steps"],
        "seconds": result["seconds"],
        "folder": str(run.folder),
    }
