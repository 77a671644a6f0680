"""Messages in the words of the command line: `max_length=5` in Python becomes `--max-length 5`."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headcount.cli.arguments import arguments_of

if TYPE_CHECKING:
    from cyclopts import App

_QUOTED = r"(?<!\w)'[^']*'(?!\w)|(?<!\w)\"[^\"]*\"(?!\w)"
"""Quoted texts and paths are left as they are."""
_LIST = r"\[(?:'[^']*'|\"[^\"]*\"|[^\]'\"])*\]"
_GIVEN = re.compile(
    rf"(?P<aside> \()?(?<![\w-])(?P<name>[a-z_]+)=(?P<value>{_LIST}|{_QUOTED}|[^\s;,:()'\"]*)(?P<end>\))?|{_QUOTED}"
)


def _items(listed: str) -> list[str]:
    try:
        return [str(item) for item in ast.literal_eval(listed)]
    except ValueError:  # nan and inf are no literals
        return listed[1:-1].split(", ")


def option_names(verb: App) -> dict[str, str]:
    """The options of a verb by their Python names."""
    names = {}
    for argument in arguments_of(verb):
        long = [name for name in argument.names if name.startswith("--")]
        if long:
            names[argument.field_info.name.rstrip("_")] = long[0]
            names |= {name[2:].replace("-", "_"): name for name in argument.negatives}
    return names


def in_options(message: str, options: Mapping[str, str]) -> str:
    """Replace `option=value` by `--option value`, if the verb has such an option.

    >>> in_options("how='mean' needs reference=: data like 'how=x'", {"how": "--how", "reference": "--reference"})
    "--how mean needs --reference: data like 'how=x'"
    >>> in_options("such as labels=['no', 'yes']", {"labels": "--labels"})
    'such as --labels no yes'
    >>> in_options("got price=[0.1, nan]", {"price": "--price"})
    'got --price 0.1 nan'
    """

    def spell(match: re.Match[str]) -> str:
        option = options.get(match["name"] or "")
        if option is None:
            return match[0]
        if match["aside"] and match["end"] and option in message:
            return ""  # the message names both
        value = match["value"]
        if value[:1] == "[":
            value = " ".join(map(shlex.quote, _items(value)))
        elif value[:1] in ("'", '"'):
            value = shlex.quote(value[1:-1])
        said = option if value in ("", "True") else f"{option} {value}"
        return f"{match['aside'] or ''}{said}{match['end'] or ''}"

    return _GIVEN.sub(spell, message)
