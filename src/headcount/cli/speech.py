"""How the command line speaks: options by their own names, and every warning as one line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headcount.core.options import on_command_line
from headcount.errors import HeadcountWarning


@contextmanager
def plain_speech() -> Iterator[None]:
    """Inside, a message names options as they are typed; a warning of Headcount is one line on stderr, said once."""
    said: set[str] = set()
    with on_command_line(), warnings.catch_warnings():
        warnings.simplefilter("always", HeadcountWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, HeadcountWarning):
                usual(message, category, *where, **more)
            elif str(message) not in said:
                said.add(str(message))
                print(f"headcount: {message}", file=sys.stderr, flush=True)

        warnings.showwarning = show
        yield
