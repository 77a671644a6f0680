"""`headcount compare`: how every head differs between two models."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.cli.options import load_model_and_tokenizer, load_ready, say_part, say_saved


@with_engine
def compare(
    model: str,
    other: str,
    /,
    *,
    data: options.Texts,
    out: options.Study = None,
    name: options.Name = None,
    text: options.TextColumns = None,
    limit: Annotated[int | None, Parameter(help="Use only this many randomly drawn texts.")] = 1000,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    tagger: options.Tagger = None,
    batch_tokens: options.BatchTokens = None,
    shard: options.Shard = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    trust_remote_code: options.Trust = False,
) -> None:
    """Compare every head of two models on the same texts: how similar its maps and outputs are, and what it looks at.

    Example: headcount compare bundled:pretrained bundled:qnli --data bundled:pairs --limit 40 --out study

    Parameters
    ----------
    model
        The model before, such as the pre-trained one.
    other
        The model after, such as the fine-tuned one.
    """
    from rich.console import Console
    from rich.table import Table

    from headcount.cli.measure import is_complete
    from headcount.cli.progress import show_progress
    from headcount.engines.compute import Compute
    from headcount.measures.compare import compare as run
    from headcount.story.changes import change_sentences, changed_rows

    console = Console(highlight=False)
    before, loaded_tokenizer = load_model_and_tokenizer(model, device, dtype, trust_remote_code, tokenizer)
    after = load_ready(other, device, dtype, trust_remote_code)
    with show_progress("compare", limited=True) as progress:
        compared = run(
            before,
            after,
            loaded_tokenizer,
            data,
            text=text,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            compute=Compute(batch_tokens, shard=shard),
            tagger=tagger,
            progress=progress,
        )
    if not is_complete(compared):
        say_part(console)
        return
    table = Table("measure", "heads up", "down", "largest rise", "largest fall")
    results = {key: node.to_dataset() for key, node in compared.children.items()}
    for row in changed_rows(results):
        table.add_row(*row)
    console.print(table)
    console.print("Up and down: heads whose 95 % interval of the change excludes 0.")
    for line in change_sentences(results["cosine"]):
        console.print(line)
    if out is not None:
        say_saved(console, out)
