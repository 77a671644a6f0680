"""Replayed variants equal plain passes: every family, stack, layer and replacement."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import headcount as hc
from headcount.ablation.replacements import REPLACEMENTS, make_edit
from headcount.models.anatomy import read_anatomy
from headcount.trace.replay import Replay
from headcount.trace.variants import Variant
from tests.closeness import assert_same
from tests.contracts.zoo import BY_NAME, CASES, LAYERS, Case, exact, inputs, tiny


def variant(model: Any, heads: list[str], how: str, means: Any = None) -> Variant:
    anatomy = read_anatomy(model)
    chosen = hc.HeadSet.of(heads, anatomy.layout)
    return {
        place: make_edit(how, anatomy.attention(*place), numbers, means) for place, numbers in chosen.by_layer().items()
    }


def hidden(result: Any) -> torch.Tensor:
    return result.logits if "logits" in result else result.last_hidden_state


def assert_replay_is_plain(
    case: Case, model: Any, batch: dict[str, torch.Tensor], sets: list[list[str]], how: str
) -> None:
    means = hc.mean_outputs(model, batch) if how == "mean" else None
    with torch.no_grad(), Replay(model, read_anatomy(model)) as replay:
        plain = hidden(model(**batch))
        assert_same(hidden(replay.record(batch))[:, :1], plain[:, :1], case.within)
        found = hidden(replay.run([variant(model, heads, how, means) for heads in sets])).chunk(len(sets))
    real = batch["attention_mask"].bool() if "attention_mask" in batch and "decoder_input_ids" not in batch else None
    for heads, got in zip(sets, found, strict=True):
        with torch.no_grad(), hc.ablated(model, heads, how=how, reference=means):
            expected = hidden(model(**batch))
        if real is not None and got.ndim == 3:
            got, expected = got[real], expected[real]
        assert_same(got, expected, case.within)


@pytest.mark.parametrize("how", REPLACEMENTS)
@pytest.mark.parametrize(
    ("case", "padding"),
    [
        pytest.param(case, padding, id=f"{case.name}-{padding}")
        for case in CASES
        for padding in (("none",) if case.kind == "vision" else ("none", "right", "left"))
    ],
)
def test_every_layer_of_every_family(case: Case, how: str, padding: str) -> None:
    model, batch = exact(case.name, case.kernels[0]), inputs(case, padding)
    for stack in case.stacks:
        front = f"{stack}." if case.kind == "pair" else ""
        for layer in range(LAYERS):
            sets = [[f"{front}L{layer}H{head}"] for head in range(4)] + [[f"{front}L{layer}"]]
            assert_replay_is_plain(case, model, batch, sets, how)


@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sets_that_touch_several_layers(case: Case, how: str) -> None:
    model, batch = exact(case.name, case.kernels[0]), inputs(case)
    sets = [case.spell("L1H2") + case.spell("L2H0"), case.spell("L0H3"), case.spell("L2")]
    assert_replay_is_plain(case, model, batch, sets, how)


@pytest.mark.parametrize("how", REPLACEMENTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_variants_that_go_on_with_others(case: Case, how: str) -> None:
    """Two heads in different layers, from a recording of the pass without the first; also in different stacks."""
    model, batch = exact(case.name, case.kernels[0]), inputs(case)
    lower = [head for name in ("L0H3", "L0H1") for head in case.spell(name)]
    if case.kind == "pair":
        upper = [name for name in case.spell("L1H2") + case.spell("L2H0") if not name.startswith("encoder")]
        lower = [name for name in lower if not name.startswith("cross")]
    else:
        upper = case.spell("L2H0")
    anatomy = read_anatomy(model)
    means = hc.mean_outputs(model, batch) if how == "mean" else None
    with torch.no_grad(), Replay(model, anatomy) as replay:
        replay.record(batch)
        # Those of one layer are recorded together, as a sweep does.
        recordings = {name: replay.record_variants([variant(model, [name], how, means)])[1][0] for name in lower}
        together = [name for name in lower if name.split(".")[0] == lower[0].split(".")[0]][:2]
        result, both = replay.record_variants([variant(model, [name], how, means) for name in together])
        recordings |= dict(zip(together, both, strict=True))
        for last in upper:
            found = hidden(
                replay.run([variant(model, [last], how, means)] * len(lower), [recordings[name] for name in lower])
            ).chunk(len(lower))
            for name, got in zip(lower, found, strict=True):
                with hc.ablated(model, [name, last], how=how, reference=means):
                    assert_same(got, hidden(model(**batch)), case.within, f"{name} and {last}")
    for name, got in zip(together, hidden(result).chunk(len(together)), strict=True):
        with torch.no_grad(), hc.ablated(model, [name], how=how, reference=means):
            assert_same(got, hidden(model(**batch)), case.within, name)


FIRST = [
    (name, head)
    for name in ("bert", "roberta", "xlm-roberta", "camembert", "electra", "distilbert")
    for head in ("AutoModelForSequenceClassification", "AutoModelForMultipleChoice")
]


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
@pytest.mark.parametrize(("name", "head"), FIRST)
def test_the_last_layer_at_the_first_position(name: str, head: str, kernel: str) -> None:
    model, batch = exact(name, kernel, head), inputs(BY_NAME[name], "right")
    assert Replay(model, read_anatomy(model)).first_position is not None
    if head == "AutoModelForMultipleChoice":
        batch = {key: torch.stack([value, value.flip(0)], 1) for key, value in batch.items()}
    for layer in range(LAYERS):
        for how in ("zero", "uniform"):
            assert_replay_is_plain(BY_NAME[name], model, batch, [[f"L{layer}H{head}"] for head in range(4)], how)


def test_models_that_read_other_positions_are_left_alone() -> None:
    for name, head in (
        ("bert", "AutoModelForTokenClassification"),
        ("bert", "AutoModelForMaskedLM"),
        ("mpnet", "AutoModelForSequenceClassification"),
        ("bert", "AutoModel"),
    ):
        model = tiny(name, BY_NAME[name].kernels[0], head)
        assert Replay(model, read_anatomy(model)).first_position is None


def test_nothing_stays_behind() -> None:
    model, batch = tiny("bert"), inputs(BY_NAME["bert"])
    with torch.no_grad():
        plain = model(**batch).last_hidden_state
        with pytest.raises(ZeroDivisionError), Replay(model, read_anatomy(model)) as replay:
            replay.record(batch)
            replay.run([variant(model, ["L1"], "uniform")])
            raise ZeroDivisionError
        assert torch.equal(model(**batch).last_hidden_state, plain)
    assert all("forward" not in module.__dict__ for module in model.modules())
    assert all(not module._forward_pre_hooks and not module._forward_hooks for module in model.modules())


def test_layers_that_cannot_be_compiled_run_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo.exc import Unsupported

    def fails(*args: Any, **kwargs: Any) -> Any:
        raise Unsupported("not this layer\nmore")

    monkeypatch.setattr(torch, "compile", lambda forward, **options: fails)
    model = tiny("bert")
    batch = inputs(BY_NAME["bert"])
    variants = [variant(model, ["L0H0"], "zero")]
    with torch.no_grad():
        with Replay(model, read_anatomy(model)) as replay:
            replay.record(batch)
            expected = hidden(replay.run(variants))
        with Replay(model, read_anatomy(model), compiled=True) as replay:
            replay.record(batch)
            with pytest.warns(hc.errors.HeadcountWarning, match="uncompiled, torch.compile failed: not this layer"):
                found = hidden(replay.run(variants))
    assert torch.equal(found, expected)
