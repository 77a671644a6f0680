"""The edits that are active on a model, and the hooks that bring them into its forward pass.

All edits act at one place: the input of a layer's output projection, where the outputs of all heads stand
side by side. Each context is a session with an edit for some layers; sessions are applied in the order in
which they were entered, and each one checks that it reached every layer that it names.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.core.heads import Layout
from headcount.errors import InvalidOption, NotReached
from headcount.models.anatomy import Anatomy, Attention, read_anatomy
from headcount.trace.allowed import attention_weights
from headcount.trace.attention import AttentionCall, Listener, listen
from headcount.trace.hooks import Hook

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
        self.hits: Counter[Place] = Counter()
        self.in_pass: set[Place] = set()
        """The layers reached by the pass over the whole model that is under way."""
        self.apart: set[Place] = set()
        """The layers reached by a part of the model called alone, as generation calls an encoder."""
        self.passes = 0

    def check(self, layout: Layout, reached: Container[Place]) -> None:
        missed = [layout.spell_layer(*place) for place in self.edits if place not in reached]
        if missed:
            raise NotReached(
                f"{self.purpose} did not reach {', '.join(missed)}: the forward pass did not go through "
                "the attention of these layers, so the result would be that of the untouched model"
            )


class Wiring:
    """The sessions of one model and the hooks that they need."""

    def __init__(self, anatomy: Anatomy) -> None:
        self.anatomy, self.layout = anatomy, anatomy.layout
        self.sessions: list[Session] = []
        self.remove: dict[object, Callable[[], None]] = {}
        self.calls: dict[Place, AttentionCall] = {}
        self.uses: Counter[nn.Module] = Counter()
        self.in_pass = False
        self.by_output: dict[nn.Module, dict[int, Attention]] = {}
        for block in anatomy:
            self.by_output.setdefault(block.output, {})[block.use] = block

    def enter(self, model: PreTrainedModel, session: Session) -> None:
        if not self.sessions:
            self._guard(model)
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
        self.sessions.remove(session)
        self.in_pass = False
        needed = self._needed()
        for key in [key for key in self.remove if key not in needed]:
            self.remove.pop(key)()
        self.calls.clear()

    def _needed(self) -> set[object]:
        """The hooks that the remaining sessions need, by their keys in `remove`."""
        needed: set[object] = {"guard"} if self.sessions else set()
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
            self.remove[block.module, weights] = listen(block, listener, weights)

    def _keep_call(self, call: AttentionCall) -> None:
        call = self._placed(call)
        self.calls[call.block.stack, call.block.layer] = call

    def _tell_listeners(self, call: AttentionCall) -> None:
        call = self._placed(call)
        for session in self.sessions:
            if session.listener is not None and (call.block.stack, call.block.layer) in session.edits:
                session.listener(call)

    def _placed(self, call: AttentionCall) -> AttentionCall:
        """The call with the layer it belongs to, where one module serves several layers."""
        blocks = self.by_output[call.block.output]
        return call if len(blocks) == 1 else replace(call, block=blocks[self.uses[call.block.output]])

    def weights(self, call: AttentionCall) -> Tensor:
        """The attention map of a call as the edits leave it."""
        weights = attention_weights(call)
        for session in self.sessions:
            edit = session.edits.get((call.block.stack, call.block.layer))
            if edit is not None:
                weights = edit.change_map(weights, call)
        return weights

    def _edit(self, output: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        blocks = self.by_output[output]
        use = self.uses[output] if len(blocks) > 1 else 0
        self.uses[output] += 1
        block = blocks[use]
        place = (block.stack, block.layer)
        call = self.calls.pop(place, None)
        active = [session for session in self.sessions if place in session.edits]
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
            session.hits[place] += 1
            (session.in_pass if self.in_pass else session.apart).add(place)
        return (outputs.flatten(-2), *rest)

    def _guard(self, model: PreTrainedModel) -> None:
        """Refuse the keyword that transformers 5 accepts and ignores, and check every session after a pass."""
        whole = weakref.ref(model)

        def before(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> None:
            for name in ("head_mask", "decoder_head_mask", "cross_attn_head_mask"):
                if kwargs.get(name) is not None:
                    raise InvalidOption(
                        f"got {name}=, which transformers 5 accepts and ignores; use headcount.gated(model, gates)"
                    )
            if module is whole():
                self.in_pass = True
                for session in self.sessions:
                    session.in_pass.clear()
                    if kwargs.get("encoder_outputs") is not None:
                        # The encoder has run before, alone and in this context; otherwise it was not reached.
                        session.in_pass |= {place for place in session.apart if place[0] == "encoder"}

        def after(*_: Any) -> None:
            self.in_pass = False
            for session in self.sessions:
                session.check(self.layout, session.in_pass)

        def passing(*_: Any) -> None:
            for session in self.sessions:
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
    """Apply the edits to every forward pass inside the context; afterwards nothing of them is left.

    `listener` hears the attention calls of the edited layers.
    """
    wiring = _wirings.get(model)
    if wiring is None:
        wiring = _wirings[model] = Wiring(read_anatomy(model))
    # A layer that has lost all of its heads has nothing to edit.
    edits = {place: edit for place, edit in edits.items() if wiring.anatomy.attention(*place).heads}
    session = Session(edits, purpose, listener)
    try:
        wiring.enter(model, session)
        yield wiring
        if session.passes:
            session.check(wiring.layout, session.hits)
    finally:
        wiring.leave(session)
        if not wiring.sessions:
            _wirings.pop(model, None)


STUDIES = "a study holds what the model itself does; leave the context, or leave out="
"""A study holds numbers of the model that its fingerprint names."""


def check_untouched(model: PreTrainedModel, why: str = STUDIES) -> None:
    """An error inside `ablated` or `gated`."""
    wiring = _wirings.get(model)
    if wiring is not None and wiring.sessions:
        raise InvalidOption(f"the model is inside ablated or gated, and {why}")
