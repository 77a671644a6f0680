"""Options that several verbs share, and how a model is brought to its device and number type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli.warning_lines import say

if TYPE_CHECKING:
    from rich.console import Console
    from transformers import PreTrainedModel

# The examples of a task, and their columns.
Task = Annotated[
    str,
    Parameter(
        help="A GLUE task (mrpc, rte, ...), or a kind: classification, regression, token-classification, "
        "multiple-choice, masked-lm, causal-lm, translation."
    ),
]
Data = Annotated[
    str,
    Parameter(
        help="Labelled examples: a parquet, csv, tsv or jsonl file, a folder with validation.*, hub:NAME, or "
        "bundled:pairs, which comes with the package."
    ),
]
Text = Annotated[
    tuple[str, ...] | None,
    Parameter(help="Text columns; source and target for a translation.", consume_multiple=True),
]
Label = Annotated[str | None, Parameter(help="Label column.")]
Labels = Annotated[
    tuple[str, ...] | None,
    Parameter(
        help="Names of the label codes 0, 1, ..., in the model's words; where its classes are LABEL_0, LABEL_1, ..., "
        "or the labels are other words than its own, the labels in the order of its classes.",
        consume_multiple=True,
    ),
]
Limit = Annotated[int | None, Parameter(help="Only N random examples, for a quick look.")]
MaxLength = Annotated[int | None, Parameter(help="Cut texts to so many tokens.")]
Seed = Annotated[int, Parameter(help="Seed of everything that is drawn.")]
# The texts that heads are looked at on.
Texts = Annotated[
    str,
    Parameter(
        help="A parquet, csv, tsv or jsonl file with a text column or two, a CoNLL-U file, bundled:pairs or "
        "bundled:sentences."
    ),
]
TextColumns = Annotated[tuple[str, ...] | None, Parameter(help="The text columns, one or two.", consume_multiple=True)]
Tagger = Annotated[
    str | None,
    Parameter(help="A token classifier (finetune can make one) that tells nouns, subjects, ... in plain texts."),
]
# How the examples are scored.
Metric = Annotated[str | None, Parameter(help="Another metric than the task's own.")]
NumBeams = Annotated[int | None, Parameter(help="Beams of generation, where texts are scored; 1 by default.")]
MaxNewTokens = Annotated[
    int | None, Parameter(help="Tokens to generate at most, where texts are scored; 128 by default.")
]
# The order in which heads go.
Order = Annotated[
    str,
    Parameter(help="Some of importance,ablation,taylor,norm,gates,random,file:PATH."),
]
Steps = Annotated[int, Parameter(help="Steps of each curve.")]
Randoms = Annotated[int | None, Parameter(help="Random orders to compare with; 3 by default.")]
Anew = Annotated[bool, Parameter(help="Compute the importance again after each step.", negative="")]
Normed = Annotated[bool, Parameter(help="Divide the importance by the norm of its layer.")]
Stack = Annotated[
    Literal["encoder", "decoder", "cross"] | None,
    Parameter(help="Only heads of this stack."),
]
# The study.
Out = Annotated[Path | None, Parameter(help="The study folder that the result goes to.")]
Study = Annotated[Path | None, Parameter(help="The study folder that the results go to.")]
Name = Annotated[str | None, Parameter(help="A name for the result, where a study holds several alike.")]
Json = Annotated[bool, Parameter(name="--json", help="Print the result as JSON.", negative="")]
Overwrite = Annotated[
    bool, Parameter(help="Replace a folder that headcount wrote; files of others in it stay.", negative="")
]
# The model, and where it runs.
Tokenizer = Annotated[
    str | None, Parameter(help="Folder or hub name of the tokenizer, where the model's own folder has none.")
]
Trust = Annotated[bool, Parameter(help="Run code that comes with the model.", negative="")]
Device = Annotated[str, Parameter(help="cpu, cuda, cuda:1, mps, or auto: a GPU where there is one.")]
Dtype = Annotated[
    Literal["float32", "bfloat16", "float16", "auto"],
    Parameter(help="dtype of the model; auto: the checkpoint's own, float32 on a CPU."),
]
BatchTokens = Annotated[int | None, Parameter(help="Tokens of a batch.")]
Shard = Annotated[str | None, Parameter(help="Only part i of n of the work, such as 2/4, into the same study.")]


def load_for_task(
    model: str,
    kind: str,
    device: str,
    dtype: str,
    untrained: bool = False,
    trust_remote_code: bool = False,
    tokenizer: str | None = None,
) -> tuple[PreTrainedModel, Any]:
    """A model whose head is used, and its tokenizer, ready to run; `untrained` puts a new head on a bare model."""
    loaded = load_ready(model, device, dtype, trust_remote_code, head=kind if untrained else None, uses_head=True)
    return loaded, find_tokenizer(model, tokenizer, trust_remote_code)


def load_model_and_tokenizer(
    model: str, device: str, dtype: str, trust_remote_code: bool = False, tokenizer: str | None = None
) -> tuple[PreTrainedModel, Any]:
    """A model on its device and in its number type, and its tokenizer."""
    loaded = load_ready(model, device, dtype, trust_remote_code)
    return loaded, find_tokenizer(model, tokenizer, trust_remote_code)


def load_ready(
    model: str,
    device: str,
    dtype: str,
    trust_remote_code: bool = False,
    head: str | None = None,
    uses_head: bool = False,
) -> PreTrainedModel:
    """A model on its device and in its number type.

    Who does not use its head is told, in a line, what the head lacks; who does refuses such a model in other words.
    """
    import torch

    from headcount.models.device import find_device
    from headcount.models.load import load_model, loading_notes

    place = torch.device(find_device(device))
    options: dict[str, Any] = {} if dtype == "auto" else {"dtype": getattr(torch, dtype)}
    loaded = load_model(model, trust_remote_code=trust_remote_code, head=head, **options)
    for note in loading_notes(model, loaded if head is None else None, uses_head):
        say(f"note: {note}")
    loaded.headcount_stored = loaded.dtype
    if dtype == "auto" and place.type == "cpu":
        loaded.float()  # half precision is for storing there, not for computing
    return loaded.to(place)


def find_tokenizer(model: str, tokenizer: str | None = None, trust_remote_code: bool = False) -> Any:
    """The model's tokenizer, or the one that was named."""
    from headcount.models.load import load_tokenizer

    return load_tokenizer(model if tokenizer is None else tokenizer, trust_remote_code=trust_remote_code)


def as_stored(model: PreTrainedModel) -> PreTrainedModel:
    """The model in the number type that its checkpoint had, or that was asked for: what is saved should not grow."""
    import torch

    stored = getattr(model, "headcount_stored", None)
    return model.to(stored) if isinstance(stored, torch.dtype) else model


def say_part(console: Console) -> None:
    """What to expect of a shard whose other parts are not done yet."""
    console.print("This part is done; the part that finishes last completes the result.")


def say_saved(console: Console, out: Path) -> None:
    """Where the result is, and what to do next: on one line, so that it can be copied, with the path as it is."""
    following = f"headcount report {out}, or headcount table {out} --to csv"
    console.print(f"Saved in {out}. Next: {following}", markup=False, soft_wrap=True)
