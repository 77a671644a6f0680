"""Options that several verbs share, and how a model is loaded onto its device and in its dtype."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli.warning_lines import say
from headcount.core.options import without_effect
from headcount.errors import InvalidOption

if TYPE_CHECKING:
    from rich.console import Console
    from transformers import PreTrainedModel

    from headcount.data.tasks import Task as KnownTask

# The examples of a task, and their columns.
Task = Annotated[
    str | None,
    Parameter(
        help="A GLUE task (mrpc, rte, ...) or a kind of task: classification, regression, similarity (of texts, by "
        "their vectors; also similarity,pooling=first), retrieval, reranking, token-classification, multiple-choice, "
        "masked-lm, causal-lm, completion, translation. Only synthetic texts have a default: completion."
    ),
]
Data = Annotated[
    str,
    Parameter(
        help="Labelled examples: a parquet, csv, tsv or jsonl file, a folder with validation.*, hub:NAME (--config and "
        "--split name its configuration and split), bundled:pairs, which comes with the package, or synthetic texts "
        "such as synthetic:repeat,length=50 (others: needle, names, agreement, few-shot)."
    ),
]
DataOrGlue = Annotated[
    str | None,
    Parameter(
        help="Labelled examples: a parquet, csv, tsv or jsonl file, a folder with validation.*, hub:NAME (--config and "
        "--split name its configuration and split), bundled:pairs, which comes with the package, or synthetic texts "
        "such as synthetic:repeat,length=50 (others: needle, names, agreement, few-shot); without it the hub's GLUE."
    ),
]
Text = Annotated[
    tuple[str, ...] | None,
    Parameter(help="Text columns; for a translation, source and target.", consume_multiple=True),
]
Label = Annotated[str | None, Parameter(help="Label column.")]
Labels = Annotated[
    tuple[str, ...] | None,
    Parameter(
        help="Class names of the label codes 0, 1, ... in the data. If the model's classes are called LABEL_0, "
        "LABEL_1, ..., or differently from the labels: the labels in the order of the classes.",
        consume_multiple=True,
    ),
]
What = Annotated[str, Parameter(help="heads, units (of the feed-forward layers) or both.")]
OwnLabels = Annotated[
    bool,
    Parameter(
        help="Compute the loss for labels drawn from the model's own predictions, not for those in the data.",
    ),
]
Limit = Annotated[int | None, Parameter(help="Use only this many randomly drawn examples.")]
MaxLength = Annotated[int | None, Parameter(help="Truncate texts to this many tokens.")]
Seed = Annotated[int, Parameter(help="Random seed.")]
# Texts without labels.
Texts = Annotated[
    str,
    Parameter(
        help="A parquet, csv, tsv or jsonl file with a text column or two, a CoNLL-U file, hub:NAME (--config and "
        "--split name its configuration and split), bundled:pairs, bundled:sentences, or synthetic texts such as "
        "synthetic:repeat,length=50 (others: needle, names, agreement, few-shot)."
    ),
]
TextColumns = Annotated[tuple[str, ...] | None, Parameter(help="One or two text columns.", consume_multiple=True)]
Tagger = Annotated[
    str | None,
    Parameter(help="A token classifier (see headcount finetune) that marks nouns, subjects, ... in plain texts."),
]
# How the examples are scored.
Metric = Annotated[str | None, Parameter(help="Metric to use instead of the task's own.")]
NumBeams = Annotated[int | None, Parameter(help="Number of beams, if texts are generated; 1 by default.")]
MaxNewTokens = Annotated[
    int | None, Parameter(help="Maximum number of new tokens, if texts are generated; 128 by default.")
]
# The order in which heads go.
Order = Annotated[
    str,
    Parameter(
        help="Orders in which heads are removed: some of importance, ablation, taylor, norm, gates, random and "
        "file:PATH, separated by commas."
    ),
]
Unit = Annotated[
    Literal["head", "group"],
    Parameter(
        help="What is removed together: a head, or a group: all query heads that share a key/value head, and that one "
        "with them, so that the cache shrinks."
    ),
]
Steps = Annotated[int, Parameter(help="Number of steps of each curve.")]
Randoms = Annotated[int | None, Parameter(help="Number of random orders to compare with; 3 by default.")]
Anew = Annotated[bool, Parameter(help="Compute the importance again after each step.")]
Normed = Annotated[
    bool, Parameter(negative="--no-normed", help="Divide each importance by the norm over the heads of its layer.")
]
Stack = Annotated[
    Literal["encoder", "decoder", "cross"] | None,
    Parameter(help="Only heads of this stack."),
]
# The recovery after a cut.
Lora = Annotated[
    bool, Parameter(help="Train LoRA adapters, which are merged into the weights, instead of all weights (needs peft).")
]
LoraRank = Annotated[int | None, Parameter(help="Rank of the adapters (--lora); 16 by default.")]
Temperature = Annotated[
    float | None,
    Parameter(help="Temperature of the probabilities that are compared with the teacher's; 2 by default."),
]
Hidden = Annotated[
    bool, Parameter(help="Learn the teacher's hidden states after every layer too, not its outputs alone.")
]
# The study.
Out = Annotated[Path | None, Parameter(help="Study folder for the result.")]
Study = Annotated[Path | None, Parameter(help="Study folder for the results.")]
Name = Annotated[str | None, Parameter(help="Name of the result, if a study holds several of its kind.")]
Json = Annotated[bool, Parameter(name="--json", help="Print the result as JSON.")]
Overwrite = Annotated[bool, Parameter(help="Replace a folder that headcount wrote; other files in it are kept.")]
# The model, and where it runs.
Tokenizer = Annotated[str | None, Parameter(help="Folder or hub name of a tokenizer, if the model comes without one.")]
Trust = Annotated[bool, Parameter(help="Allow code that comes with the model to run.")]
Device = Annotated[str, Parameter(help="cpu, cuda, cuda:1, mps, or auto (a GPU if there is one).")]
DeviceMap = Annotated[
    str | None,
    Parameter(
        help="Spread a large model over several GPUs, CPU and disk (accelerate): auto, balanced, sequential, or "
        "a JSON file that gives a device for each part of the model. Instead of --device."
    ),
]
Dtype = Annotated[
    Literal["float32", "bfloat16", "float16", "auto"],
    Parameter(help="dtype of the model; auto: that of the checkpoint, but float32 on a CPU."),
]
BatchTokens = Annotated[int | None, Parameter(help="Tokens per batch.")]
Shard = Annotated[
    str | None, Parameter(help="Run only part i of n of the work, such as 2/4; all parts share one study.")
]


def refuse_others(verb: Callable[..., None], given: Mapping[str, Any], accepted: Collection[str], because: str) -> None:
    """Refuse every option of a verb that differs from its default, except the accepted ones."""
    for name, parameter in signature(verb).parameters.items():
        if name not in accepted and given.get(name, parameter.default) != parameter.default:
            option = f"no_{name}" if given[name] is False else name.rstrip("_")
            without_effect(option, True, because, "leave one of them out")


def find_named_task(
    task: str | None,
    data: str | None,
    text: tuple[str, ...] | None = None,
    label: str | None = None,
    labels: tuple[str, ...] | None = None,
    metric: str | None = None,
    counterpart: tuple[str, ...] | None = None,
    wrong: str | None = None,
) -> KnownTask:
    """The task of these options; only synthetic texts have a default."""
    from headcount.data.synthetic.source import find_source
    from headcount.data.tasks import GLUE, find_task

    default = None if find_source(data) is None else "completion"
    if task is None and default is None:
        raise InvalidOption(
            f"say what the data is with task=: one of {', '.join(GLUE)}, or a kind of task such as classification"
        )
    return find_task(
        str(default) if task is None else task,
        text=text,
        label=label,
        labels=labels,
        metric=metric,
        counterpart=counterpart,
        wrong=wrong,
    )


def find_source_of(task: KnownTask, data: str | None) -> str:
    """The data that was given, or the hub's GLUE for the task."""
    from headcount.data.hub import HubData

    if data is not None:
        return data
    if task.hub is None:
        raise InvalidOption(f"say where the examples of {task.name} are with data=; the hub has those of GLUE only")
    return str(HubData(*task.hub))


