"""The options of every verb that can run on a cluster: --engine, --address, --workers, --gpus-per-worker."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli.groups import ENGINE

OPTIONS: dict[str, Any] = {
    "engine": Annotated[
        Literal["ray"] | None,
        Parameter(group=ENGINE, help="ray: run on the workers of a Ray cluster instead of in this process."),
    ],
    "address": Annotated[
        str | None,
        Parameter(
            group=ENGINE,
            help="The cluster (--engine ray): auto for the one that this machine belongs to, or HOST:PORT; without it "
            "Ray is started on this machine.",
        ),
    ],
    "workers": Annotated[
        int | None,
        Parameter(group=ENGINE, help="Number of workers (--engine ray); one for each GPU or each core by default."),
    ],
    "gpus_per_worker": Annotated[
        float | None,
        Parameter(
            group=ENGINE,
            help="GPUs of a worker (--engine ray): 0.5 puts two on a GPU; 1 by default, if there is a GPU.",
        ),
    ],
}


def with_engine(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb that also takes these options, and runs its units where they say."""

    @wraps(verb)
    def call(*args: Any, **kwargs: Any) -> None:
        from headcount.engines.engine import parse_engine, use_engine

        asked: dict[str, Any] = {name: kwargs.pop(name, None) for name in OPTIONS}
        with use_engine(parse_engine(**asked)):
            verb(*args, **kwargs)

    known = inspect.signature(verb, eval_str=True)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in OPTIONS.items()
    ]
    call.__signature__ = known.replace(parameters=[*known.parameters.values(), *more])  # type: ignore[attr-defined]
    call.__annotations__ = {name: each.annotation for name, each in call.__signature__.parameters.items()}  # type: ignore[attr-defined]
    return call
