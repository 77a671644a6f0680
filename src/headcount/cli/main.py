"""`headcount`: all verbs in one program; every expected error is one line and exit code 2."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError
from cyclopts.config import Toml

import headcount
from headcount.cli.adversarial import adversarial
from headcount.cli.agreement import agreement
from headcount.cli.attribution import attribution
from headcount.cli.carriers import carriers
from headcount.cli.choose import choose
from headcount.cli.circuit import circuit
from headcount.cli.compare import compare
from headcount.cli.cost import cost
from headcount.cli.cue_heads import cue_heads
from headcount.cli.cues import cues
from headcount.cli.curve import curve
from headcount.cli.demo import demo
from headcount.cli.doctor import doctor
from headcount.cli.dynamics import dynamics
from headcount.cli.explain import explain
from headcount.cli.export import export
from headcount.cli.figure import figure
from headcount.cli.find_patterns import find_patterns
from headcount.cli.finetune import finetune
from headcount.cli.function_vectors import function_vectors
from headcount.cli.gates import gates
from headcount.cli.groups import PARAMETERS
from headcount.cli.heads import heads
from headcount.cli.hub_options import join_hub_options
from headcount.cli.importance import importance
from headcount.cli.install_completion import installer
from headcount.cli.live import live
from headcount.cli.maps import maps
from headcount.cli.measure import measure
from headcount.cli.partial import partial
from headcount.cli.paths import paths
from headcount.cli.probe import probe
from headcount.cli.prune import prune
from headcount.cli.recover import recover
from headcount.cli.refit import refit
from headcount.cli.renamed import check_renamed, check_renamed_verb
from headcount.cli.report import report
from headcount.cli.start import first_screen
from headcount.cli.sweep import sweep
from headcount.cli.table import table
from headcount.cli.warning_lines import say, warnings_as_lines
from headcount.cli.whole_numbers import check_whole_numbers
from headcount.cli.wording import in_options, option_names
from headcount.core.provenance import command
from headcount.data.number_options import check_all
from headcount.errors import ChecksFailed, HeadcountError, InvalidOption, NoModelWritten, TrainingDiverged, UnitsFailed

app = App(
    name="headcount",
    help="""Find out what every attention head of a transformer does, and prune the heads that it does not need.

    Example: headcount heads bundled:qnli
    """,
    version=headcount.__version__,
    group_parameters=PARAMETERS,
    # Flags have no --no-... and lists no --empty-...; the help says nothing of flags that are off by default.
    default_parameter=Parameter(
        negative="", show_default=lambda value: None if value is None or value is False else value
    ),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)
for verb in (
    demo,
    live,
    heads,
    doctor,
    sweep,
    measure,
    probe,
    cues,
    cue_heads,
    adversarial,
    compare,
    find_patterns,
    maps,
    finetune,
    partial,
    importance,
    gates,
    attribution,
    carriers,
    function_vectors,
    circuit,
    paths,
    curve,
    choose,
    prune,
    refit,
    recover,
    report,
    explain,
    figure,
    dynamics,
    cost,
    export,
    table,
    agreement,
):
    app.command(verb)
app.command(installer(app), name="--install-completion")


ALIASES = {"patterns": "find-patterns"}
"""Earlier names of verbs, which commands stored in studies still use."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Exit code 2: the input cannot be used; 1: training diverged, units or checks failed, or prune wrote no model.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")  # it would report every retry
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        first_screen()
        return 0
    if words[0] == "help":  # as git and pip have it
        words = [*words[1:2], "--help"]
    words[:1] = [ALIASES.get(word, word) for word in words[:1]]
    try:
        with command(shlex.join(["headcount", *words])), warnings_as_lines(_options(words)):
            words = join_hub_options(_join_values(words))
            check_renamed_verb(words)
            check_whole_numbers(words, [app[verb] for verb in _verb(words)])
            _read_config(words)
            check_renamed(words)
            _run(words)
    except (ChecksFailed, NoModelWritten, TrainingDiverged, UnitsFailed) as error:
        return _refuse(in_options(str(error), _options(words)), code=1)
    except HeadcountError as error:
        return _refuse(in_options(str(error), _options(words)))
    except OSError as error:  # a name that is too long, say
        if error.filename is None:
            raise
        return _refuse(f"cannot read or write {error.filename}: {error.strerror or error}; give another path")
    except UnusedCliTokensError as error:
        return _refuse(f"got more than is expected: {shlex.join(error.unused_tokens or ())} ({_see_help(words)})")
    except CycloptsError as error:
        return _refuse(f"{error} ({_see_help(words)})")
    finally:
        app.config = None  # the file of this call is not that of the next one in this process
    return 0


def _run(words: list[str]) -> None:
    verb, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    check_all(bound.arguments)  # before anything is loaded
    verb(*bound.args, **bound.kwargs)


def _join_values(words: list[str]) -> list[str]:
    """`--memory -4GB` as `--memory=-4GB`: no option starts with a number, so this must be a value.

    >>> _join_values(["sweep", "m", "--memory", "-4GB", "--limit", "3"])
    ['sweep', 'm', '--memory=-4GB', '--limit', '3']
    """
    joined: list[str] = []
    for word in words:
        if re.match(r"-(\d|\.\d|inf|nan)", word) and joined and re.fullmatch("--[a-z-]+", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _verb(words: list[str]) -> list[str]:
    """The verb that the command line names, if it is one."""
    return [word for word in words[:1] if word in list(app) and not word.startswith("-")]


def _see_help(words: list[str]) -> str:
    """Where the verb is explained, or what is no verb but stands in its place."""
    return " ".join(["see headcount", *(word for word in words[:1] if word in list(app)), "--help"])


def _options(words: list[str]) -> dict[str, str]:
    """The options of that verb by their Python names."""
    return {name: option for verb in _verb(words) for name, option in option_names(app[verb]).items()}


def _read_config(words: list[str]) -> None:
    """`--config FILE`: read the verb's options from a TOML file; the command line takes precedence."""
    app.config = None
    indices = [index for index, word in enumerate(words) if word == "--config" or word.startswith("--config=")]
    if not indices:
        return
    index, (word, equals, value) = indices[0], words[indices[0]].partition("=")
    files = [value] if equals else words[index + 1 : index + 2]
    if len(indices) > 1 or not files or not Path(files[0]).is_file():
        raise InvalidOption(
            f"got {' '.join([word, *files])}; expected one TOML file that exists, such as --config sweep.toml"
        )
    _check_toml(Path(files[0]))
    check_renamed(words, Path(files[0]))
    app.config = Toml(files[0], use_commands_as_keys=False, allow_unknown=False, must_exist=True)
    del words[index : index + (1 if equals else 2)]


def _check_toml(file: Path) -> None:
    try:
        tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidOption(f'--config {file} is not TOML: {reason}; expected lines such as task = "sst2"') from error


def _refuse(message: str, code: int = 2) -> int:
    say(message)
    return code


if __name__ == "__main__":
    sys.exit(main())