def load_for_task(
    model: str,
    kind: str,
    device: str,
    dtype: str,
    trust_remote_code: bool = False,
    tokenizer: str | None = None,
    untrained: bool = False,
    device_map: str | None = None,
) -> tuple[PreTrainedModel, Any]:
    """Load a model that has a task head, and its tokenizer; `untrained` adds a new head to a bare model."""
    head = kind if untrained else bare_head(kind)
    loaded = load_ready(model, device, dtype, trust_remote_code, head=head, uses_head=True, device_map=device_map)
    return loaded, find_tokenizer(model, tokenizer, trust_remote_code)


def bare_head(kind: str) -> str | None:
    """The `head` with which models are loaded for a kind of task that needs none: a head is then left out."""
    from headcount.data.kinds.catalogue import find_kind

    return kind if find_kind(kind).bare else None


def load_model_and_tokenizer(
    model: str,
    device: str,
    dtype: str,
    trust_remote_code: bool = False,
    tokenizer: str | None = None,
    device_map: str | None = None,
) -> tuple[PreTrainedModel, Any]:
    """Load a model onto its device and in its dtype, and its tokenizer."""
    loaded = load_ready(model, device, dtype, trust_remote_code, device_map=device_map)
    return loaded, find_tokenizer(model, tokenizer, trust_remote_code)


