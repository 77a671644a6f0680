"""Where the program starts: from its first moment on, Ctrl-C and SIGTERM end it with one line.

Nothing heavy is imported before the handlers are in place: the command line's own imports take a fifth of a second,
torch's several.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SHOW_CURSOR = "\x1b[?25h"
"""A progress bar hides it."""


class Stopped(KeyboardInterrupt):
    """The user or the system asked the program to end: contexts are left, so that nothing half-written stays."""


def main() -> int:
    """Run the command line; 130 after Ctrl-C and 143 after SIGTERM, with one line that says what was kept."""
    words, asked = sys.argv[1:], []

    def stop(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        for one in SIGNALS:
            signal.signal(one, signal.SIG_DFL)  # a second one ends the program at once
        if _importing(frame):
            _leave(words, number)  # an exception inside an import may come out as another one, or as a warning
        raise Stopped

    def unraisable(problem: Any) -> None:
        """An exception in a finaliser goes nowhere: ask again, a moment later."""
        if isinstance(problem.exc_value, Stopped):
            signal.signal(asked[0], stop)
            signal.raise_signal(asked[0])
        else:
            sys.__unraisablehook__(problem)

    for one in SIGNALS:
        if signal.getsignal(one) != signal.SIG_IGN:  # as of a job that a script or nohup keeps out of the way
            signal.signal(one, stop)
    sys.unraisablehook = unraisable
    try:
        from headcount.cli.main import main as run

        code = run(words)
        for one in SIGNALS:
            signal.signal(one, lambda *_: os._exit(code))  # all is done: nothing is left to be stopped
        return code
    except BaseException:  # whatever an interrupted library made of the request
        if not asked:
            raise
        _leave(words, asked[0])


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _leave(words: list[str], number: int) -> NoReturn:
    """Say it and go: threads and finalisers of libraries get no chance to add tracebacks."""
    from headcount.cli.stopping import tell_stopped

    cursor = SHOW_CURSOR if sys.stderr.isatty() else ""
    sys.stdout.flush()
    sys.stderr.write(f"{cursor}headcount: {tell_stopped(words)}\n")
    sys.stderr.flush()
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
