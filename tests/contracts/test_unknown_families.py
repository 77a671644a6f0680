"""Model types without a record are proved or refused as docs/families.md says; what is proved keeps the promises.

The truth is independent of what the proofs found: the model's own eager code with its softmax replaced, where the n-th
softmax of a pass belongs to the n-th attention layer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor, nn

import headcount as hc
from headcount.errors import CannotPrune, UnknownFamily
from headcount.models.example_inputs import example_inputs
from headcount.models.load import load_model
from headcount.trace.anatomy import proof_of
from tests import planted
from tests.closeness import FLOAT32, ROUNDED, assert_same
from tests.contracts.unknown import BY_NAME, CASES, HEADS, LAYERS, Unknown, make

DOCS = Path(__file__).parent.parent.parent / "docs" / "families.md"
OUTCOMES = {
    name: (outcome, cut == "yes")
    for name, outcome, cut in re.findall(
        r"^\| `([^`]+)` \| (proved|refused at \w+) \| (yes|no) \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE
    )
}
PROVED = [case for case in CASES if OUTCOMES.get(case.name, ("", False))[0] == "proved"]
REFUSED = [case for case in CASES if case not in PROVED]
name_of = lambda case: case.name
Key = tuple[str, int]


def precise(case: Unknown, model: Any) -> Any:
    return model if case.experts else model.double()


def layer_keys(stacks: list[str]) -> list[Key]:
    """The attention layers in the order of a pass."""
    single = [stack for stack in stacks if "cross" not in stacks]
    if single:
        return [(single[0], layer) for layer in range(LAYERS)]
    decoder = [(stack, layer) for layer in range(LAYERS) for stack in ("decoder", "cross")]
    return [("encoder", layer) for layer in range(LAYERS)] + decoder


@torch.no_grad()
def run(model: Any, batch: dict[str, Tensor]) -> Tensor:
    """The last hidden state at real positions."""
    hidden: Tensor = model(**batch).last_hidden_state
    mask = batch.get("attention_mask")
    return hidden if mask is None or hidden.shape[:2] != mask.shape else hidden[mask.bool()]


def run_with_weights(
    model: Any, batch: dict[str, Tensor], keys: list[Key], change: Callable[[Key, Tensor, Tensor], None]
) -> Tensor:
    """A pass of the eager model; `change` gets each layer's weights [B, H, Q, K], to be changed, and its scores."""
    left = list(keys)
    softmax = nn.functional.softmax

    def changed(scores: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        weights = softmax(scores, *args, **kwargs).clone()
        if weights.ndim == 4:
            change(left.pop(0), weights, scores)
        return weights

    with mock.patch.object(nn.functional, "softmax", changed):
        result = run(model, batch)
    assert not left, "as many softmaxes as attention layers"
    return result


def test_the_table_has_the_types_of_the_docs() -> None:
    assert set(OUTCOMES) == set(BY_NAME)
    assert len(PROVED) >= 25


@pytest.mark.parametrize("case", REFUSED, ids=name_of)
def test_a_refusal_names_its_step(case: Unknown) -> None:
    model = make(case.name)
    step = OUTCOMES[case.name][0].removeprefix("refused at ")
    with pytest.raises(UnknownFamily, match=f"no record, and a small pass did not prove .*; {step}: "):
        hc.read_anatomy(model)
    with pytest.raises(UnknownFamily, match=f"; {step}: "), hc.ablated(model, ["L0H0"]):
        pass


@pytest.mark.parametrize("case", PROVED, ids=name_of)
def test_what_is_proved_keeps_the_promises(case: Unknown, tmp_path: Path) -> None:
    model, eager = precise(case, make(case.name)), precise(case, make(case.name, "eager"))
    within = FLOAT32 if case.experts else ROUNDED  # norms and rotary embeddings stay in float32
    batch = example_inputs(model, seed=5, padded=1)
    plain = run(model, batch)
    stacks = list(hc.read_anatomy(model).stacks)
    assert torch.equal(run(model, batch), plain), "the proof leaves nothing behind"
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in model.modules())
    with hc.gated(model, {stack: torch.ones(LAYERS, HEADS) for stack in stacks}):
        assert torch.equal(run(model, batch), plain)
    for stack in stacks:
        heads = spell([stack], several=len(stacks) > 1)
        for how in ("zero", "uniform"):
            expected = run_with_weights(eager, batch, layer_keys(stacks), REPLACED[how](stack))
            with hc.ablated(model, heads, how=how):
                without = run(model, batch)
            assert_same(without, expected, within, f"{how} {heads}")
            assert (without - plain).abs().max() > 100 * within * plain.abs().max(), "the heads made no difference"
    check_maps(model, eager, batch, within)
    check_cut(case, model, batch, within, tmp_path)


