"""`headcount`: the verbs put together, and every expected error as one line and exit code 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError
from rich.console import Console

import headcount
from headcount.cli.demo import demo
from headcount.cli.heads import heads
from headcount.errors import HeadcountError

app = App(
    name="headcount",
    help="""What every attention head of a transformer does, what happens without it, and the model without it.

    Example: headcount heads path/to/model
    """,
    version=headcount.__version__,
    result_action="return_value",
)
for verb in (demo, heads):
    app.command(verb)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0, or 2 where the input cannot be used."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        app(sys.argv[1:] if arguments is None else arguments, exit_on_error=False, print_error=False)
    except HeadcountError as error:
        return _refuse(str(error))
    except CycloptsError as error:
        return _refuse(f"{_one_line(error)} (see headcount --help)")
    except KeyboardInterrupt:
        return _refuse("stopped; the same command goes on where it stopped")
    return 0


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _refuse(message: str) -> int:
    Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(f"headcount: {message}")
    return 2


if __name__ == "__main__":
    sys.exit(main())
