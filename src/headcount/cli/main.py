"""`headcount`: the verbs put together, and every expected error as one line and exit code 2."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from cyclopts import App, CycloptsError
from cyclopts.config import Toml
from rich.console import Console

import headcount
from headcount.cli.agreement import agreement
from headcount.cli.compare import compare
from headcount.cli.cost import cost
from headcount.cli.demo import demo
from headcount.cli.dynamics import dynamics
from headcount.cli.export import export
from headcount.cli.figure import figure
from headcount.cli.finetune import finetune
from headcount.cli.heads import heads
from headcount.cli.importance import importance
from headcount.cli.maps import maps
from headcount.cli.measure import measure
from headcount.cli.patterns import patterns
from headcount.cli.prune import prune
from headcount.cli.report import report
from headcount.cli.sweep import sweep
from headcount.cli.table import table
from headcount.errors import HeadcountError, InvalidOption

app = App(
    name="headcount",
    help="""What every attention head of a transformer does, what happens without it, and the model without it.

    Example: headcount heads bundled:qnli
    """,
    version=headcount.__version__,
    result_action="return_value",
)
for verb in (
    demo,
    heads,
    sweep,
    measure,
    compare,
    patterns,
    maps,
    finetune,
    importance,
    prune,
    report,
    figure,
    dynamics,
    cost,
    export,
    table,
    agreement,
):
    app.command(verb)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0, or 2 where the input cannot be used."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        _read_config(words)
        app(words, exit_on_error=False, print_error=False)
    except HeadcountError as error:
        return _refuse(str(error))
    except OSError as error:  # a name that is too long, say
        if error.filename is None:
            raise
        return _refuse(f"cannot read or write {error.filename}: {error.strerror or error}; give another place")
    except CycloptsError as error:
        return _refuse(f"{_one_line(error)} (see headcount --help)")
    except KeyboardInterrupt:
        return _refuse("stopped; the same command goes on where it stopped")
    return 0


def _read_config(words: list[str]) -> None:
    """`--config FILE`: the verb's options from a TOML file; what stands on the command line comes first."""
    app.config = None
    places = [place for place, word in enumerate(words) if word == "--config" or word.startswith("--config=")]
    if not places:
        return
    place, (word, equals, file) = places[0], words[places[0]].partition("=")
    given = [file] if equals else words[place + 1 : place + 2]
    if len(places) > 1 or not given or not Path(given[0]).is_file():
        raise InvalidOption(
            f"got {' '.join([word, *given])}; expected one TOML file that exists, such as --config sweep.toml"
        )
    _check_toml(Path(given[0]))
    app.config = Toml(given[0], use_commands_as_keys=False, allow_unknown=False, must_exist=True)
    del words[place : place + (1 if equals else 2)]


def _check_toml(file: Path) -> None:
    try:
        tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidOption(f'--config {file} is not TOML: {reason}; expected lines such as task = "sst2"') from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _refuse(message: str) -> int:
    Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(f"headcount: {message}")
    return 2


if __name__ == "__main__":
    sys.exit(main())
