"""Functions that write a study hold its lock from their first line to their last, and leave nothing behind."""

from __future__ import annotations

import inspect
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from headcount.core.damage import damages, describe_damage
from headcount.core.leftovers import clear_leftovers, clear_partial
from headcount.core.lock import locked_alone, writing
from headcount.core.manifest import NODE, is_study
from headcount.core.provenance import command
from headcount.errors import HeadcountWarning

P = ParamSpec("P")
R = TypeVar("R")


@contextmanager
def writing_study(path: str | Path | None, together: bool = False) -> Iterator[None]:
    """Hold the lock on a study (`together`: with other shards); without a path there is nothing to hold.

    What killed writers left beside the study is removed first, and what is damaged at the end is warned of. A new study
    that has no result when an error is raised is removed.
    """
    if path is None:
        yield
        return
    with writing(path, together) as outermost:
        study = Path(path)
        new = outermost and not together and not study.exists()
        if outermost:
            alone = locked_alone(path) and not together
            clear_leftovers(path, alone)
            if alone and is_study(study):
                clear_partial(study)
        try:
            yield
        except BaseException:
            if new and study.is_dir() and [child.name for child in study.iterdir()] == [NODE]:
                shutil.rmtree(study)
            raise
        if outermost and study.is_dir():
            damaged = damages(path)
            if damaged:
                warnings.warn(describe_damage(path, damaged), HeadcountWarning, stacklevel=2)


def writes_study(option: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function whose argument `option` is the study folder that it adds to, or None."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @wraps(function)
        def locked(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            name = f"{function.__module__}.{function.__qualname__}(...)"
            shared = getattr(bound.arguments.get("compute"), "shard", None) is not None
            with command(name), writing_study(bound.arguments.get(option), shared):
                return function(*args, **kwargs)

        return locked

    return decorate
