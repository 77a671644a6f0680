"""Loading and saving take a second: without transformers' progress bars, which would stand in every output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import transformers


@contextmanager
def no_progress_bar() -> Iterator[None]:
    """No bar inside; afterwards as it was."""
    shown = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers.utils.logging.enable_progress_bar()
