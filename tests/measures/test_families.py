"""Every family, kernel and stack: what a padded batch says of a text is what the text's own maps say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from transformers.pytorch_utils import Conv1D

import headcount as hc
from headcount.data.marks import Facts, mark
from headcount.measures.catalogue import choose_measures
from headcount.measures.contract import CHANCE
from headcount.measures.layers import run_measures
from headcount.models.anatomy import read_anatomy
from tests.closeness import ROUNDED, assert_same
from tests.contracts.zoo import CASES, LAYERS, Case, exact, inputs
from tests.measures import naive

CLASSES = ("first", "punctuation", "other", "special")
STOPS = (2, 5)
WORDED = [case for case in CASES if case.kind != "vision"]
EVERY = [pytest.param(case, kernel, id=f"{case.name}-{kernel}") for case in WORDED for kernel in case.kernels]


def facts(length: int) -> Facts:
    stops = [place for place in STOPS if place < length]
    rest = [place for place in range(length) if place not in stops]
    classes = {"first": [0], "punctuation": stops, "other": rest, "special": []}
    return Facts(length, [0] * length, [-1] * length, classes)


def allowed(case: Case, stack: str, layer: int, queries: int, keys: int) -> list[int]:
    """How many keys each query may attend to, from what the family is known to do."""
    if stack == "decoder":
        window = case.options.get("sliding_window", queries)
        return [min(query + 1, window) for query in range(queries)]
    if case.name == "modernbert" and layer % case.options["global_attn_every_n_layers"]:
        side = case.options["local_attention"] // 2
        return [sum(abs(query - key) <= side for key in range(keys)) for query in range(queries)]
    return [keys] * queries


def uniform_maps(case: Case, stack: str, maps: np.ndarray) -> np.ndarray:
    """What attention that is spread evenly over the allowed keys looks like, from what the family is known to do."""
    queries, keys = maps.shape[2:]
    uniform = np.zeros_like(maps)
    for layer in range(LAYERS):
        for query, count in enumerate(allowed(case, stack, layer, queries, keys)):
            first, last = 0, keys
            if stack == "decoder":
                first, last = query + 1 - count, query + 1
            elif count < keys:  # a window on both sides, cut off at the ends of the text
                first = max(0, query - case.options["local_attention"] // 2)
                last = first + count
            uniform[layer, :, query, first:last] = 1 / count
    return uniform


class Batch:
    """A batch, and each of its rows alone; without padding it has no mask either."""

    def __init__(self, case: Case, kernel: str, padding: str = "right") -> None:
        self.case, self.model = case, exact(case.name, kernel)
        self.batch = inputs(case, padding)
        self.lengths = self.batch["attention_mask"].sum(1).tolist()
        self.anatomy = read_anatomy(self.model)
        assert len(set(self.lengths)) == (3 if padding == "right" else 1)
        if padding == "none":
            del self.batch["attention_mask"]

    def found(self, *names: str) -> Any:
        target = None
        if self.case.kind == "pair":
            target = mark([facts(self.batch["decoder_input_ids"].shape[1])] * len(self.lengths))
        return run_measures(
            self.model,
            self.anatomy,
            self.batch,
            mark([facts(length) for length in self.lengths]),
            target,
            CLASSES,
            choose_measures(names),
        )

    def alone(self, row: int) -> dict[str, torch.Tensor]:
        length = self.lengths[row]
        return {
            key: value[row : row + 1] if key.startswith("decoder") else value[row : row + 1, :length]
            for key, value in self.batch.items()
        }

    def rows(self) -> Iterator[tuple[int, str, np.ndarray, np.ndarray]]:
        """Row, stack, maps [layer, head, query, key] and outputs [layer, head, query, size]."""
        for row in range(len(self.lengths)):
            seen = hc.observe(self.model, self.alone(row))
            assert tuple(seen.maps) == self.case.stacks
            for stack, maps in seen.maps.items():
                yield row, stack, maps[:, :, 0].double().numpy(), seen.outputs[stack][:, :, 0].double().numpy()

    def compare(self, found: Any, row: int, stack: str, expected: naive.Values, chosen: Any = ...) -> None:
        for variable, values in expected.items():
            given = np.stack([found[stack, layer][variable][row].numpy() for layer in range(LAYERS)])
            assert given.shape == values.shape
            assert_same(given[chosen], values[chosen], ROUNDED, f"{stack} {variable}", largest=1.0)


@pytest.mark.parametrize("names", [("entropy",), ("entropy", "spread")], ids=["alone", "with a map"])
@pytest.mark.parametrize("padding", ["right", "none"])
@pytest.mark.parametrize(("case", "kernel"), EVERY)
def test_entropy(case: Case, kernel: str, padding: str, names: tuple[str, ...]) -> None:
    batch = Batch(case, kernel, padding)
    found = batch.found(*names)["entropy"]
    for row, stack, maps, _ in batch.rows():
        layers = [
            naive.entropy(maps[layer : layer + 1], allowed(case, stack, layer, *maps.shape[2:]))
            for layer in range(LAYERS)
        ]
        expected = {name: np.concatenate([one[name] for one in layers]) for name in layers[0]}
        batch.compare(found, row, stack, expected)
        assert (expected["entropy"] < expected["uniform"]).all()
        assert (expected["uniform"] - expected["entropy"]).max() > 0.01, "uniform: the test would prove little"


@pytest.mark.parametrize(("case", "kernel"), EVERY)
def test_position(case: Case, kernel: str) -> None:
    batch = Batch(case, kernel)
    found = batch.found("position")["position"]
    for row, stack, maps, _ in batch.rows():
        if stack == "cross":
            assert all(torch.isnan(values).all() for layer in range(LAYERS) for values in found[stack, layer].values())
            continue
        expected = naive.position(maps)
        largest = expected.pop("largest_at")
        batch.compare(found, row, stack, expected)
        clear = naive.clear(maps)
        assert clear.any()
        batch.compare(found, row, stack, {"largest_at": largest}, clear)
        chance = naive.position(uniform_maps(case, stack, maps))
        batch.compare(found, row, stack, {f"{name}{CHANCE}": chance[name] for name in ("previous", "same", "next")})


@pytest.mark.parametrize(("case", "kernel"), EVERY)
def test_spread(case: Case, kernel: str) -> None:
    batch = Batch(case, kernel)
    found = batch.found("spread")["spread"]
    for row, stack, maps, _ in batch.rows():
        expected = naive.spread(maps)
        if stack == "cross":
            expected["distance"] = np.full_like(expected["distance"], np.nan)
        batch.compare(found, row, stack, expected)


@pytest.mark.parametrize(("case", "kernel"), EVERY)
def test_special(case: Case, kernel: str) -> None:
    batch = Batch(case, kernel)
    found = batch.found("special")["special"]
    for row, stack, maps, _ in batch.rows():
        queries, keys = maps.shape[2:]
        stops = [place for place in STOPS if place < keys]
        kinds = {"first": [0], "punctuation": stops, "other": [place for place in range(keys) if place not in stops]}
        for end, seen in (("", maps), (CHANCE, uniform_maps(case, stack, maps))):
            rows = {name: [naive.mass(seen, query, where) for query in range(queries)] for name, where in kinds.items()}
            expected = {f"{name}{end}": naive.mean(values, seen) for name, values in rows.items()}
            known = {name: values for name, values in expected.items() if name != f"other{CHANCE}"}
            batch.compare(found, row, stack, known)
        assert set(found[stack, 0]) == {*kinds, f"first{CHANCE}", f"punctuation{CHANCE}"}


def projections(batch: Batch, stack: str) -> list[np.ndarray]:
    """The output projections [width, heads * size]; Conv1D holds its weight the other way round."""
    outputs: list[Any] = [block.output for block in batch.anatomy.stacks[stack]]
    weights = [output.weight.T if isinstance(output, Conv1D) else output.weight for output in outputs]
    return [weight.detach().double().numpy() for weight in weights]


def flatten_values(batch: Batch) -> bool:
    """Let all values of a head lie on one line, some of them near zero; False where one projection makes all three."""
    if any(block.plan.fused for block in batch.anatomy):
        return False
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for block in batch.anatomy:
            weight = block.projection("value")[0].weight
            for part in weight.split(block.head_size):
                line = torch.randn(block.head_size, 1, generator=generator, dtype=weight.dtype)
                part.copy_(0.3 * line * torch.randn(1, weight.shape[1], generator=generator, dtype=weight.dtype))
    return True


def read_values(batch: Batch, row: int) -> dict[str, np.ndarray]:
    """What the value projections give for one row [layer, head, key, size]."""
    modules: list[Any] = [block.projection("value")[0] for block in batch.anatomy]
    given: dict[Any, list[torch.Tensor]] = {module: [] for module in modules}
    handles = [module.register_forward_hook(lambda one, _, output: given[one].append(output[0])) for module in given]
    with torch.no_grad():
        batch.model(**batch.alone(row))
    for handle in handles:
        handle.remove()
    found: dict[str, list[np.ndarray]] = {stack: [] for stack in batch.anatomy.stacks}
    for block, module in zip(batch.anatomy, modules, strict=True):
        values = given[module].pop(0).double().numpy()  # [key, groups * size]
        groups = values.reshape(len(values), -1, block.head_size).transpose(1, 0, 2)
        readers = len(block.heads) // len(groups)
        found[block.stack].append(np.stack([groups[head // readers] for head in block.heads]))
    return {stack: np.stack(layers) for stack, layers in found.items()}


@pytest.mark.parametrize(("case", "kernel"), EVERY)
def test_contribution(case: Case, kernel: str) -> None:
    batch = Batch(case, kernel)
    flat = flatten_values(batch)
    found = batch.found("contribution")["contribution"]
    most = 0.0
    for row, stack, maps, outputs in batch.rows():
        expected = naive.written(outputs, projections(batch, stack))
        if flat:
            expected["near_zero"] = naive.near_zero(maps, read_values(batch, row)[stack])
            most = max(most, expected["near_zero"].max())
        batch.compare(found, row, stack, expected)
    assert not flat or most > 0.01, "no value is near zero: the test would prove nothing of them"
