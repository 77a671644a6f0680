"""`headcount curve`: the score as more and more heads are removed."""

from __future__ import annotations

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.cli.options import find_named_task, find_source_of, load_for_task, say_saved


@with_engine
def curve(
    model: str,
    /,
    *,
    task: options.Task = None,
    data: options.DataOrGlue = None,
    by: options.Unit = "head",
    order: options.Order = "importance,random",
    steps: options.Steps = 10,
    randoms: options.Randoms = None,
    anew: options.Anew = False,
    normed: options.Normed = True,
    stack: options.Stack = None,
    metric: options.Metric = None,
    num_beams: options.NumBeams = None,
    max_new_tokens: options.MaxNewTokens = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    out: options.Out = None,
    name: options.Name = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Score a task as more and more heads are removed, in several orders.

    Example: headcount curve bundled:qnli --task qnli --data bundled:pairs --steps 2 --randoms 1 --out study

    One half of the examples orders the heads, the other half scores every step. An interrupted run resumes when the
    same command is run again with --out. Curves of feed-forward units, alone or with heads, come from headcount choose
    --what both (or units), and from headcount prune with the same options.

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, or bundled:qnli.
    """
    from rich.console import Console

    from headcount.choosing.curves import curve as run
    from headcount.cli.choose import curve_heading, curve_table
    from headcount.cli.progress import show_progress
    from headcount.core.results import as_table

    known = find_named_task(task, data, text, label, labels)
    data = find_source_of(known, data)
    loaded, loaded_tokenizer = load_for_task(model, known.kind.name, device, dtype, trust_remote_code, tokenizer)
    with show_progress("curve", "examples") as progress:
        curves = run(
            loaded,
            loaded_tokenizer,
            data,
            order,
            task=known,
            steps=steps,
            by=by,
            randoms=randoms,
            anew=anew,
            normed=normed,
            stack=stack,
            metric=metric,
            generate={"num_beams": num_beams, "max_new_tokens": max_new_tokens},
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            progress=progress,
        )
    if json_:
        print(as_table(curves).to_json(orient="records"))
        return
    console = Console(highlight=False)
    console.print(curve_heading(curves))
    console.print(curve_table(curves, str(curves["order"].values[0])))
    if out is not None:
        say_saved(console, out)
