"""What happens when a pass goes through a layer: edits change its head outputs, observers are shown what all left.

All edits act at the input of an output projection, where the outputs of all heads of a layer, or all of its
feed-forward units, stand side by side. Sessions
are applied in the order in which they were entered.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from headcount.errors import NotReached
from headcount.models.anatomy import Anatomy
from headcount.models.attention import Attention
from headcount.models.feed_forward import FeedForward
from headcount.trace.call import AttentionCall
from headcount.trace.edits import LayerKey, LayerRun
from headcount.trace.open_sessions import PassState, PassStates, Session, in_backward, open_sessions

LOCK = threading.RLock()
"""Held while sessions are added or removed, and their hooks with them."""


class LayerEvents:
    """The sessions of one model, and what the hooks on its layers do for those of this thread or task."""

    def __init__(self, anatomy: Anatomy) -> None:
        self.anatomy, self.layout = anatomy, anatomy.layout
        self.sessions: list[Session] = []
        """Those of all threads and tasks."""
        self.states = PassStates()
        self.by_output: dict[nn.Module, dict[int, Attention | FeedForward]] = {}
        for block in anatomy.blocks():
            self.by_output.setdefault(block.output, {})[block.use] = block

    @property
    def state(self) -> PassState:
        """The state of the pass that is under way in this thread."""
        return self.states.state

    @property
    def uses(self) -> Counter[nn.Module]:
        """How often the pass under way has used each output projection."""
        return self.state.uses

    @property
    def active(self) -> tuple[Session, ...]:
        """The sessions that the passes of this thread or task are subject to, in the order of entry."""
        if self.state.repeating is not None:
            return self.state.repeating
        sessions = open_sessions()
        if sessions is None and self.sessions and in_backward():
            return self._of_repeated_pass()
        return tuple(session for session in sessions or () if session.wiring is self)

    def _of_repeated_pass(self) -> tuple[Session, ...]:
        """Autograd repeats a pass in a thread of its own: its sessions are clear where one thread alone has any."""
        with LOCK:
            last = self.sessions[-1]
            if any(session not in last.chain for session in self.sessions):
                raise NotReached(
                    f"{last.purpose} cannot tell whose forward pass is recomputed in this backward pass; "
                    "checkpoint with model.gradient_checkpointing_enable() (in newer transformers "
                    "activation_checkpointing_enable()), which remembers it"
                )
            return tuple(self.sessions)

    def is_needed(self, block: Attention, weights: bool) -> bool:
        """Whether a session of this thread or task needs the layer's attention calls."""
        return any(session.needs_call(block.layer_key, weights) for session in self.active)

    def keep_call(self, call: AttentionCall, weights: bool) -> None:
        """Keep an attention call for the edits of its layer or, with `weights`, for the observers."""
        if not self._concerned(call.block.output):
            return
        blocks = self.by_output[call.block.output]
        if len(blocks) > 1:  # one module serves several layers
            block = blocks[self.uses[call.block.output]]
            assert isinstance(block, Attention)  # only an attention is called
            call = replace(call, block=block)
        if self.is_needed(call.block, weights):
            (self.state.calls_for_observers if weights else self.state.calls_for_edits)[call.layer_key] = call
            self._show_complete(call.layer_key)

    def _concerned(self, output: nn.Module) -> tuple[Session, ...]:
        """The sessions of this thread or task that name a layer of the projection.

        A hook of another thread may come in the middle of a pass, when the uses have not been counted from its start.
        """
        layers = [block.layer_key for block in self.by_output[output].values()]
        return tuple(session for session in self.active if any(layer in session.layers for layer in layers))

    def edit(self, output: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        """The new arguments of an output projection; None where no session edits the layer."""
        active = self._concerned(output)
        if not active:
            return None
        blocks = self.by_output[output]
        block = blocks[self.uses[output] if len(blocks) > 1 else 0]
        self.uses[output] += 1
        key = block.layer_key
        call = self.state.calls_for_edits.pop(key, None)
        active = tuple(session for session in active if key in session.layers)
        if not active:
            return None
        merged, rest = args[0], args[1:]
        outputs = merged.unflatten(-1, (block.count, block.size))
        flattened = isinstance(block, FeedForward) and block.plan.flattened
        if flattened:
            outputs = outputs.unflatten(0, (self.state.batches[key], -1))
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
        if any(session.needs_call(key, weights=True) for session in active):
            self.state.runs[key] = run
            self._show_complete(key)
        if flattened:
            outputs = outputs.flatten(0, 1)
        return (outputs.flatten(-2), *rest) if edits else None

    def keep_batch(self, key: LayerKey, layer: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Keep the number of texts in a batch, for a feed-forward block that sees them as one sequence."""
        self.state.batches[key] = len(args[0] if args else kwargs["hidden_states"])

    def _show_complete(self, key: LayerKey) -> None:
        """Show a layer to the observers of its attention, once both its call and its head outputs are known.

        Most families call their attention first, MPNet its output projection.
        """
        runs, calls = self.state.runs, self.state.calls_for_observers
        if key in runs and key in calls:
            run = replace(runs.pop(key), call=calls.pop(key))
            for session in self.active:
                if session.needs_call(key, weights=True):
                    self._show(session, run)

    def _show(self, session: Session, run: LayerRun) -> None:
        if not in_backward():  # what gradient checkpointing repeats has been seen
            session.observers[run.layer_key](run)
            self._count(session, run.layer_key)

    def _count(self, session: Session, key: LayerKey) -> None:
        if in_backward():
            return
        session.hits[key] += 1
        if self.state.in_pass:
            self.state.reached.setdefault(session, set()).add(key)
        else:
            session.apart.add(key)
