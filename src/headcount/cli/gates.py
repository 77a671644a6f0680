"""`headcount gates`: which heads stay when every open gate has a price, and what each does when gates are pushed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import find_named_task, find_source_of, load_for_task, say_saved
from headcount.errors import InvalidOption

if TYPE_CHECKING:
    import xarray as xr


def gates(
    model: str,
    /,
    *,
    task: options.Task = None,
    data: options.DataOrGlue = None,
    roles: Annotated[
        bool, Parameter(help="Whether each head is facilitating, interfering or irrelevant (Nam et al. 2025).")
    ] = False,
    price: Annotated[
        str | None,
        Parameter(
            help="Prices of an open gate, in increasing order; 0.001,0.003,0.01,0.03 by default. With --roles one "
            "price, with which gates are pushed towards 1 and towards 0; 0.001 by default."
        ),
    ] = None,
    max_steps: Annotated[int, Parameter(help="Training steps for each price; with --roles for each phase.")] = 100,
    learning_rate: Annotated[float, Parameter(help="Learning rate of the gates.")] = 0.1,
    train_weights: Annotated[
        float | None,
        Parameter(help="Train the weights together with the gates, with this learning rate; the model is not saved."),
    ] = None,
    per_device_train_batch_size: Annotated[int, Parameter(help="Training batch size.")] = 32,
    seeds: Annotated[int | None, Parameter(help="With --roles: number of seeds; 3 by default.")] = None,
    randoms: Annotated[
        int | None,
        Parameter(help="With --roles: random sets of heads to compare with on held-out examples; 10 by default."),
    ] = None,
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
    """Learn a gate for every head: which heads stay open as the price rises, or with --roles what each head does.

    Example: headcount gates bundled:qnli --task qnli --data bundled:pairs --limit 64 --max-steps 20 --out study

    Without --roles, gates are closed by increasing prices (Voita et al. 2019); headcount prune --order gates removes
    the heads whose gates close first. With --roles, gates are fitted on one half of the examples and pushed towards 1
    and towards 0: a head that stays open is facilitating, one that stays closed is interfering, and one that goes
    where it is pushed is irrelevant. The held-out half then says what happens without these heads. With --out the
    gates are stored in a study; the same command shows them again and, with --roles, resumes.

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, or bundled:qnli.
    """
    from rich.console import Console

    from headcount.choosing.gates import learn_gates
    from headcount.cli.progress import show_progress

    prices = None if price is None else _read_prices(price)
    known = find_named_task(task, data, text, label, labels)
    data = find_source_of(known, data)
    loaded, loaded_tokenizer = load_for_task(model, known.kind.name, device, dtype, trust_remote_code, tokenizer)
    with show_progress("gates", "done" if roles else "steps") as progress:
        result = learn_gates(
            loaded,
            loaded_tokenizer,
            data,
            task=known,
            roles=roles,
            price=prices,
            max_steps=max_steps,
            learning_rate=learning_rate,
            train_weights=train_weights,
            per_device_train_batch_size=per_device_train_batch_size,
            seeds=seeds,
            randoms=randoms,
            stack=stack,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            progress=progress,
        )
    if json_:
        print(json.dumps(roles_json(result)) if roles else _gates_json(result))
        return
    console = Console(highlight=False)
    for note in result.attrs["notes"]:
        console.print(f"Note: {note}.")
    if roles:
        _show_roles(console, result)
    else:
        console.print(gates_table(result))
    if out is not None:
        say_saved(console, out)


def _read_prices(price: str) -> list[float]:
    try:
        return [float(part) for part in price.split(",")]
    except ValueError as error:
        raise InvalidOption(f"got price={price}; expected numbers, such as 0.001,0.01") from error


def _gates_json(result: xr.Dataset) -> str:
    return str(result.to_dataframe().dropna(subset="gate").reset_index().to_json(orient="records"))


def roles_json(result: xr.Dataset) -> dict[str, Any]:
    """Attributes, a row for each head, and a row for each role that was checked."""
    from headcount.cli.cues import records
    from headcount.core.results import as_table

    heads = as_table(result)
    heads["role"] = heads["role"].map(dict(enumerate(result["role"].attrs["names"])))
    along = [name for name, array in result.data_vars.items() if array.dims == ("checked",)]
    return {
        "attributes": result.attrs,
        "baseline": float(result["baseline"]),
        "heads": records(heads),
        "checked": records(result[along].to_dataframe().reset_index()),
        "random_sets": dict(zip(result["checked"].values, result["random_set"].values.tolist(), strict=True)),
    }


def _show_roles(console: Any, result: xr.Dataset) -> None:
    from rich.table import Table

    from headcount.story.gate_roles import COLUMNS, role_rows, role_sentences

    table = Table(*COLUMNS, title="Heads with the highest scores (spread: between seeds)", title_justify="left")
    for column in table.columns[2:]:
        column.justify, column.no_wrap = "right", True
    for row in role_rows(result):
        table.add_row(*row)
    if table.row_count:
        console.print(table)
    for sentence in role_sentences(result):
        console.print(sentence, markup=False)


def gates_table(gates: xr.Dataset, most: int = 8) -> Any:
    """A row for each price: how many gates stay open, the loss of the task, and the heads likeliest to stay open."""
    from rich.table import Table

    from headcount.core.heads import Head

    several = gates.sizes["stack"] > 1
    titles = [gates[name].attrs["long_name"] for name in ("price", "kept", "loss")]
    table = Table(*titles, "Most likely open")
    for column in table.columns[:3]:
        column.justify = "right"
    for number, price in enumerate(gates["price"].values):
        row = gates.isel(price=number)
        stacked = row["open"].where(row["gate"] > 0).stack(at=("stack", "layer", "head")).dropna("at")
        surest = stacked.sortby(stacked, ascending=False)["at"].values[:most]
        heads = [str(Head(str(stack), int(layer), int(head))) for stack, layer, head in surest]
        names = heads if several else [head.partition(".")[2] for head in heads]
        kept = int(row["kept"])
        more = f", ... ({kept} in all)" if kept > most else ""
        table.add_row(f"{price:g}", str(kept), f"{float(row['loss']):.4f}", ", ".join(names) + more)
    return table
