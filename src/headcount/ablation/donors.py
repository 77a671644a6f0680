"""Where the outputs of another input come from: which example gives to which, and which of its positions to which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from headcount.ablation.choices import Choices
from headcount.ablation.hows import ALL, ANSWER, LAST, FunctionVector, Patch, Resample
from headcount.ablation.job import Job
from headcount.ablation.prompt_means import prompt_means
from headcount.core.options import without_effect
from headcount.data.counterparts import Counterparts, Spans, check_aligned, check_spans
from headcount.data.encode import Encodings
from headcount.data.kinds.tokens import Encoding
from headcount.errors import DataProblem, InvalidOption
from headcount.trace.edits import LayerKey
from headcount.trace.parts import Kept, Patched
from headcount.trace.variants import Variant

CLASS_SIZE = 8
"""How many examples of similar length a random one is drawn from, at least."""

Position = str | int
"""The name of positions, or one position."""
Where = Callable[[int], list[int]]
"""From the number of an example to positions of it."""


@dataclass(frozen=True)
class Donor:
    """Gives head outputs to the examples of a sweep, from the pass over `encodings`.

    `givers` [draw, example]: which of them gives to which example. `part`: what of a head is given. `compared`: whether
    its own scores are kept, as the other end of a share. `places(example, draw)`: the giver's position for each
    position of the example; None if they are the same. `wheres`: for each choice, the positions of each example that
    are replaced; None for all. `means` [group, heads of the layer, size]: what is given in place of the giver's own
    output, to each example that of the group which it `receives`.
    """

    encodings: Encodings
    givers: np.ndarray
    part: str = "output"
    compared: bool = False
    places: Callable[[int, int], list[int]] | None = None
    wheres: tuple[Where | None, ...] = (None,)
    means: Mapping[LayerKey, Tensor] | None = None
    receives: np.ndarray | None = None

    @property
    def draws(self) -> int:
        return len(self.givers)

    @property
    def identity(self) -> list[object]:
        """What must be equal for a result to be continued: who gives to whom, and at which positions."""
        examples = range(self.givers.shape[1])
        wheres = {id(where): where for where in self.wheres if where is not None}.values()
        replaced = [[where(example) for example in examples] for where in wheres]
        places, draws = self.places, range(self.draws)
        matched = [] if places is None else [[places(example, draw) for example in examples] for draw in draws]
        received = None if self.receives is None else self.receives.tolist()
        return [self.encodings.rows, self.givers.tolist(), received, replaced, matched]

    def rows(self, examples: Sequence[int], draw: int) -> list[Encoding]:
        """The encodings that give to these examples."""
        return [self.encodings.rows[self.givers[draw, example]] for example in examples]

    def positions(self, examples: Sequence[int], draw: int, width: int) -> Tensor | None:
        """[example, position]: the giver's position for each one of the examples; None where they are the same."""
        if self.places is None:
            return None
        each = [self.places(example, draw) for example in examples]
        return torch.tensor([[*places, *[0] * (width - len(places))] for places in each])

    def instead(self, kept: Mapping[LayerKey, Kept], examples: Sequence[int], width: int) -> Mapping[LayerKey, Kept]:
        """What these examples, of `width` positions, are given: what was kept of their givers, or means."""
        if self.means is None or self.receives is None:
            return kept
        groups = torch.as_tensor(self.receives[list(examples)])
        means = {key: self.means[key][groups.to(self.means[key].device)] for key in kept}
        return {key: Kept("output", mean[:, None].expand(-1, width, -1, -1)) for key, mean in means.items()}

    def mask(self, where: Where | None, examples: Sequence[int], width: int) -> Tensor | None:
        """Bool [example, position]: the positions of the examples that are replaced; None for all."""
        return None if where is None else _mask([where(example) for example in examples], width)

    def variants(
        self,
        choices: Choices,
        columns: Callable[[LayerKey, tuple[int, ...]], list[int]],
        kept: Mapping[LayerKey, Kept],
        examples: Sequence[int],
        width: int,
    ) -> list[Variant]:
        """The edits of each choice on these examples, whose texts are padded to `width` positions."""
        each = {id(where): where for where in self.wheres}  # few: the choices of a map share those of a position
        masks = {key: self.mask(where, examples, width) for key, where in each.items()}
        wheres = self.wheres if len(self.wheres) > 1 else self.wheres * len(choices.sets)
        return [
            {
                key: Patched(columns(key, numbers), kept[key], masks[id(where)])
                for key, numbers in heads.by_layer().items()
            }
            for heads, where in zip(choices.sets, wheres, strict=True)
        ]


