"""The hooks that bring sessions into a model's forward pass, registered while any session needs them.

They are shared by all threads; each hook looks at the sessions of its own thread or task (`layer_events.py`).
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from torch import nn
from transformers import PreTrainedModel

from headcount.models.anatomy import Anatomy
from headcount.models.attention import Attention
from headcount.models.feed_forward import FeedForward
from headcount.trace.attention import listen
from headcount.trace.checkpointing import repeatable
from headcount.trace.guard import guard_passes
from headcount.trace.hooks import Hook
from headcount.trace.layer_events import LOCK, LayerEvents
from headcount.trace.open_sessions import PassState, Session, no_sessions
from headcount.trace.uncompiled import run_uncompiled


class Wiring(LayerEvents):
    """The sessions of one model and the hooks that they need."""

    def __init__(self, model: PreTrainedModel, anatomy: Anatomy) -> None:
        super().__init__(anatomy)
        self.model = weakref.ref(model)
        self.remove: dict[object, Callable[[], None]] = {}
        """The hooks that are registered, by what they are for, and how to remove them."""
        self.foreign_passes = 0
        """Passes where no session was open."""

    def enter(self, session: Session) -> None:
        with LOCK:
            model = self.model()
            if not self.sessions and model is not None:
                self.remove["guard"] = guard_passes(model, self)
                self.remove["checkpointing"] = repeatable(model, self)
                self.remove["compiled"] = run_uncompiled(model, self)
            self.sessions.append(session)
            for key in session.layers:
                block = self.anatomy.block(key)
                if block.output not in self.remove:
                    self._hook_output(block)
                if isinstance(block, Attention):
                    for weights in (False, True):
                        if session.needs_call(key, weights) and (block.module, weights) not in self.remove:
                            self._listen(block, weights)

    def leave(self, session: Session) -> None:
        with LOCK:
            if session in self.sessions:
                self.sessions.remove(session)
            needed = self._needed()
            for key in [key for key in self.remove if key not in needed]:
                self.remove.pop(key)()
        self.state.forget()

    @contextmanager
    def repeated(self, sessions: tuple[Session, ...], uses: Counter[nn.Module]) -> Iterator[None]:
        """Run a part of a pass once more, as these sessions had it, be they open or not."""
        before = self.states.state
        with no_sessions():
            try:
                for session in sessions:
                    self.enter(session)
                self.states.state = PassState(uses=uses.copy(), repeating=sessions)
                yield
            finally:
                for session in sessions:
                    self.leave(session)
                self.states.state = before

    def _needed(self) -> set[object]:
        """The hooks that the remaining sessions need, by their keys in `remove`."""
        needed: set[object] = {"guard", "checkpointing", "compiled"} if self.sessions else set()
        for session in self.sessions:
            for key in session.layers:
                block = self.anatomy.block(key)
                needed |= {block.output, block.entry}
                if isinstance(block, Attention):
                    needed |= {(block.module, weights) for weights in (False, True) if session.needs_call(key, weights)}
                elif block.plan.flattened:
                    needed.add(block.layer_module)
        return needed

    def _hook_output(self, block: Attention | FeedForward) -> None:
        self.remove[block.output] = block.output.register_forward_pre_hook(Hook(self.edit)).remove
        if isinstance(block, FeedForward) and block.plan.flattened:
            hook = Hook(partial(self.keep_batch, block.layer_key))
            self.remove[block.layer_module] = block.layer_module.register_forward_pre_hook(
                hook, with_kwargs=True
            ).remove
        if block.entry is not None and block.entry not in self.remove:
            entry = block.entry.register_forward_pre_hook(Hook(lambda *_: self.uses.clear()))
            self.remove[block.entry] = entry.remove

    def _listen(self, block: Attention, weights: bool) -> None:
        keep, is_needed = partial(self.keep_call, weights=weights), partial(self.is_needed, block, weights)
        self.remove[block.module, weights] = listen(block, keep, is_needed, weights)
