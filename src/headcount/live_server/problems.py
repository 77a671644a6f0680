"""What a client is told of an error: a status, a code and one line, without paths of this machine."""

from __future__ import annotations

import re
from pathlib import PurePath, PureWindowsPath
from typing import Any

from headcount.errors import DataProblem, HeadcountError, InvalidOption, UnknownHead
from headcount.live_server.limits import Busy, TooMuch
from headcount.live_server.worker import Overtaken
from headcount.trace.memory import is_out_of_memory

STATUS: tuple[tuple[type[HeadcountError], int, str], ...] = (
    (TooMuch, 413, "too-much"),
    (Busy, 503, "busy"),
    (Overtaken, 409, "overtaken"),
    (InvalidOption, 400, "invalid"),
    (DataProblem, 400, "invalid"),
    (UnknownHead, 400, "invalid"),
    (HeadcountError, 422, "refused"),
)
_POSIX = re.compile(r"(?<![\w:/.])~?(?:/[\w.@+~-]+){2,}/?")
_WINDOWS = re.compile(r"\b[A-Za-z]:\\[^\s'\",;]+")


def describe_problem(error: BaseException) -> tuple[int, dict[str, Any]]:
    """The status and the body for an error."""
    for kind, status, code in STATUS:
        if isinstance(error, kind):
            return status, {"error": without_paths(str(error)), "code": code}
    if is_out_of_memory(error):
        return 507, {"error": "there is not enough memory for this text; shorten it", "code": "memory"}
    return 500, {"error": f"the request failed ({type(error).__name__}); others are not affected", "code": "failed"}


def without_paths(text: str) -> str:
    """The text with the last part alone of each absolute path.

    >>> without_paths("cannot load '/home/me/models/small': no config; see https://a.org/b/c")
    "cannot load 'small': no config; see https://a.org/b/c"
    """
    text = _POSIX.sub(lambda match: PurePath(match[0]).name, text)
    return _WINDOWS.sub(lambda match: PureWindowsPath(match[0]).name, text)
