"""Loading and saving without transformers' progress bars: both take about a second."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import transformers


@contextmanager
def no_progress_bar() -> Iterator[None]:
    """Disable progress bars inside the context; afterwards they are as before."""
    enabled = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            transformers.utils.logging.enable_progress_bar()
