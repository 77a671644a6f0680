"""Which edits are active here: an intervention belongs to the thread or task that opened it.

Each context is a session with an edit for some layers. The sessions that are open stand in a context variable: a thread
starts without any, an asyncio task with those that were open where it was created. What a pass leaves behind on its way
(which layers it has reached, what attention was called with) is kept for each thread, since a pass never changes it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from headcount.core.heads import Layout
from headcount.errors import NotReached
from headcount.trace.attention import AttentionCall, Listener

Place = tuple[str, int]
"""A stack and a layer."""


class Edit(Protocol):
    """Changes the head outputs of one layer."""

    needs_call: bool
    """Whether it needs to know what the attention was called with."""

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        """The new outputs for `outputs` [B, Q, heads, size], which must not be changed in place."""
        ...

    def change_map(self, weights: Tensor, call: AttentionCall) -> Tensor:
        """What becomes of the layer's attention map [B, heads, Q, K]; most edits leave it as it is."""
        ...


class OutputEdit:
    """Base of the edits that need nothing but the head outputs."""

    needs_call = False

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        raise NotImplementedError

    def change_map(self, weights: Tensor, call: AttentionCall) -> Tensor:
        return weights


class Session:
    """The edits of one context, who listens to its attention calls, and how often each edit was applied."""

    def __init__(self, edits: Mapping[Place, Edit], purpose: str, listener: Listener | None = None) -> None:
        self.edits, self.purpose, self.listener = edits, purpose, listener
        self.wiring: Any = None
        """Of the model that it is open on; None once the context has ended."""
        self.chain: tuple[Session, ...] = ()
        """The sessions that this thread or task had open when the context was opened, and this one."""
        self.hits: Counter[Place] = Counter()
        self.apart: set[Place] = set()
        """The layers reached by a part of the model called alone, as generation calls an encoder."""
        self.passes = 0
        self.strange_before = 0
        """The passes of other threads and tasks that had been made when the context was opened."""

    def check(self, layout: Layout, reached: Container[Place]) -> None:
        missed = [layout.spell_layer(*place) for place in self.edits if place not in reached]
        if missed:
            raise NotReached(
                f"{self.purpose} did not reach {', '.join(missed)}: the forward pass did not go through "
                "the attention of these layers, so the result would be that of the untouched model"
            )

    def check_end(self, layout: Layout, strange: int) -> None:
        """At the end of the context: every layer was reached, and no pass was run where the context does not hold."""
        if self.passes:
            self.check(layout, self.hits)
        elif self.edits and strange > self.strange_before:
            raise NotReached(
                f"{self.purpose} reached no pass: those inside the context were run by another thread or task, and a "
                "context belongs to the thread or task that opened it; open it where the passes are run"
            )


class Under(threading.local):
    """What is under way on one model in this thread."""

    def __init__(self) -> None:
        self.calls: dict[Place, AttentionCall] = {}
        self.uses: Counter[nn.Module] = Counter()
        self.in_pass = False
        self.reached: dict[Session, set[Place]] = {}
        """By session, the layers reached by the pass over the whole model that is under way."""
        self.repeating: tuple[Session, ...] | None = None
        """The sessions of the forward pass that gradient checkpointing repeats."""


_open: ContextVar[tuple[Session, ...] | None] = ContextVar("headcount_sessions", default=None)


def opened() -> tuple[Session, ...] | None:
    """The sessions of this thread or task in the order of entry; None where none was ever opened."""
    return _open.get()


def add(session: Session) -> None:
    session.chain = (*(_open.get() or ()), session)
    _open.set(session.chain)


def drop(session: Session) -> None:
    # Not by a token: a context may be left in another task than it was entered in, and in any order.
    _open.set(tuple(one for one in _open.get() or () if one is not session))


@contextmanager
def none_opened() -> Iterator[None]:
    """No session is open here for a while."""
    token = _open.set(())
    try:
        yield
    finally:
        _open.reset(token)


def in_backward() -> bool:
    """Whether autograd is running in this thread: a forward pass is then the repetition of one."""
    return bool(torch._C._current_graph_task_id() != -1)