def load_ready(
    model: str,
    device: str,
    dtype: str,
    trust_remote_code: bool = False,
    head: str | None = None,
    uses_head: bool = False,
    device_map: str | None = None,
) -> PreTrainedModel:
    """Load a model onto its device, or onto those of `device_map`, and in its dtype.

    If its task head is incomplete, a note says so; verbs that use the head (`uses_head`) refuse the model later.
    """
    import torch

    from headcount.models.device import find_device
    from headcount.models.device_map import read_device_map, runs_on_cpu
    from headcount.models.load import load_model, loading_notes

    target = None if device_map is not None else torch.device(find_device(device))
    options: dict[str, Any] = {} if dtype == "auto" else {"dtype": getattr(torch, dtype)}
    if device_map is not None:
        given = None if device == "auto" else device
        without_effect("device", given, "device_map= says where each part runs", "leave one of them out")
        options["device_map"] = read_device_map(device_map)
        if dtype == "auto" and runs_on_cpu(options["device_map"]):
            options["dtype"] = torch.float32  # offloaded weights cannot be converted later
    loaded = load_model(model, trust_remote_code=trust_remote_code, head=head, **options)
    for note in loading_notes(model, loaded if head is None else None, uses_head):
        say(f"note: {note}")
    loaded.headcount_stored = loaded.dtype
    if target is None:
        return loaded
    if dtype == "auto" and target.type == "cpu":
        loaded.float()  # on a CPU, half precision is for storage, not for computing
    return loaded.to(target)


def find_tokenizer(model: str, tokenizer: str | None = None, trust_remote_code: bool = False) -> Any:
    """Load the named tokenizer, or the model's own."""
    from headcount.models.load import load_tokenizer

    return load_tokenizer(model if tokenizer is None else tokenizer, trust_remote_code=trust_remote_code)


def as_stored(model: PreTrainedModel, loaded: PreTrainedModel | None = None) -> PreTrainedModel:
    """Convert the model back to the dtype of its checkpoint (or of --dtype), in which it is saved.

    `loaded`: the model that was loaded, if the one to be saved was made from it.
    """
    import torch

    stored = getattr(model if loaded is None else loaded, "headcount_stored", None)
    return model.to(stored) if isinstance(stored, torch.dtype) else model


def spell_lora(lora: bool, rank: int | None) -> str:
    """The end of a clause on how a model was trained; empty if all weights were."""
    from headcount.pruning.lora import RANK

    return f" with LoRA (rank {rank or RANK})" if lora else ""


def spell_teacher(taught: bool, lora: bool) -> str:
    """What follows `spell_lora` in such a clause; empty if labels were learned."""
    return f" {'and' if lora else 'with'} the whole model as the teacher" if taught else ""


def say_part(console: Console) -> None:
    """What to expect of a shard whose other parts are not done yet."""
    console.print("This part is done; the part that finishes last completes the result.")


def say_saved(console: Console, out: Path) -> None:
    """Print where the result is and what to do next, on one line that can be copied."""
    following = f"headcount report {out}, or headcount table {out} --to csv"
    console.print(f"Saved in {out}. Next: {following}", markup=False, soft_wrap=True)
