"""The edits that are active on a model, and the hooks that bring them into its forward pass.

All edits act at one place: the input of a layer's output projection, where the outputs of all heads stand
side by side. Sessions are applied in the order in which they were entered, and each one checks that it reached every
layer that it names. The hooks are shared by all threads; each hook looks at the sessions of its own thread or task.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.errors import InvalidOption, NotReached
from headcount.models.anatomy import Anatomy, Attention, read_anatomy
from headcount.models.compiled import takes_compiled
from headcount.trace.allowed import attention_weights
from headcount.trace.attention import AttentionCall, Listener, listen
from headcount.trace.checkpointing import repeatable
from headcount.trace.hooks import Hook
from headcount.trace.sessions import (
    Edit,
    OutputEdit,
    Place,
    Session,
    Under,
    add,
    drop,
    in_backward,
    none_opened,
    opened,
)
from headcount.trace.uncompiled import run_uncompiled, tell_of_no_pass

__all__ = ["Edit", "OutputEdit", "Place", "check_untouched", "edited"]

_lock = threading.RLock()
"""Held while hooks are registered and removed."""


class Wiring:
    """The sessions of one model and the hooks that they need."""

    def __init__(self, model: PreTrainedModel, anatomy: Anatomy) -> None:
        self.model = weakref.ref(model)
        self.anatomy, self.layout = anatomy, anatomy.layout
        self.sessions: list[Session] = []
        """Those of all threads and tasks."""
        self.remove: dict[object, Callable[[], None]] = {}
        self.under = Under()
        self.strange = 0
        """Passes where no session was open."""
        self.by_output: dict[nn.Module, dict[int, Attention]] = {}
        for block in anatomy:
            self.by_output.setdefault(block.output, {})[block.use] = block

    @property
    def active(self) -> tuple[Session, ...]:
        """The sessions that the passes of this thread or task are subject to, in the order of entry."""
        if self.under.repeating is not None:
            return self.under.repeating
        found = opened()
        if found is None and self.sessions and in_backward():
            return self._whose()
        return tuple(session for session in found or () if session.wiring is self)

    def _whose(self) -> tuple[Session, ...]:
        """Autograd repeats a pass in a thread of its own: whose it is, is clear where one thread has sessions."""
        with _lock:
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
        with _lock:
            model = self.model()
            if not self.sessions and model is not None:
                self._guard(model)
                self.remove["checkpointing"] = repeatable(model, self)
                self.remove["compiled"] = run_uncompiled(model, self)
            self.sessions.append(session)
            for (stack, layer), edit in session.edits.items():
                block = self.anatomy.attention(stack, layer)
                if block.output not in self.remove:
                    self._hook_output(block)
                if edit.needs_call:
                    self._listen(block, self._keep_call, weights=False)
                if session.listener is not None:
                    self._listen(block, self._tell_listeners, weights=True)

    def leave(self, session: Session) -> None:
        with _lock:
            if session in self.sessions:
                self.sessions.remove(session)
            needed = self._needed()
            for key in [key for key in self.remove if key not in needed]:
                self.remove.pop(key)()
        self.under.in_pass = False
        self.under.calls.clear()

    @contextmanager
    def repeated(self, sessions: tuple[Session, ...], uses: Counter[nn.Module]) -> Iterator[None]:
        """A part of a pass is run once more, as these sessions had it, be they open or not."""
        under = self.under
        before = under.repeating, under.uses, under.calls, under.in_pass
        with none_opened():
            try:
                for session in sessions:
                    self.enter(session)
                under.repeating, under.uses, under.calls = sessions, uses.copy(), {}
                yield
            finally:
                for session in sessions:
                    self.leave(session)
                under.repeating, under.uses, under.calls, under.in_pass = before

    def _needed(self) -> set[object]:
        """The hooks that the remaining sessions need, by their keys in `remove`."""
        needed: set[object] = {"guard", "checkpointing", "compiled"} if self.sessions else set()
        for session in self.sessions:
            for (stack, layer), edit in session.edits.items():
                block = self.anatomy.attention(stack, layer)
                needed |= {block.output, block.door}
                if edit.needs_call:
                    needed.add((block.module, False))
                if session.listener is not None:
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
        place = (block.stack, block.layer)
        return any(
            session.listener is not None if weights else session.edits[place].needs_call
            for session in self.active
            if place in session.edits
        )

    def _keep_call(self, call: AttentionCall) -> None:
        if self.active:
            call = self._placed(call)
            if self._hears(call.block, weights=False):
                self.under.calls[call.block.stack, call.block.layer] = call

    def _tell_listeners(self, call: AttentionCall) -> None:
        if active := self.active:
            call = self._placed(call)
            for session in active:
                if session.listener is not None and (call.block.stack, call.block.layer) in session.edits:
                    session.listener(call)

    def _placed(self, call: AttentionCall) -> AttentionCall:
        """The call with the layer it belongs to, where one module serves several layers."""
        blocks = self.by_output[call.block.output]
        return call if len(blocks) == 1 else replace(call, block=blocks[self.uses[call.block.output]])

    def weights(self, call: AttentionCall) -> Tensor:
        """The attention map of a call as the edits leave it."""
        weights = attention_weights(call)
        for session in self.active:
            edit = session.edits.get((call.block.stack, call.block.layer))
            if edit is not None:
                weights = edit.change_map(weights, call)
        return weights

    def _edit(self, output: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        active = self.active
        if not active:
            return None
        blocks = self.by_output[output]
        use = self.uses[output] if len(blocks) > 1 else 0
        self.uses[output] += 1
        block = blocks[use]
        place = (block.stack, block.layer)
        call = self.under.calls.pop(place, None)
        active = tuple(session for session in active if place in session.edits)
        if not active:
            return None
        merged, rest = args[0], args[1:]
        outputs = merged.unflatten(-1, (len(block.heads), block.head_size))
        for session in active:
            edit = session.edits[place]
            if edit.needs_call and call is None:
                raise NotReached(
                    f"{session.purpose} cannot reach {self.layout.spell_layer(*place)}: its attention does not run "
                    "through transformers' attention interface as this model is configured"
                )
            outputs = edit(outputs, call)
            self._count(session, place)
        return (outputs.flatten(-2), *rest)

    def _count(self, session: Session, place: Place) -> None:
        if in_backward():
            return
        session.hits[place] += 1
        if self.under.in_pass:
            self.under.reached.setdefault(session, set()).add(place)
        else:
            session.apart.add(place)

    def _guard(self, model: PreTrainedModel) -> None:
        """Refuse the keyword that transformers 5 accepts and ignores, and check every session after a pass."""

        # A hook may meet a pass of another thread while it is being registered: it then comes without the keywords.
        def before(module: nn.Module, args: Any, kwargs: Mapping[str, Any] | None = None) -> None:
            active, kwargs = self.active, kwargs or {}
            if not active:
                return
            for name in ("head_mask", "decoder_head_mask", "cross_attn_head_mask"):
                if kwargs.get(name) is not None:
                    raise InvalidOption(
                        f"got {name}=, which transformers 5 accepts and ignores; use headcount.gated(model, gates)"
                    )
            if module is self.model() and not in_backward():
                self.under.in_pass = True
                # An encoder that has run before, alone and in this context, has been reached.
                given = kwargs.get("encoder_outputs") is not None
                self.under.reached = {
                    session: {place for place in session.apart if given and place[0] == "encoder"} for session in active
                }

        def after(*_: Any) -> None:
            if not in_backward():
                self.under.in_pass = False
                for session in self.active:
                    session.check(self.layout, self.under.reached.get(session, ()))
                self.under.reached = {}

        def passing(*_: Any) -> None:
            if not in_backward():
                active = self.active
                self.strange += not active
                for session in active:
                    session.passes += 1

        handles = [model.register_forward_hook(Hook(after))]
        # A part of the model can be called alone: its first layer tells that a pass was made.
        for layers in self.anatomy.stacks.values():
            handles.append(layers[0].layer_module.register_forward_pre_hook(Hook(passing)))
        for module in {id(model): model, id(model.base_model): model.base_model}.values():
            handles.append(module.register_forward_pre_hook(Hook(before), with_kwargs=True))

        def remove() -> None:
            for handle in handles:
                handle.remove()

        self.remove["guard"] = remove


_wirings: WeakKeyDictionary[PreTrainedModel, Wiring] = WeakKeyDictionary()


@contextmanager
def edited(
    model: PreTrainedModel, edits: Mapping[Place, Edit], purpose: str, listener: Listener | None = None
) -> Iterator[Wiring]:
    """Apply the edits to every forward pass that this thread or task runs inside the context.

    Afterwards nothing of them is left. `listener` hears the attention calls of the edited layers.
    """
    with _lock:
        wiring = _wirings.get(model)
        if wiring is None:
            wiring = _wirings[model] = Wiring(model, read_anatomy(model))
        # A layer that has lost all of its heads has nothing to edit.
        edits = {place: edit for place, edit in edits.items() if wiring.anatomy.attention(*place).heads}
        session = Session(edits, purpose, listener)
        session.strange_before = wiring.strange
    try:
        session.wiring = wiring
        wiring.enter(session)
        add(session)
        yield wiring
        session.check_end(wiring.layout, wiring.strange)
        if session.edits and not session.passes:
            tell_of_no_pass(purpose)
    finally:
        session.wiring = None
        drop(session)
        with _lock:
            wiring.leave(session)
            if not wiring.sessions and _wirings.get(model) is wiring:
                del _wirings[model]


STUDIES = "a study holds what the model itself does; leave the context, or leave out="
"""A study holds numbers of the model that its fingerprint names."""


@takes_compiled
def check_untouched(model: PreTrainedModel, why: str = STUDIES) -> None:
    """An error inside `ablated` or `gated`."""
    wiring = _wirings.get(model)
    if wiring is not None and wiring.active:
        raise InvalidOption(f"the model is inside ablated or gated, and {why}")
