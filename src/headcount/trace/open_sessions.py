"""The sessions that are open: an intervention belongs to the thread or task that opened it.

Open sessions are kept in a context variable: a thread starts without any, an asyncio task with those that were open
where it was created. The state of a pass (which layers it has reached, what attention was called with) is kept for each
thread, since a pass never changes its thread.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from headcount.core.heads import Layout
from headcount.core.local_contexts import register_local_context
from headcount.errors import NotReached
from headcount.trace.call import AttentionCall
from headcount.trace.edits import Edit, LayerKey, LayerRun, Observer


class Session:
    """The edits and the observers of one context, and how often each of their layers was reached."""

    def __init__(
        self,
        edits: Mapping[LayerKey, Edit],
        observers: Mapping[LayerKey, Observer],
        purpose: str,
        outputs_only: bool = False,
    ) -> None:
        self.edits, self.observers, self.purpose, self.outputs_only = edits, observers, purpose, outputs_only
        self.layers = dict.fromkeys([*edits, *observers])
        self.wiring: Any = None
        """That of the model which the session is open on; None once the context has ended."""
        self.outer: tuple[Session, ...] = ()
        """The sessions that this thread or task had open when the context was opened."""
        self.hits: Counter[LayerKey] = Counter()
        self.apart: set[LayerKey] = set()
        """The layers reached by a part of the model called alone, as generation calls an encoder."""
        self.passes = 0
        self.foreign_passes_before = 0
        """The passes of other threads and tasks that had been made when the context was opened."""

    @property
    def chain(self) -> tuple[Session, ...]:
        """These and this one; not kept, since a session that refers to itself keeps its tensors until Python looks for
        such cycles."""
        return (*self.outer, self)

    def needs_call(self, key: LayerKey, weights: bool) -> bool:
        """Whether its edit of the layer or, with `weights`, its observer needs the layer's attention call."""
        if weights:
            return key in self.observers and not self.outputs_only
        return key in self.edits and self.edits[key].needs_call

    def check(self, layout: Layout, reached: Container[LayerKey]) -> None:
        """An error where one of its layers was not reached."""
        missed = [key for key in self.layers if key not in reached]
        if missed:
            changes = any(key in self.edits for key in missed)
            raise NotReached(
                f"{self.purpose} did not reach {', '.join(layout.spell_layer(*key) for key in missed)}: the forward "
                "pass did not go through the attention of these layers"
                + (", so the result would be that of the untouched model" if changes else " as this family's should")
            )

    def check_end(self, layout: Layout, foreign_passes: int) -> None:
        """At the end of the context: an error where a layer was not reached, or passes were run by others alone."""
        if self.passes:
            self.check(layout, self.hits)
        elif self.layers and foreign_passes > self.foreign_passes_before:
            raise NotReached(
                f"{self.purpose} reached no pass: those inside the context were run by another thread or task, and a "
                "context belongs to the thread or task that opened it; open it where the passes are run"
            )


@dataclass
class PassState:
    """The state of the pass over one model that is under way in one thread."""

    calls_for_edits: dict[LayerKey, AttentionCall] = field(default_factory=dict)
    calls_for_observers: dict[LayerKey, AttentionCall] = field(default_factory=dict)
    """Kept until the layer's head outputs are known."""
    runs: dict[LayerKey, LayerRun] = field(default_factory=dict)
    """Kept for observers until the layer's attention call is known."""
    batches: dict[LayerKey, int] = field(default_factory=dict)
    """The number of texts, for feed-forward blocks that see a batch as one sequence."""
    uses: Counter[nn.Module] = field(default_factory=Counter)
    """How often the pass has used each output projection."""
    in_pass: bool = False
    reached: dict[Session, set[LayerKey]] = field(default_factory=dict)
    """By session, the layers reached by the pass over the whole model that is under way."""
    repeating: tuple[Session, ...] | None = None
    """The sessions of the forward pass that gradient checkpointing repeats."""

    def forget(self) -> None:
        """Drop the tensors of a pass that has ended or failed."""
        self.in_pass = False
        self.calls_for_edits, self.calls_for_observers, self.runs = {}, {}, {}


class PassStates(threading.local):
    """The state of this thread."""

    def __init__(self) -> None:
        self.state = PassState()


_open: ContextVar[tuple[Session, ...] | None] = ContextVar("headcount_sessions", default=None)
register_local_context(_open, "a context such as hc.ablated, hc.gated or hc.observe")


def open_sessions() -> tuple[Session, ...] | None:
    """The sessions of this thread or task in the order of entry; None where none was ever opened."""
    return _open.get()


def add(session: Session) -> None:
    session.outer = _open.get() or ()
    _open.set(session.chain)


def drop(session: Session) -> None:
    # Not by a token: a context may be left in another task than it was entered in, and in any order.
    _open.set(tuple(other for other in _open.get() or () if other is not session))


@contextmanager
def no_sessions() -> Iterator[None]:
    """No session is open inside the context."""
    token = _open.set(())
    try:
        yield
    finally:
        _open.reset(token)


def in_backward() -> bool:
    """Whether autograd is running in this thread: a forward pass is then a repeated one."""
    return bool(torch._C._current_graph_task_id() != -1)