def _mask(positions: list[list[int]], width: int) -> Tensor:
    mask = torch.zeros(len(positions), width, dtype=torch.bool)
    for row, chosen in enumerate(positions):
        mask[row, chosen] = True
    return mask


def patch_donor(job: Job, patch: Patch, choices: Choices) -> tuple[Job, Donor]:
    """The job on the input that is run, and the donor that is the other one."""
    pairs = job.counterparts
    assert pairs is not None  # prepare_job read them
    names = _used_names(job, pairs, patch, choices)
    denoise = patch.direction == "denoise"
    sides = [Side(job, job.encodings, pairs.spans), Side(job, pairs.encodings, pairs.counterpart_spans)]
    giver, base = sides if denoise else sides[::-1]

    def where(*names: Position) -> Where:
        return lambda example: [place for name in names for place in base.at(name, example)]

    def places(example: int, draw: int) -> list[int]:
        """Tokens outside of the named positions are not replaced, and whose place they get does not matter."""
        matched = [0] * int(base.encodings.lengths[example])
        for name in names:
            for here, there in zip(base.at(name, example), giver.at(name, example), strict=True):
                matched[here] = there
        return matched

    wheres: tuple[Where | None, ...] = (where(*names) if names else None,)
    if choices.positions is not None:
        single = {name: where(name) for name in names}
        wheres = tuple(single[name] for name in choices.positions)
    identity = np.arange(len(base.encodings.rows))[None]
    donor = Donor(giver.encodings, identity, patch.part, compared=True, wheres=wheres)
    return job.on(base.encodings), replace(donor, places=places) if patch.align == "span" else donor


@dataclass(frozen=True)
class Side:
    """One input of each pair."""

    job: Job
    encodings: Encodings
    spans: Sequence[Spans]

    def at(self, name: Position, example: int) -> list[int]:
        """The positions that a name stands for."""
        if isinstance(name, int):
            return [name]
        if name == LAST:
            return [self.job.task.kind.prompt_end(self.encodings.rows[example])]
        if name == ANSWER:
            return self.job.task.kind.answer_positions(self.encodings.rows[example])
        return list(range(*self.spans[example][name]))


def position_names(job: Job) -> list[Position]:
    """The positions that a map of heads and positions has: named ones if all examples have them, or all of them."""
    pairs = job.counterparts
    assert pairs is not None  # prepare_job read them
    if pairs.names:
        return [*pairs.names, LAST]
    lengths = {int(length) for length in (*job.encodings.lengths, *pairs.encodings.lengths)}
    if len(lengths) > 1:
        raise DataProblem(
            f"by='position' needs positions that all examples share; got texts of {min(lengths)} to {max(lengths)} "
            "tokens and no column 'spans' with spans of tokens by name"
        )
    return list(range(lengths.pop()))


def _used_names(job: Job, pairs: Counterparts, patch: Patch, choices: Choices) -> list[Position]:
    """The positions that are replaced, checked; empty for all."""
    spanned = patch.align == "span"
    if not spanned:
        check_aligned(job.examples, job.encodings, pairs)
    elif not pairs.names:
        raise DataProblem("align='span' needs a column 'spans' with spans of tokens by name; the data has none")
    if choices.positions is not None:
        without_effect("positions", None if patch.positions == ALL else patch.positions, "by='position' takes each")
        names = list(dict.fromkeys(choices.positions))
    elif patch.positions != ALL:
        names = [patch.positions]
    else:
        names = [*pairs.names] if spanned else []
    for name in names:
        if name == ANSWER:
            job.task.kind.answer_positions(job.encodings.rows[0])  # an error where answers have no positions
        elif isinstance(name, str) and name != LAST:
            check_spans(job.examples, pairs, name)
    if names and job.task.kind.several_rows:
        raise InvalidOption(
            f"got positions=; the texts of {job.task.kind.name} are several rows, patched at all positions"
        )
    if names and "cross" in job.anatomy.stacks and any(h.stack != "encoder" for heads in choices.sets for h in heads):
        raise InvalidOption(
            "got positions= for an encoder-decoder: they are those of the text, which the encoder reads; take "
            "stack='encoder'"
        )
    return names


