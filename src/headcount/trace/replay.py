"""Start a forward pass in the middle: the layers below the first changed one are computed once.

A pass over a batch records the output of each layer. To replay variants that begin at some layer, the layers below it
return what was recorded, and the model itself is called on a batch that holds the examples once for each variant:
masks, position embeddings, pooler and task head stay the model's own. The first changed layer runs on the plain batch
and fans out at its output projection, where the variants begin to differ.

Variants that share their first changes can be remembered in turn (`record_variants`): others that only change later
layers then start in the middle of them.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.errors import HeadcountWarning
from headcount.models.anatomy import Anatomy
from headcount.models.dispatched import is_dispatched
from headcount.models.first_position import first_position_forward
from headcount.models.plain_weights import has_packed_products
from headcount.trace.edits import LayerKey
from headcount.trace.forward_overrides import ForwardOverride, original_forward, overriding_forwards
from headcount.trace.session import session
from headcount.trace.variants import Variant, join, merge, split, tile, untile

COMPILER = ("torch._dynamo", "torch._inductor")
"""Where the errors of torch.compile are from; importing them takes a second."""
PASS_ORDER = ("encoder", "decoder")
Inputs = Mapping[str, Any]
Answer = Callable[[int, Callable[..., Any], Any, Any], Any]
Recording = list[Any]
"""The output of each layer in a pass over the batch; of the last layer None."""


class Replay:
    """Passes over one model that begin in the middle; use it as a context, so that hooks are registered once.

    `first_position`: compute the last layer at the first position alone, where the model reads no other.
    `compiled`: run the layers that no variant changes through `torch.compile`.
    """

    def __init__(
        self, model: PreTrainedModel, anatomy: Anatomy, first_position: bool = True, compiled: bool = False
    ) -> None:
        self.model, self.anatomy = model, anatomy
        blocks = [block for stack in PASS_ORDER for block in anatomy.stacks.get(stack, ())]
        self.layers: dict[nn.Module, list[int]] = {}
        """For each layer's module its numbers in the order of the pass: one module may serve several layers."""
        for number, block in enumerate(blocks):
            self.layers.setdefault(block.layer_module, []).append(number)
        self.outputs = [block.output for block in blocks]
        self.count = len(blocks)
        self.encoder_end = len(anatomy.stacks.get("encoder", ()))
        # Not where accelerate moves the inputs of a layer to its device in the layer's own `forward`.
        shorter = first_position and not is_dispatched(model)
        self.first_position = first_position_forward(model, anatomy) if shorter else None
        self.compiled: dict[int, Callable[..., Any]] = {}
        if compiled:
            for module, numbers in self.layers.items():
                self.compiled |= dict.fromkeys(numbers, self._compile(original_forward(module)))
        self.always = {"use_cache": False} if "decoder" in anatomy.stacks else {}
        self.recorded: list[Any] = []
        self.inputs: Inputs = {}
        self.size = self.rows = 0  # of the batch, and inside the layers: a multiple choice is several rows there

    def __enter__(self) -> Replay:
        self._open = session(self.model, purpose="replay")
        self._open.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def order(self, key: LayerKey) -> int:
        """The layer's number in the order of the pass: an encoder's layers first, then a decoder's."""
        block = self.anatomy.attention(*key)
        return self.layers[block.layer_module][block.use]

    def record(self, inputs: Inputs) -> Any:
        """Record a plain pass over a batch; the model's output."""
        self.inputs = inputs
        self.size = next(len(value) for value in inputs.values() if isinstance(value, Tensor))
        self.recorded = [None] * self.count

        def answer(number: int, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
            output = self._forward(number, forward)(*args, **kwargs)
            self.rows = len(output[0] if isinstance(output, tuple) else output)
            if number < self.count - 1:  # nothing starts above the last layer
                self.recorded[number] = output
            return output

        with self._answering(answer):
            return self.model(**inputs, **self.always)

    def run(self, variants: Sequence[Variant], after: Sequence[Recording] | None = None) -> Any:
        """The model's output for the recorded batch under all variants: [variant * example, ...].

        `after`: for each variant, the recording of the variant that it goes on with, by `record_variants`. The edits of
        that variant must lie below all edits of these.
        """
        return self._run(variants, after)

    def record_variants(self, variants: Sequence[Variant]) -> tuple[Any, list[Recording]]:
        """As `run`, with the recording of each variant."""
        outputs: dict[int, Any] = {}
        result = self._run(variants, None, outputs)
        recordings: list[Recording] = [list(self.recorded) for _ in variants]
        for number, output in outputs.items():
            for recording, share in zip(recordings, split(output, self.rows, len(variants)), strict=True):
                recording[number] = share
        return result, recordings

    def _run(
        self, variants: Sequence[Variant], after: Sequence[Recording] | None, keep: dict[int, Any] | None = None
    ) -> Any:
        """The output; `keep` receives that of each layer which nothing is skipped before, except the last one."""
        start = min(self.order(key) for variant in variants for key in variant)
        lowest = {key for variant in variants for key in variant if self.order(key) == start}
        shared = lowest.pop() if len(lowest) == 1 else None
        if shared is not None and (after is not None or not self._can_fan_out(shared)):
            shared = None
        edits = merge(variants, shared)
        changed = {self.order(key) for key in edits}
        times = len(variants)
        skipped: dict[int, Any] = {}

        def answer(number: int, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
            if number < start:
                # Only the last skipped layer matters, since each answer is passed to the next layer; for a start in
                # the decoder also the last one of the encoder.
                last = min(start, self.encoder_end if number < self.encoder_end else start) - 1
                if last not in skipped:
                    skipped[last] = (
                        tile(self.recorded[last], self.rows, times)
                        if after is None
                        else join([recording[last] for recording in after], self.rows)
                    )
                wiring.uses[self.outputs[number]] += 1
                return skipped[last]
            output = run_layer(number, self._forward(number, forward, plain=number not in changed), args, kwargs)
            if keep is not None and number < self.count - 1:
                keep[number] = output
            return output

        def run_layer(number: int, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
            if number != start or shared is None:
                return forward(*args, **kwargs)
            unbatched = {name: kwargs[name] for name in self.anatomy.family.unbatched if name in kwargs}
            output = forward(*untile(args, self.rows, times), **untile(kwargs, self.rows, times) | unbatched)
            if isinstance(output, tuple):  # the hidden states come first
                return (output[0].flatten(0, 1), *output[1:])
            return output.flatten(0, 1)

        with session(self.model, edits, purpose="replay") as wiring, self._answering(answer):
            return self.model(**tile(dict(self.inputs), self.size, times), **self.always)

    def _forward(self, number: int, forward: Callable[..., Any], plain: bool = False) -> Callable[..., Any]:
        """The layer's own `forward` or its replacement, compiled where nothing is changed."""
        if number == self.count - 1 and self.first_position is not None:
            return self.first_position
        compiled = self.compiled.get(number)
        return forward if compiled is None or not plain else compiled

    def _compile(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        """The compiled layer; where the compiler fails, all layers run as they are."""
        compiled = torch.compile(forward, dynamic=True)

        def run(*args: Any, **kwargs: Any) -> Any:
            if not self.compiled:
                return forward(*args, **kwargs)
            try:
                return compiled(*args, **kwargs)
            except Exception as error:
                if not type(error).__module__.startswith(COMPILER):
                    raise
                reason = str(error).strip().splitlines()[0]
                warnings.warn(f"layers run uncompiled, torch.compile failed: {reason}", HeadcountWarning, stacklevel=2)
                self.compiled = {}
                return forward(*args, **kwargs)

        return run

    def _can_fan_out(self, key: LayerKey) -> bool:
        """Whether the rest of the layer takes the wider tensor.

        Cross attention behind self-attention does not, nor do the kernels of some quantised weights.
        """
        if not self.anatomy.family.fans_out or (key[0] == "decoder" and "cross" in self.anatomy.stacks):
            return False
        return not has_packed_products(self.anatomy.block(key).layer_module)

    @contextmanager
    def _answering(self, answer: Answer) -> Iterator[None]:
        """Call `answer` instead of every layer's `forward`."""
        uses: Counter[nn.Module] = Counter()

        def override(module: nn.Module, numbers: list[int]) -> ForwardOverride:
            def call(forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
                number = numbers[uses[module] % len(numbers)]
                uses[module] += 1
                return answer(number, forward, args, kwargs)

            return call

        with overriding_forwards({module: override(module, numbers) for module, numbers in self.layers.items()}):
            yield