def spell(stacks: list[str], several: bool) -> list[str]:
    return [f"{stack}.{head}" if several else head for stack in stacks for head in ("L0H1", "L1H2-3")]


def zeros(stack: str) -> Callable[[Key, Tensor, Tensor], None]:
    """Weights of zero: the heads give nothing."""
    gone = {(stack, 0): [1], (stack, 1): [2, 3]}

    def change(key: Key, weights: Tensor, scores: Tensor) -> None:
        weights[:, gone.get(key, [])] = 0

    return change


def uniform(stack: str) -> Callable[[Key, Tensor, Tensor], None]:
    """1/n where the scores are not masked."""
    gone = {(stack, 0): [1], (stack, 1): [2, 3]}

    def change(key: Key, weights: Tensor, scores: Tensor) -> None:
        numbers = gone.get(key, [])
        allowed = (scores > torch.finfo(torch.float32).min / 4).to(weights.dtype)
        if scores.shape[-1] > scores.shape[-2]:
            allowed[..., scores.shape[-2] :] *= key[0] == "cross"  # in self-attention these are sinks
        weights[:, numbers] = (allowed / allowed.sum(-1, keepdim=True).clamp(min=1))[:, numbers]

    return change


REPLACED = {"zero": zeros, "uniform": uniform}


def check_maps(model: Any, eager: Any, batch: dict[str, Tensor], within: float) -> None:
    """What is observed is the weights of the model's own softmax."""
    seen = hc.observe(model, batch)

    def look(key: Key, weights: Tensor, scores: Tensor) -> None:
        maps = seen.maps[key[0]][key[1]].transpose(0, 1)
        real = torch.ones(maps.shape[0], maps.shape[2], dtype=torch.bool)
        mask = batch.get("attention_mask")
        if mask is not None and mask.shape == real.shape:
            real = mask.bool()
        own = weights[..., : maps.shape[-1]].to(maps)
        assert_same(maps.transpose(1, 2)[real], own.transpose(1, 2)[real], within)

    run_with_weights(eager, batch, layer_keys(list(seen.maps)), look)


def check_cut(case: Unknown, model: Any, batch: dict[str, Tensor], within: float, folder: Path) -> None:
    """Where a cut is proved, the smaller model gives what the ablated one gives, also from disk; else it is refused."""
    proof = proof_of(model)
    assert proof is not None
    stacks = [plan.stack for plan in proof.family.stacks]
    heads = spell(stacks, several=len(stacks) > 1)
    if not OUTCOMES[case.name][1]:
        assert proof.no_cut
        with pytest.raises(CannotPrune, match="no cut was proved"):
            hc.prune(model, heads)
        return
    with hc.ablated(model, heads, how="zero"):
        expected = run(model, batch)
    before = model.num_parameters()
    hc.prune(model, heads)
    assert model.num_parameters() < before
    assert_same(run(model, batch), expected, within)
    hc.save(model, None, folder / "small")
    loaded = load_model(folder / "small", dtype=model.dtype)
    if case.kernel is not None:
        loaded.set_attn_implementation(case.kernel)  # no folder keeps it
    assert hc.read_anatomy(loaded).layout == hc.read_anatomy(model).layout
    assert_same(run(loaded, batch), expected, within)


@pytest.mark.parametrize("name", ["ernie", "gemma2", "mixtral"])  # an encoder, eager with a softcap, experts
def test_a_sweep_is_a_loop_over_ablated(name: str, tmp_path: Path) -> None:
    """From text to scores, with batches, padding and replay; and the measures take the same texts."""
    texts, tokenizer = planted.texts(24), planted.tokenizer(tmp_path)
    model = make(name, head="AutoModelForSequenceClassification", num_labels=2, id2label=planted.NAMES)
    result = hc.sweep(
        model, tokenizer, texts, task="sst2", how="uniform", metric="loss", compute=hc.Compute(batch_tokens=60)
    )
    rows = [dict(tokenizer(text, return_tensors="pt")) for text in texts["sentence"]]
    takes = [{key: value for key, value in row.items() if key != "token_type_ids" or name == "ernie"} for row in rows]

    def loss() -> float:
        with torch.no_grad():
            logits = torch.cat([model(**row).logits for row in takes]).double()
        return float(nn.functional.cross_entropy(logits, torch.tensor(texts["label"].values)))

    for layer, head in ((0, 1), (1, 3)):
        with hc.ablated(model, f"L{layer}H{head}", how="uniform"):
            assert float(result["score"].sel(layer=layer, head=head).item()) == pytest.approx(loss(), rel=1e-4)
    assert float(result["baseline"].item()) == pytest.approx(loss(), rel=1e-4)
    measured = hc.measure(model, tokenizer, texts[["sentence"]], only=["entropy"])
    entropies = measured["entropy"]["entropy"].values.squeeze()
    assert entropies.shape == (LAYERS, HEADS)
    assert (entropies > 0).all()
