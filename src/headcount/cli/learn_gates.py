"""`headcount learn-gates`: which heads stay when every open gate has a price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import find_named_task, load_for_task, say_saved
from headcount.errors import InvalidOption

if TYPE_CHECKING:
    import xarray as xr


def learn_gates(
    model: str,
    /,
    *,
    task: options.Task = None,
    data: options.Data,
    strengths: Annotated[
        str, Parameter(help="Penalties for an open gate, in increasing order.")
    ] = "0.001,0.003,0.01,0.03",
    max_steps: Annotated[int, Parameter(help="Training steps for each penalty.")] = 100,
    learning_rate: Annotated[float, Parameter(help="Learning rate of the gates.")] = 0.1,
    per_device_train_batch_size: Annotated[int, Parameter(help="Training batch size.")] = 32,
    stack: options.Stack = None,
    out: options.Out = None,
    name: options.Name = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Learn a gate for every head under increasing penalties, and show which heads stay open (Voita et al. 2019).

    Example: headcount learn-gates bundled:qnli --task qnli --data bundled:pairs --limit 64 --max-steps 20 --out study

    The model itself does not change. With --out the gates are stored in a study, and the same command shows them again.
    headcount prune --order gates removes the heads whose gates close first.

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, or bundled:qnli.
    """
    from rich.console import Console

    from headcount.choosing.gates import learn_gates as run
    from headcount.cli.progress import show_progress

    try:
        penalties = [float(part) for part in strengths.split(",")]
    except ValueError as error:
        raise InvalidOption(f"got strengths={strengths}; expected numbers, such as 0.001,0.01") from error
    known = find_named_task(task, data, text, label, labels)
    loaded, loaded_tokenizer = load_for_task(model, known.kind.name, device, dtype, trust_remote_code, tokenizer)
    with show_progress("learn-gates", "steps") as progress:
        gates = run(
            loaded,
            loaded_tokenizer,
            data,
            task=known,
            strengths=penalties,
            max_steps=max_steps,
            learning_rate=learning_rate,
            per_device_train_batch_size=per_device_train_batch_size,
            stack=stack,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            progress=progress,
        )
    if json_:
        rows = gates.to_dataframe().dropna(subset="gate").reset_index()
        print(rows.to_json(orient="records"))
        return
    console = Console(highlight=False)
    for note in gates.attrs["notes"]:
        console.print(f"Note: {note}.")
    console.print(gates_table(gates))
    if out is not None:
        say_saved(console, out)


def gates_table(gates: xr.Dataset, most: int = 8) -> Any:
    """A row for each penalty: how many gates stay open, the loss of the task, and the heads likeliest to stay open."""
    from rich.table import Table

    from headcount.core.heads import Head

    several = gates.sizes["stack"] > 1
    titles = [gates[name].attrs["long_name"] for name in ("strength", "kept", "loss")]
    table = Table(*titles, "Most likely open")
    for column in table.columns[:3]:
        column.justify = "right"
    for number, penalty in enumerate(gates["strength"].values):
        row = gates.isel(strength=number)
        stacked = row["open"].where(row["gate"] > 0).stack(at=("stack", "layer", "head")).dropna("at")
        surest = stacked.sortby(stacked, ascending=False)["at"].values[:most]
        heads = [str(Head(str(stack), int(layer), int(head))) for stack, layer, head in surest]
        names = heads if several else [head.partition(".")[2] for head in heads]
        kept = int(row["kept"])
        more = f", ... ({kept} in all)" if kept > most else ""
        table.add_row(f"{penalty:g}", str(kept), f"{float(row['loss']):.4f}", ", ".join(names) + more)
    return table
