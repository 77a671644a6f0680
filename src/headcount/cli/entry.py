"""The entry point of the program: Ctrl-C and SIGTERM end it with one line, from the first moment on.

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
"""Progress bars hide the cursor."""


class Stopped(KeyboardInterrupt):
    """The user or the system asked the program to end; as it unwinds, contexts remove what is half-written."""


def main() -> int:
    """Run the command line; 130 after Ctrl-C and 143 after SIGTERM, with one line that says what was kept."""
    words, asked = sys.argv[1:], []

    def stop(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)  # a second one ends the program at once
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

    for each in SIGNALS:
        if signal.getsignal(each) != signal.SIG_IGN:  # nohup, and scripts for their background jobs, ignore them
            signal.signal(each, stop)
    sys.unraisablehook = unraisable
    try:
        from headcount.cli.main import main as run

        code = run(words)
        for each in SIGNALS:
            signal.signal(each, lambda *_: os._exit(code))  # everything is done
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
    """Print the line and exit at once, before threads and finalisers of libraries can add tracebacks."""
    from headcount.cli.stopping import stopped_line

    cursor = SHOW_CURSOR if sys.stderr.isatty() else ""
    sys.stdout.flush()
    sys.stderr.write(f"{cursor}headcount: {stopped_line(words)}\n")
    sys.stderr.flush()
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
