"""The forward passes of a sweep: for each batch the plain pass once, then all variants from their first layer on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel

from headcount.ablation.choices import Choices
from headcount.ablation.donors import Donor
from headcount.ablation.path_choices import PathChoices
from headcount.ablation.path_edits import read_behind, reread
from headcount.ablation.plan import Nested, SweepPlan
from headcount.ablation.replacements import make_edit
from headcount.data.batches import collate
from headcount.data.encode import Encodings
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.language import Language
from headcount.data.kinds.metrics import DIFFERENCE
from headcount.data.kinds.outputs import locate_not_finite, logits_of
from headcount.engines.run import Arrays
from headcount.engines.workers import tick
from headcount.errors import HeadcountError, NotFinite
from headcount.models.anatomy import Anatomy
from headcount.models.dispatched import input_device, without_gradients
from headcount.trace.edits import LayerKey
from headcount.trace.late_logits import LateLogits
from headcount.trace.memory import try_in_memory
from headcount.trace.not_finite import NotFiniteRow, not_finite
from headcount.trace.parts import keep_part
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


class Outcome(NamedTuple):
    """The outputs of some examples."""

    baseline: Arrays
    """[example, ...]: of the whole model."""
    variants: Arrays
    """[choice, example, ...] or [choice, draw, example, ...]: of each choice."""
    given: Arrays = {}  # noqa: RUF012 - never changed
    """[example, ...]: of the other input, where its score is compared."""


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
    donor: Donor | None = None
    """Where replacements from another input come from."""
    compiled: bool = False
    generate: dict[str, Any] | None = None
    ids: np.ndarray | None = None
    """The names of the examples by their rows, for errors."""
    late: LateLogits | None = None
    """For language models: logits are computed later, of the labelled tokens alone."""

    def __post_init__(self) -> None:
        self.variants: list[Variant] = (
            []
            if self.donor is not None
            else [
                {
                    key: make_edit(self.how, self.anatomy.attention(*key), numbers, self.means)
                    for key, numbers in heads.by_layer().items()
                }
                for heads in self.choices.replaced.sets
            ]
        )
        self.shapes = self.kind.output_shapes(self.model, self.encodings.rows)
        self.edited = sorted({key for heads in self.choices.replaced.sets for key in heads.by_layer()})
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

    def run(self, rows: list[int]) -> Outcome:
        """A batch's outputs."""
        with without_gradients(self.model), _quick_kernels(input_device(self.model)), self.replay:
            return self._batch(rows)

    def _batch(self, rows: list[int], width: int | None = None) -> Outcome:
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

    def _replay(self, rows: list[int], width: int | None) -> Outcome:
        batch = self._rows(rows)
        with self._postponed():
            recorded = self._record(self.kind.inputs(self.model, batch))
        baseline = self._reduce(recorded, batch)
        whole = {key: value.cpu().numpy() for key, value in baseline.items()}
        if self.donor is None:
            variants, given = self._run_variants(self.variants, batch, baseline, width), {}
        else:
            drawn = [self._patch(rows, batch, baseline, width, draw) for draw in range(self.donor.draws)]
            given = drawn[0][1]
            variants = {key: np.stack([variants[key] for variants, _ in drawn], 1) for key in drawn[0][0]}
            if self.donor.draws == 1:
                variants = {key: values[:, 0] for key, values in variants.items()}
        self._check(rows, whole, variants, given)
        return Outcome(whole, variants, given)

    def _run_variants(
        self, variants: Sequence[Variant], batch: dict[str, Tensor], baseline: dict[str, Tensor], width: int | None
    ) -> Arrays:
        """The outputs [choice, example, ...] of all variants of the recorded batch."""
        outputs: dict[str, list[Any]] = {key: [value] * len(self.choices.sets) for key, value in baseline.items()}
        plan, size = self.plan if width is None else self.plan.narrowed(width), len(batch["labels"])
        each = size / max(1, len(self.choices.sets) - len(plan.unchanged))
        each /= 1 if self.donor is None else self.donor.draws

        def keep(numbers: Sequence[int], result: Any) -> None:
            for key, tensor in self._reduce(result, tile(batch, size, len(numbers))).items():
                for number, share in zip(numbers, tensor.chunk(len(numbers)), strict=True):
                    outputs[key][number] = share
            tick(each * len(numbers))

        parts = self._paths(variants) if isinstance(self.choices, PathChoices) else [dict(enumerate(variants))]
        for edits in parts:
            for _, wanted in plan.passes:
                numbers = [number for number in wanted if number in edits]
                if numbers:
                    with self._postponed():
                        result = self.replay.run([edits[number] for number in numbers])
                    keep(numbers, result)
                    del result  # the next pass needs its memory
        for nested in plan.nested:
            self._replay_nested(nested, variants, keep)
        return {
            key: torch.stack(values).cpu().numpy() if values else baseline[key].cpu().numpy()[None][:0]
            for key, values in outputs.items()
        }

    def _record(self, inputs: dict[str, Tensor]) -> Any:
        """A plain pass over a batch; paths need the outputs of all heads in it."""
        if not isinstance(self.choices, PathChoices):
            return self.replay.record(inputs)
        layers = [block.layer_key for block in self.anatomy]
        result, self.own.heads = keep_part(self.model, layers, "output", lambda: self.replay.record(inputs))
        return result

    def _paths(self, senders: Sequence[Variant]) -> Iterator[dict[int, Variant]]:
        """For each sender, the edits of its paths by number: what receivers read when it alone is replaced."""
        choices = self.choices
        assert isinstance(choices, PathChoices)
        for sender, variant in zip(choices.senders, senders, strict=True):
            numbers = choices.from_sender(sender)
            with self._postponed():
                read = read_behind(
                    self.replay, sender, variant, self.own.heads, {choices.keys[number][1] for number in numbers}
                )
            targets = {number: choices.keys[number][1:] for number in numbers}
            yield {number: reread(self.anatomy, head, into, read) for number, (head, into) in targets.items()}

    def _patch(
        self, rows: list[int], batch: dict[str, Tensor], baseline: dict[str, Tensor], width: int | None, draw: int
    ) -> tuple[Arrays, Arrays]:
        """The outputs of all variants with a part of their heads from another input, and that input's own outputs."""
        donor = self.donor
        assert donor is not None
        examples = [int(self.order[row]) for row in rows]
        giving = collate(donor.rows(examples, draw), self.padding, input_device(self.model))
        inputs = self.kind.inputs(self.model, giving) | self.replay.always
        with self._postponed():
            result, kept = keep_part(self.model, self.edited, donor.part, lambda: self.model(**inputs))
        given = {key: value.cpu().numpy() for key, value in self._reduce(result, giving).items()}
        del result
        width_of_text = batch["input_ids"].shape[-1]
        places = donor.positions(examples, draw, width_of_text)
        kept = donor.instead({key: part.at(places) for key, part in kept.items()}, examples, width_of_text)
        variants = donor.variants(self.choices.replaced, self._columns, kept, examples, width_of_text)
        return self._run_variants(variants, batch, baseline, width), given if donor.compared else {}

    def _columns(self, key: LayerKey, heads: tuple[int, ...]) -> list[int]:
        block = self.anatomy.attention(*key)
        return [block.column(head) for head in heads]

    def _replay_nested(
        self, nested: Nested, variants: Sequence[Variant], keep: Callable[[Sequence[int], Any], None]
    ) -> None:
        """The passes that are remembered, and those that start in the middle of them."""
        recordings: dict[int, Recording] = {}
        for _, numbers in nested.firsts:
            with self._postponed():
                result, recorded = self.replay.record_variants([variants[number] for number in numbers])
            recordings |= dict(zip(numbers, recorded, strict=True))
            keep(numbers, result)
        for _, pairs in nested.passes:
            later = [
                {key: edit for key, edit in variants[number].items() if key not in variants[first]}
                for number, first in pairs
            ]
            with self._postponed():
                result = self.replay.run(later, [recordings[first] for _, first in pairs])
            keep([number for number, _ in pairs], result)

    def _postponed(self) -> AbstractContextManager[None]:
        return nullcontext() if self.late is None else self.late.postponed()

    def _reduce(self, result: Any, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """What is kept of a model's result, which holds states in place of logits where these come later."""
        labels, wrong = batch["labels"], batch.get("wrong_labels")
        if self.late is None:
            kept = self.kind.reduce(result, labels, self.shapes)
            if wrong is not None:
                kept[DIFFERENCE] = self.kind.logit_differences(result, labels, wrong).double()
            return kept
        assert isinstance(self.kind, Language)
        states, project = logits_of(result), self.late.project
        kept = self.kind.reduce_late(states, project, labels)
        if wrong is not None:
            kept[DIFFERENCE] = self.kind.differences_late(states, project, labels, wrong).double()
        return kept

    def _check(self, rows: list[int], baseline: Arrays, variants: Arrays, given: Arrays) -> None:
        """An error where an output is not finite: the score may look good all the same."""
        example = locate_not_finite(baseline)
        if example is not None:
            raise self._not_finite(rows[example[0]], None)
        other = locate_not_finite(given)
        if other is not None:
            raise self._not_finite(rows[other[0]], None, of_other=True)
        drawn = self.donor is not None and self.donor.draws > 1
        entry = locate_not_finite(variants, axes=3 if drawn else 2)
        if entry is not None:
            raise self._not_finite(rows[entry[-1]], entry[0])

    def _not_finite(self, row: int, variant: int | None, of_other: bool = False) -> NotFinite:
        """The error for the outputs of one example, of the whole model or of a variant, or on the other input."""
        batch = self._rows([row])
        if of_other:
            assert self.donor is not None
            giving = self.donor.rows([int(self.order[row])], 0)
            batch = collate(giving, self.padding, input_device(self.model))
        inputs = self.kind.inputs(self.model, batch)
        name = self.order[row] if self.ids is None else self.ids[self.order[row]]
        without = "" if variant is None else f" without {self.choices.names()[variant]}"
        plain = variant is None or self.donor is not None or isinstance(self.choices, PathChoices)
        edits = {} if plain or variant is None else merge([self.variants[variant]])
        with session(self.model, edits, purpose="the sweep"):
            return not_finite(self.model, self.anatomy, inputs, name, f"the model's outputs{without} are")

    def _rows(self, rows: list[int]) -> dict[str, Tensor]:
        return collate([self.encodings.rows[self.order[row]] for row in rows], self.padding, input_device(self.model))

    def _generate(self, rows: list[int], width: int | None) -> Outcome:
        """The texts of all variants, generated side by side in one batch."""
        inputs = self.kind.prompt(self.model, self._rows(rows))
        baseline = self._texts(inputs, rows, [])[0]
        generated = [baseline] * len(self.variants)
        passes = (self.plan if width is None else self.plan.narrowed(width)).passes
        for _, numbers in passes:
            for number, texts in zip(numbers, self._texts(inputs, rows, numbers), strict=True):
                generated[number] = texts
            tick(len(rows) / len(passes))
        return Outcome({"texts": np.array(baseline, dtype=object)}, {"texts": np.array(generated, dtype=object)})

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


def join_batches(parts: Sequence[Outcome]) -> Outcome:
    """The outputs of several batches as those of one."""
    first = parts[0]
    # Of every output the baseline has the axes after the example's, and a choice one more before it, or two with draws.
    axes = {key: first.variants[key].ndim - values.ndim for key, values in first.baseline.items()}
    return Outcome(
        {key: np.concatenate([part.baseline[key] for part in parts]) for key in first.baseline},
        {key: np.concatenate([part.variants[key] for part in parts], axis=axes[key]) for key in first.variants},
        {key: np.concatenate([part.given[key] for part in parts]) for key in first.given},
    )
