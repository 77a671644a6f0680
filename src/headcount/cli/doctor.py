"""`headcount doctor`: versions, devices and kernels, and a check of every promise on the user's own model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.cli.options import Device, Dtype, Json, Trust, load_ready
from headcount.core.options import without_effect
from headcount.errors import ChecksFailed

if TYPE_CHECKING:
    from rich.console import Console

    from headcount.self_check.doctor import Diagnosis, ModelSupport
    from headcount.self_check.environment import Environment

COLOURS = {"passed": "green", "failed": "bold red", "skipped": "yellow"}


def doctor(
    model: str | None = None,
    /,
    *,
    trust_remote_code: Trust = False,
    device: Device = "auto",
    dtype: Dtype = "auto",
    json_: Json = False,
) -> None:
    """Say what is installed here and, of a model, whether every promise holds; for bug reports.

    Example: headcount doctor bundled:qnli

    The checks run the model on a few random inputs and take less than a minute. Exit code 1: a check failed.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:qnli.
    """
    from headcount.self_check.doctor import doctor as run

    if model is None:
        because, remedy = "no model was named", "name a model or leave it out"
        without_effect("trust_remote_code", trust_remote_code, because, remedy)
        without_effect("device", None if device == "auto" else device, because, remedy)
        without_effect("dtype", None if dtype == "auto" else dtype, because, remedy)
    loaded = None if model is None else load_ready(model, device, dtype, trust_remote_code)
    found = run(loaded)
    if json_:
        print(json.dumps(found.as_dict(), indent=1, allow_nan=False))
    else:
        _show(found, model)
    if not found.healthy:
        failed = [check.promise for check in found.checks if check.outcome == "failed"]
        raise ChecksFailed("; ".join((*found.environment.unsupported, *(f"failed: {promise}" for promise in failed))))


def _show(found: Diagnosis, model: str | None) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    _show_environment(console, found.environment)
    if found.support is None:
        console.print("\nTo check a model: headcount doctor MODEL", markup=False)
        return
    _show_support(console, found.support, str(model))
    console.print()
    for check in found.checks:
        colour = COLOURS[check.outcome]
        console.print(f"[{colour}]{check.outcome:>7}[/]  {check.promise}")
        _indented(console, check.why)


def _show_environment(console: Console, found: Environment) -> None:
    from headcount.trace.memory import spell_bytes

    console.print(", ".join(f"{name} {version}" for name, version in found.versions.items()), soft_wrap=True)
    console.print(f"Devices: {', '.join(found.devices)}; attention kernels: {', '.join(found.kernels)}", markup=False)
    free = "" if found.free_bytes is None else f", {spell_bytes(found.free_bytes)} of memory free"
    console.print(f"CPU: {found.cpu}, {found.threads} thread{'s' if found.threads > 1 else ''}{free}")
    there = [extra.name for extra in found.extras if not extra.missing]
    console.print(f"Extras installed: {', '.join(there) or 'none'}")
    for extra in found.extras:
        if extra.missing:
            console.print(
                f"  {extra.name} lacks {', '.join(extra.missing)}: {extra.command}", markup=False, soft_wrap=True
            )
    for line in found.unsupported:
        console.print(f"Not supported: {line}", style="bold red", markup=False)


def _show_support(console: Console, support: ModelSupport, model: str) -> None:
    console.print(
        f"\n{model}: {support.model_class}, {support.parameters:,} parameters, {support.dtype} on {support.device}, "
        f"attention by {support.kernel}",
        markup=False,
    )
    console.print(f"{support.heads}, {support.units}.", markup=False)
    console.print(f"Heads found {support.how.removesuffix('.')}.", markup=False)
    console.print(f"Heads can be removed: {'yes' if not support.cut else f'no; {support.cut}'}.", markup=False)


def _indented(console: Console, text: str) -> None:
    import textwrap

    for line in textwrap.wrap(text, max(40, console.width - 9), break_long_words=False):
        console.print(f"         {line}", markup=False)
