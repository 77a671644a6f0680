"""The hooks that bring sessions into a model's forward pass.

All edits act at the same spot: the input of a layer's output projection, where the outputs of all heads stand
side by side. Sessions are applied in the order in which they were entered, observers see what all of them left, and
each session checks that it reached every layer that it names. The hooks are shared by all threads; each hook looks at
the sessions of its own thread or task.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.errors import NotReached
from headcount.models.anatomy import Anatomy, Attention
from headcount.trace.attention import listen
from headcount.trace.call import AttentionCall, Listener
from headcount.trace.checkpointing import repeatable
from headcount.trace.edits import LayerKey, LayerRun
from headcount.trace.guard import guard_passes
from headcount.trace.hooks import Hook
from headcount.trace.open_sessions import PassState, PassStates, Session, in_backward, no_sessions, open_sessions
from headcount.trace.uncompiled import run_uncompiled

LOCK = threading.RLock()
"""Held while hooks are registered and removed."""


class Wiring:
    """The sessions of one model and the hooks that they need."""

    def __init__(self, model: PreTrainedModel, anatomy: Anatomy) -> None:
        self.model = weakref.ref(model)
        self.anatomy, self.layout = anatomy, anatomy.layout
        self.sessions: list[Session] = []
        """Those of all threads and tasks."""
        self.remove: dict[object, Callable[[], None]] = {}
        self.states = PassStates()
        self.foreign_passes = 0
        """Passes where no session was open."""
        self.by_output: dict[nn.Module, dict[int, Attention]] = {}
        for block in anatomy:
            self.by_output.setdefault(block.output, {})[block.use] = block

    @property
    def under(self) -> PassState:
        """What is under way in this thread."""
        return self.states.state

    @property
    def active(self) -> tuple[Session, ...]:
        """The sessions that the passes of this thread or task are subject to, in the order of entry."""
        if self.under.repeating is not None:
            return self.under.repeating
        sessions = open_sessions()
        if sessions is None and self.sessions and in_backward():
            return self._whose()
        return tuple(session for session in sessions or () if session.wiring is self)

    def _whose(self) -> tuple[Session, ...]:
        """Autograd repeats a pass in a thread of its own: whose it is, is clear where one thread has sessions."""
        with LOCK:
            last = self.sessions[-1]
            if any(session not in last.chain for session in self.sessions):
                raise NotReached(
                    f"{last.purpose} cannot tell whose forward pass is recomputed in this backward pass; "
                    "checkpoint with model.gradient_checkpointing_enable(), which remembers it"
                )
            return tuple(self.sessions)

    @property
    def uses(self) -> Counter[nn.Module]:
        """How often the pass under way has used each output projection."""
        return self.under.uses

    def enter(self, session: Session) -> None:
        with LOCK:
            model = self.model()
            if not self.sessions and model is not None:
                self.remove["guard"] = guard_passes(model, self)
                self.remove["checkpointing"] = repeatable(model, self)
                self.remove["compiled"] = run_uncompiled(model, self)
            self.sessions.append(session)
            for key in session.layers:
                block = self.anatomy.attention(*key)
                if block.output not in self.remove:
                    self._hook_output(block)
                if _needs_call(session, key):
                    self._listen(block, self._keep_call, weights=False)
                if session.hears(key):
                    self._listen(block, self._keep_heard, weights=True)

    def leave(self, session: Session) -> None:
        with LOCK:
            if session in self.sessions:
                self.sessions.remove(session)
            needed = self._needed()
            for key in [key for key in self.remove if key not in needed]:
                self.remove.pop(key)()
        self.under.forget()

    @contextmanager
    def repeated(self, sessions: tuple[Session, ...], uses: Counter[nn.Module]) -> Iterator[None]:
        """A part of a pass is run once more, as these sessions had it, be they open or not."""
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
                block = self.anatomy.attention(*key)
                needed |= {block.output, block.door}
                if _needs_call(session, key):
                    needed.add((block.module, False))
                if session.hears(key):
                    needed.add((block.module, True))
        return needed

    def _hook_output(self, block: Attention) -> None:
        handle = block.output.register_forward_pre_hook(Hook(self._edit))
        self.remove[block.output] = handle.remove
        if block.door is not None and block.door not in self.remove:
            door = block.door.register_forward_pre_hook(Hook(lambda *_: self.uses.clear()))
            self.remove[block.door] = door.remove

    def _listen(self, block: Attention, listener: Listener, weights: bool) -> None:
        if (block.module, weights) not in self.remove:
            self.remove[block.module, weights] = listen(block, listener, lambda: self._hears(block, weights), weights)

    def _hears(self, block: Attention, weights: bool) -> bool:
        """Whether a session of this thread or task wants to know of the layer's calls."""
        wants = Session.hears if weights else _needs_call
        return any(wants(session, (block.stack, block.layer)) for session in self.active)

    def _concerned(self, output: nn.Module) -> tuple[Session, ...]:
        """The sessions of this thread or task that name a layer of the projection.

        A hook of another thread may come in the middle of a pass, when the uses have not been counted from its start.
        """
        layers = [(block.stack, block.layer) for block in self.by_output[output].values()]
        return tuple(session for session in self.active if any(layer in session.layers for layer in layers))

    def _keep_call(self, call: AttentionCall) -> None:
        if self._concerned(call.block.output):
            call = self._of_layer(call)
            if self._hears(call.block, weights=False):
                self.under.calls[call.layer_key] = call

    def _keep_heard(self, call: AttentionCall) -> None:
        if self._concerned(call.block.output):
            call = self._of_layer(call)
            if self._hears(call.block, weights=True):
                self.under.heard[call.layer_key] = call
                self._show_heard(call.layer_key)

    def _of_layer(self, call: AttentionCall) -> AttentionCall:
        """The call with the layer it belongs to, where one module serves several layers."""
        blocks = self.by_output[call.block.output]
        return call if len(blocks) == 1 else replace(call, block=blocks[self.uses[call.block.output]])

    def _edit(self, output: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        active = self._concerned(output)
        if not active:
            return None
        blocks = self.by_output[output]
        use = self.uses[output] if len(blocks) > 1 else 0
        self.uses[output] += 1
        block = blocks[use]
        key = (block.stack, block.layer)
        call = self.under.calls.pop(key, None)
        active = tuple(session for session in active if key in session.layers)
        if not active:
            return None
        merged, rest = args[0], args[1:]
        outputs = merged.unflatten(-1, (len(block.heads), block.head_size))
        edits = []
        for session in active:
            edit = session.edits.get(key)
            if edit is None:
                continue
            if edit.needs_call and call is None:
                raise NotReached(
                    f"{session.purpose} cannot reach {self.layout.spell_layer(*key)}: its attention does not run "
                    "through transformers' attention interface as this model is configured"
                )
            outputs = edit(outputs, call)
            edits.append(edit)
            if key not in session.observers:
                self._count(session, key)
        run = LayerRun(block, outputs, edits=tuple(edits))
        for session in active:
            if key in session.observers and session.outputs_only:
                self._show(session, run)
        if any(session.hears(key) for session in active):
            self.under.ran[key] = run
            self._show_heard(key)
        return (outputs.flatten(-2), *rest) if edits else None

    def _show_heard(self, key: LayerKey) -> None:
        """Show a layer to the observers of its attention, once both its call and its head outputs are known.

        Most families call their attention first, MPNet its output projection.
        """
        state = self.under
        if key in state.ran and key in state.heard:
            run = replace(state.ran.pop(key), call=state.heard.pop(key))
            for session in self.active:
                if session.hears(key):
                    self._show(session, run)

    def _show(self, session: Session, run: LayerRun) -> None:
        if not in_backward():  # what gradient checkpointing repeats has been seen
            session.observers[run.layer_key](run)
            self._count(session, run.layer_key)

    def _count(self, session: Session, key: LayerKey) -> None:
        if in_backward():
            return
        session.hits[key] += 1
        if self.under.in_pass:
            self.under.reached.setdefault(session, set()).add(key)
        else:
            session.apart.add(key)


def _needs_call(session: Session, key: LayerKey) -> bool:
    edit = session.edits.get(key)
    return edit is not None and edit.needs_call
