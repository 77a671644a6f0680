"""The groups of options in a verb's help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclopts import Group
from cyclopts.help import DefaultFormatter, HelpEntry
from cyclopts.help.specs import ColumnSpec, NameRenderer, get_default_parameter_columns

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

NAME_WIDTH = len("--gradient-accumulation-steps INT")


def _columns(console: Console, options: ConsoleOptions, entries: list[HelpEntry]) -> tuple[ColumnSpec, ...]:
    """The columns of an option's help, wide enough that no name is broken at 80 columns."""
    renderer = NameRenderer(max_width=NAME_WIDTH)
    names = ColumnSpec(renderer, header="Option", style="cyclopts.name", max_width=NAME_WIDTH)
    columns = get_default_parameter_columns(console, options, entries)
    return tuple(names if column.header == "Option" else column for column in columns)


def _group(title: str) -> Group:
    return Group.create_ordered(title, help_formatter=DefaultFormatter(column_specs=_columns))


PARAMETERS = Group("Parameters", help_formatter=DefaultFormatter(column_specs=_columns))
FIRST = _group("Task, data and output")
SIZE = _group("How small: one of these")
ORDER = _group("Heads in an order (with --drop, --keep or --tolerance)")
BUDGET = _group("Heads and units to a budget")
RECOVERY = _group("Recovery")
ENGINE = Group("Ray: several GPUs or machines", help_formatter=DefaultFormatter(column_specs=_columns))