def vector_donor(job: Job, patch: FunctionVector, padding: int, seed: int) -> tuple[Job, Donor]:
    """The job on the corrupted prompts, and a donor of the mean outputs of other clean ones at their last token."""
    pairs = job.counterparts
    assert pairs is not None  # prepare_job read them
    if "encoder" in job.anatomy.stacks or not job.task.kind.contrasts:
        raise InvalidOption(
            f"got the task {job.task.name} and how={patch.name!r}, which needs prompts of a causal language model: "
            "take task=completion"
        )
    answers = [text[-1] for text in job.examples.texts]
    halves = split_by_answer(pairs.tasks, answers, seed)
    groups = list(dict.fromkeys(halves))
    members = np.array([groups.index(half) for half in halves])
    receives = np.array([groups.index((task, 1 - half)) for task, half in halves])
    base = Side(job, pairs.encodings, pairs.counterpart_spans)
    donor = Donor(
        job.encodings,
        np.arange(len(halves))[None],
        compared=True,
        wheres=(lambda example: base.at(LAST, example),),
        means=prompt_means(job, members, len(groups), padding),
        receives=receives,
    )
    return job.on(pairs.encodings), donor


def split_by_answer(tasks: Sequence[str], answers: Sequence[str], seed: int) -> list[tuple[str, int]]:
    """For each example its task and half, 0 or 1: halves of similar size, in which no answer of the other occurs.

    >>> split_by_answer(["plural"] * 4, ["cats", "dogs", "cats", "cows"], 0)
    [('plural', 0), ('plural', 1), ('plural', 0), ('plural', 1)]
    """
    generator = np.random.default_rng(seed)
    half: dict[tuple[str, str], int] = {}
    for task in dict.fromkeys(tasks):
        counts = Counter(answer for one, answer in zip(tasks, answers, strict=True) if one == task)
        if len(counts) < 2:
            name = f" of the task {task!r}" if task else ""
            raise DataProblem(
                f"all prompts{name} have the answer {next(iter(counts))!r}; expected at least two answers: the mean "
                "over the prompts of one half is put into those of the other"
            )
        sizes = [0, 0]
        known = sorted(counts)
        # The most common answers first, each into the half that is smaller.
        for number in sorted(generator.permutation(len(known)), key=lambda at: -counts[known[at]]):
            smaller = int(sizes[1] < sizes[0])
            half[task, known[number]] = smaller
            sizes[smaller] += counts[known[number]]
    return [(task, half[task, answer]) for task, answer in zip(tasks, answers, strict=True)]


def resample_donor(job: Job, resample: Resample, seed: int) -> Donor:
    """Each example gets outputs of another one of similar length; a shorter one starts again from its beginning."""
    lengths, rows = job.encodings.lengths, job.encodings.rows
    if len(rows) < 2:
        raise DataProblem("how='resample' draws other examples; got one example, expected at least two")
    if "cross" in job.anatomy.stacks or job.task.kind.several_rows:
        raise InvalidOption(
            "how='resample' matches the positions of two texts, and this model reads several at once; take how='mean'"
        )
    givers = np.stack([draw_partners(lengths, np.random.default_rng([seed, draw])) for draw in range(resample.draws)])

    def places(example: int, draw: int) -> list[int]:
        own, other = int(lengths[example]), int(lengths[givers[draw, example]])
        return [place % other for place in range(own)]

    return Donor(job.encodings, givers, places=places)


def draw_partners(lengths: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """For each example another one, drawn among those of the same length class; each gives once.

    >>> draw_partners(np.array([5, 9, 5, 9]), np.random.default_rng(0)).tolist()
    [1, 3, 0, 2]
    """
    partners = np.empty(len(lengths), dtype=int)
    for members in length_classes(lengths):
        order = generator.permutation(members)
        partners[order] = np.roll(order, 1)  # a random cycle: nobody gives to itself
    return partners


def length_classes(lengths: np.ndarray) -> list[np.ndarray]:
    """Examples of similar length: those of one length or, if they are fewer than CLASS_SIZE, with the next longer ones.

    >>> [members.tolist() for members in length_classes(np.array([3] * 8 + [4] * 2 + [7] * 7))]
    [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15, 16]]
    """
    classes: list[np.ndarray] = []
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        if classes and len(classes[-1]) < CLASS_SIZE:
            classes[-1] = np.concatenate([classes[-1], members])
        else:
            classes.append(members)
    if len(classes) > 1 and len(classes[-1]) < CLASS_SIZE:
        classes[-2:] = [np.concatenate(classes[-2:])]
    return classes
