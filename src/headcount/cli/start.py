"""`headcount` without a word: what it is, the three commands to try first, and where the others are."""

from __future__ import annotations

import headcount

TRY = (
    ("headcount demo --quick", "Analyse all heads of the bundled BERT: a minute or two, no network needed."),
    ("headcount explain L5H1 demo-out", "Read everything that the demo found out about one head."),
    ("headcount doctor MODEL", "Check your own model, a folder or a name on the Hugging Face hub."),
)
MORE = (
    ("headcount --help", "all commands"),
    ("headcount sweep --help", "one of them, with an example that runs"),
    ("headcount --install-completion", "complete commands and options with Tab"),
)


def first_screen() -> None:
    """Print it."""
    from rich.console import Console

    console = Console(highlight=False)
    console.print(
        f"[bold]Headcount {headcount.__version__}[/]\n"
        "What every attention head of a transformer does, what happens without it, and\n"
        "the model without the heads it does not need.\n\n"
        "[bold]Try first[/]"
    )
    for command, what in TRY:
        console.print(f"  [cyan]{command}[/]", soft_wrap=True)
        console.print(f"      {what}", soft_wrap=True)
    console.print("\n[bold]And then[/]")
    for command, what in MORE:
        console.print(f"  [cyan]{command:<32}[/]{what}", soft_wrap=True)
