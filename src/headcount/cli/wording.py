"""Messages in the words of the command line: `max_length=5` of the Python interface is `--max-length 5` here."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts import App

_QUOTED = r"(?<!\w)'[^']*'(?!\w)|(?<!\w)\"[^\"]*\"(?!\w)"
"""What a message quotes, a text of the data or a path, is left as it is."""
_LIST = r"\[(?:'[^']*'|\"[^\"]*\"|[^\]'\"])*\]"
_GIVEN = re.compile(
    rf"(?P<aside> \()?(?<![\w-])(?P<name>[a-z_]+)=(?P<value>{_LIST}|{_QUOTED}|[^\s;,:()'\"]*)(?P<end>\))?|{_QUOTED}"
)


def option_names(verb: App) -> dict[str, str]:
    """The options of a verb by the names of their Python parameters."""
    found = {}
    for argument in verb.assemble_argument_collection():
        long = [name for name in argument.names if name.startswith("--")]
        if long:
            found[argument.field_info.name.rstrip("_")] = long[0]
            found |= {name[2:].replace("-", "_"): name for name in argument.negatives}
    return found


def in_options(message: str, options: Mapping[str, str]) -> str:
    """The message with `--option value` instead of `option=value`, where the verb has such an option.

    >>> in_options("how='mean' needs reference=: data like 'how=x'", {"how": "--how", "reference": "--reference"})
    "--how mean needs --reference: data like 'how=x'"
    >>> in_options("such as labels=['no', 'yes']", {"labels": "--labels"})
    'such as --labels no yes'
    """

    def spell(found: re.Match[str]) -> str:
        option = options.get(found["name"] or "")
        if option is None:
            return found[0]
        if found["aside"] and found["end"] and option in message:
            return ""  # the message names both
        value = found["value"]
        if value[:1] == "[":
            value = " ".join(shlex.quote(str(item)) for item in ast.literal_eval(value))
        elif value[:1] in ("'", '"'):
            value = shlex.quote(value[1:-1])
        said = option if value in ("", "True") else f"{option} {value}"
        return f"{found['aside'] or ''}{said}{found['end'] or ''}"

    return _GIVEN.sub(spell, message)
