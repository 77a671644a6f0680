"""The forward passes of a sweep: for each batch the plain pass once, then all variants from their first layer on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel

from headcount.ablation.choices import Choices
from headcount.ablation.plan import Nested, SweepPlan
from headcount.ablation.replacements import make_edit
from headcount.data.batches import collate
from headcount.data.encode import Encodings
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.language import Language
from headcount.data.kinds.outputs import locate_not_finite, logits_of
from headcount.engines.run import Arrays
from headcount.engines.workers import in_caller
from headcount.errors import HeadcountError, NotFinite
from headcount.models.anatomy import Anatomy
from headcount.models.dispatched import input_device, without_gradients
from headcount.trace.late_logits import LateLogits
from headcount.trace.memory import try_in_memory
from headcount.trace.not_finite import NotFiniteRow, not_finite
from headcount.trace.replay import Recording, Replay
from headcount.trace.session import session
from headcount.trace.variants import Variant, merge, tile


def _quick_kernels(device: torch.device) -> AbstractContextManager[None]:
    """On a GPU without cuDNN's attention, which plans anew for every shape of a batch and is slower on short texts."""
    if device.type != "cuda":
        return nullcontext()
    return sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])


class _Finite(LogitsProcessor):  # type: ignore[misc]
    """Stops generation where a logit is NaN or infinite: the text would look like any other."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        bad = (scores.isnan() | (scores == float("inf"))).any(-1)  # minus infinity: a token that is ruled out
        if bool(bad.any()):
            raise NotFiniteRow(self.model, int(bad.nonzero()[0]), "the scores of the next token are")
        return scores


@dataclass
class Runner:
    """Runs a plan; `generate` holds the options of generation where texts are scored."""

    model: PreTrainedModel
    tokenizer: Any
    anatomy: Anatomy
    choices: Choices
    plan: SweepPlan
    kind: Kind
    encodings: Encodings
    order: np.ndarray
    how: str
    means: dict[str, Tensor] | None = None
    compiled: bool = False
    generate: dict[str, Any] | None = None
    ids: np.ndarray | None = None
    """The names of the examples by their rows, for errors."""
    tick: Callable[[float], None] = lambda share: None
    late: LateLogits | None = None
    """For language models: logits are computed later, of the labelled tokens alone."""

    def __post_init__(self) -> None:
        self.variants: list[Variant] = [
            {
                key: make_edit(self.how, self.anatomy.attention(*key), numbers, self.means)
                for key, numbers in heads.by_layer().items()
            }
            for heads in self.choices.sets
        ]
        self.shapes = self.kind.output_shapes(self.model, self.encodings.rows)
        self.padding = self.tokenizer.pad_token_id
        if self.padding is None:
            self.padding = self.tokenizer.eos_token_id or 0
        self.own = threading.local()

    @property
    def replay(self) -> Replay:
        """This thread's own: a replay records a batch."""
        if not hasattr(self.own, "replay"):
            self.own.replay = Replay(self.model, self.anatomy, compiled=self.compiled)
        replay: Replay = self.own.replay
        return replay

    def split(self, unit: int) -> list[list[int]]:
        """The rows of each batch of a unit."""
        start, stop = self.plan.units[unit]
        return [list(range(a, b)) for a, b in self.plan.batches if start <= a < stop]

    def run(self, rows: list[int]) -> tuple[Arrays, Arrays]:
        """A batch's outputs: of the baseline [example, ...], and of the choices [choice, example, ...]."""
        with without_gradients(self.model), _quick_kernels(input_device(self.model)), self.replay:
            return self._batch(rows)

    def _batch(self, rows: list[int], width: int | None = None) -> tuple[Arrays, Arrays]:
        """A batch; where the device runs out of memory, its halves, and in the end fewer variants at once."""
        run = self._generate if self.generate is not None else self._replay
        outputs = try_in_memory(lambda: run(rows, width))
        if outputs is not None:
            return outputs
        if len(rows) > 1:
            middle = len(rows) // 2
            return join_batches([self._batch(rows[:middle], width), self._batch(rows[middle:], width)])
        widest = self.plan.widest
        smaller = (width or widest) // 2
        if smaller < 1:
            raise HeadcountError("the device has no memory for one text and one variant; take another device")
        return self._batch(rows, smaller)

    def _replay(self, rows: list[int], width: int | None) -> tuple[Arrays, Arrays]:
        batch = self._rows(rows)
        inputs, labels = self.kind.inputs(self.model, batch), batch["labels"]
        with self._postponed():
            recorded = self.replay.record(inputs)
        baseline = self._reduce(recorded, labels)
        outputs: dict[str, list[Any]] = {key: [value] * len(self.variants) for key, value in baseline.items()}
        plan = self.plan if width is None else self.plan.narrowed(width)
        ticks = len(rows) / max(1, plan.pass_count)

        def keep(numbers: Sequence[int], result: Any) -> None:
            for key, tensor in self._reduce(result, tile(labels, len(rows), len(numbers))).items():
                for number, share in zip(numbers, tensor.chunk(len(numbers)), strict=True):
                    outputs[key][number] = share
            in_caller(self.tick, ticks)

        for _, numbers in plan.passes:
            with self._postponed():
                result = self.replay.run([self.variants[number] for number in numbers])
            keep(numbers, result)
            del result  # the next pass needs its memory
        for nested in plan.nested:
            self._replay_nested(nested, keep)
        whole = {key: value.cpu().numpy() for key, value in baseline.items()}
        variants = {
            key: torch.stack(values).cpu().numpy() if values else whole[key][None][:0]
            for key, values in outputs.items()
        }
        self._check(rows, whole, variants)
        return whole, variants

    def _replay_nested(self, nested: Nested, keep: Callable[[Sequence[int], Any], None]) -> None:
        """The passes that are remembered, and those that start in the middle of them."""
        recordings: dict[int, Recording] = {}
        for _, numbers in nested.firsts:
            with self._postponed():
                result, recorded = self.replay.record_variants([self.variants[number] for number in numbers])
            recordings |= dict(zip(numbers, recorded, strict=True))
            keep(numbers, result)
        for _, pairs in nested.passes:
            later = [
                {key: edit for key, edit in self.variants[number].items() if key not in self.variants[first]}
                for number, first in pairs
            ]
            with self._postponed():
                result = self.replay.run(later, [recordings[first] for _, first in pairs])
            keep([number for number, _ in pairs], result)

    def _postponed(self) -> AbstractContextManager[None]:
        return nullcontext() if self.late is None else self.late.postponed()

    def _reduce(self, result: Any, labels: Tensor) -> dict[str, Tensor]:
        """What is kept of a model's result, which holds states in place of logits where these come later."""
        if self.late is None:
            return self.kind.reduce(result, labels, self.shapes)
        assert isinstance(self.kind, Language)
        return self.kind.reduce_late(logits_of(result), self.late.project, labels)

    def _check(self, rows: list[int], baseline: Arrays, variants: Arrays) -> None:
        """An error where an output is not finite: the score may look good all the same."""
        example = locate_not_finite(baseline)
        if example is not None:
            raise self._not_finite(rows[example[0]], None)
        entry = locate_not_finite(variants, axes=2)
        if entry is not None:
            raise self._not_finite(rows[entry[1]], entry[0])

    def _not_finite(self, row: int, variant: int | None) -> NotFinite:
        """The error for the outputs of one example, of the whole model or of a variant."""
        inputs = self.kind.inputs(self.model, self._rows([row]))
        name = self.order[row] if self.ids is None else self.ids[self.order[row]]
        without = "" if variant is None else f" without {self.choices.names()[variant]}"
        with session(self.model, {} if variant is None else merge([self.variants[variant]]), purpose="the sweep"):
            return not_finite(self.model, self.anatomy, inputs, name, f"the model's outputs{without} are")

    def _rows(self, rows: list[int]) -> dict[str, Tensor]:
        return collate([self.encodings.rows[self.order[row]] for row in rows], self.padding, input_device(self.model))

    def _generate(self, rows: list[int], width: int | None) -> tuple[Arrays, Arrays]:
        """The texts of all variants, generated side by side in one batch."""
        inputs = self.kind.prompt(self.model, self._rows(rows))
        baseline = self._texts(inputs, rows, [])[0]
        generated = [baseline] * len(self.variants)
        passes = (self.plan if width is None else self.plan.narrowed(width)).passes
        for _, numbers in passes:
            for number, texts in zip(numbers, self._texts(inputs, rows, numbers), strict=True):
                generated[number] = texts
            in_caller(self.tick, len(rows) / len(passes))
        return {"texts": np.array(baseline, dtype=object)}, {"texts": np.array(generated, dtype=object)}

    def _texts(self, inputs: dict[str, Tensor], rows: list[int], numbers: Sequence[int]) -> list[list[str]]:
        """The texts of the variants with these numbers, or of the whole model."""
        variants = [self.variants[number] for number in numbers]
        size, times = len(inputs["input_ids"]), max(1, len(variants))
        options = {**(self.generate or {}), "logits_processor": LogitsProcessorList([_Finite(self.model)])}
        try:
            with session(self.model, merge(variants), purpose="the sweep"):
                tokens = self.model.generate(**tile(inputs, size, times), **options)
        except NotFiniteRow as error:
            variant, row = divmod(error.row // options["num_beams"], size)
            raise self._not_finite(rows[row], numbers[variant] if numbers else None) from error
        texts = self.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return [texts[number * size : (number + 1) * size] for number in range(times)]


def join_batches(parts: Sequence[tuple[Arrays, Arrays]]) -> tuple[Arrays, Arrays]:
    """The outputs of several batches as those of one."""
    baseline = {key: np.concatenate([part[0][key] for part in parts]) for key in parts[0][0]}
    variants = {key: np.concatenate([part[1][key] for part in parts], axis=1) for key in parts[0][1]}
    return baseline, variants
