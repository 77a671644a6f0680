"""Is a pruned model, in all that can be done with it, the whole model with the same heads at zero?"""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.ablation.replacements import REPLACEMENTS
from headcount.errors import CannotPrune
from headcount.models.anatomy import read_anatomy
from headcount.models.load import load_model
from tests import planted
from tests.checkpointed import switch_on
from tests.closeness import ROUNDED, assert_same
from tests.contracts import naive
from tests.contracts.pruned import PRUNABLE, Before, aligned, gates_without, uneven, whole, without
from tests.contracts.zoo import BY_NAME, HEADS, LAYERS, Case, exact, inputs, run, tiny
from tests.measures.planted import SENTENCES
from tests.measures.planted import WORDS as MEASURED_WORDS
from tests.measures.tiny import _spread, bare_tokenizer, causal, masked, translator

FAMILY = pytest.mark.parametrize("case", PRUNABLE, ids=lambda case: case.name)
KERNEL = pytest.mark.parametrize(
    ("case", "kernel"),
    [pytest.param(case, kernel, id=f"{case.name}-{kernel}") for case in PRUNABLE for kernel in case.kernels],
)
GENERATING = [case for case in PRUNABLE if case.kind in ("decoder", "pair")]
CHOICES = {
    "one head": ["L1H2"],
    "all but one": ["L0H0-2", "L1H0", "L1H2-3", "L2H1-3"],
    "the first and the last layer": ["L0", "L2"],
}


def paddings(case: Case) -> tuple[str, ...]:
    return ("none",) if case.kind == "vision" else ("none", "right", "left")


@KERNEL
def test_gated_pruned_loaded_and_zeroed_are_one(case: Case, kernel: str, tmp_path: Path) -> None:
    model, heads = whole(case.name, kernel).double(), uneven(case)
    zeroed, pruned = naive.with_zero_columns(model, heads), hc.prune(copy.deepcopy(model), heads)
    hc.save(pruned, None, tmp_path / "pruned")
    loaded = aligned(load_model(tmp_path / "pruned", attn_implementation=kernel))
    assert type(loaded) is type(model)
    assert read_anatomy(loaded).layout == read_anatomy(pruned).layout
    for padding in paddings(case):
        batch = inputs(case, padding)
        found = run(pruned, batch)
        assert_same(found, run(zeroed, batch), case.within)
        with without(model, heads):
            assert_same(found, run(model, batch), case.within)
        assert torch.equal(run(loaded, batch), found)
        assert (found - run(model, batch)).abs().max() > 1e-3, "the heads made no difference: it would prove nothing"


@KERNEL
@pytest.mark.parametrize("choice", CHOICES)
def test_other_choices(case: Case, kernel: str, choice: str) -> None:
    model, batch = exact(case.name, kernel), inputs(case, paddings(case)[-1])
    heads = [word for one in CHOICES[choice] for word in case.spell(one)]
    zeroed = naive.with_zero_columns(model, heads)
    size = sum(parameter.numel() for parameter in model.parameters())
    assert hc.prune(model, heads) is model
    assert_same(run(model, batch), run(zeroed, batch), case.within)
    gone = {(head.stack, head.layer, head.head) for head in hc.HeadSet.of(heads, read_anatomy(zeroed).layout)}
    left = {(head.stack, head.layer, head.head) for head in read_anatomy(model).layout}
    assert (
        left
        == {(stack, layer, head) for stack in case.stacks for layer in range(LAYERS) for head in range(HEADS)} - gone
    )
    assert sum(parameter.numel() for parameter in model.parameters()) < size


@FAMILY
def test_slices_of_the_heads_that_stay_hold_their_old_weights(case: Case) -> None:
    model, heads = tiny(case.name, case.kernels[0]), uneven(case)
    pruned = hc.prune(copy.deepcopy(model), heads)
    for where in (pruned, model):
        for block in read_anatomy(where):
            covered: dict[tuple[str, int], set[int]] = {}
            for head in block.heads:
                for part in block.slices(head):
                    covered.setdefault((part.parameter, part.dim), set()).update(range(part.start, part.stop))
            for (name, dim), numbers in covered.items():
                assert numbers == set(range(where.get_parameter(name).shape[dim])), name
    old, new = read_anatomy(model), read_anatomy(pruned)
    for one in new.layout:
        whole, cut = (anatomy.attention(one.stack, one.layer) for anatomy in (old, new))
        for before, after in zip(whole.slices(one.head), cut.slices(one.head), strict=True):
            assert before.role == after.role
            expected = model.get_parameter(before.parameter).narrow(
                before.dim, before.start, before.stop - before.start
            )
            found = pruned.get_parameter(after.parameter).narrow(after.dim, after.start, after.stop - after.start)
            assert torch.equal(found, expected)


@FAMILY
def test_heads_keep_their_numbers_through_three_cuts(case: Case) -> None:
    model, batch = exact(case.name, case.kernels[0]), inputs(case, paddings(case)[-1])
    pruned, gone = copy.deepcopy(model), []
    for word in ("L1H0", "L1H2", "L2H1", "L1H3"):
        gone += case.spell(word)
        hc.prune(pruned, case.spell(word))
        with without(model, gone):
            assert_same(run(pruned, batch), run(model, batch), case.within)
    assert set(read_anatomy(pruned).layout.stacks.values()) == {((0, 1, 2, 3), (1,), (0, 2, 3))}
    once = hc.prune(copy.deepcopy(model), gone)
    assert torch.equal(run(once, batch), run(pruned, batch))
    assert once.config.headcount == pruned.config.headcount
    for word in ("L1H0", "L2H1"):
        with pytest.raises(hc.HeadcountError, match=r"has .* heads"):
            hc.prune(pruned, case.spell(word))


@FAMILY
@pytest.mark.parametrize("how", REPLACEMENTS)
def test_ablation(case: Case, how: str) -> None:
    """By its old number, in a layer that lost heads before it."""
    model, batch = exact(case.name, case.kernels[0]), inputs(case, paddings(case)[-1])
    heads = uneven(case) if how != "mean" else [word for one in ("L0H1", "L2H0") for word in case.spell(one)]
    pruned, reference = hc.prune(copy.deepcopy(model), heads), batch if how == "mean" else None
    names = ["encoder.L0H2", "encoder.L2H1", "decoder.L1H3", "cross.L0H3"] if case.kind == "pair" else ["L0H2", "L2H1"]
    plain = run(pruned, batch)
    with hc.ablated(pruned, names, how=how, reference=reference):
        found = run(pruned, batch)
    assert torch.equal(run(pruned, batch), plain)
    with without(model, heads), hc.ablated(model, names, how=how, reference=reference):
        assert_same(found, run(model, batch), case.within)
    assert (found - plain).abs().max() > 1e-3


def test_the_means_of_a_model_that_has_a_layer_without_heads() -> None:
    model, batch = exact("bert"), inputs(BY_NAME["bert"], "right")
    pruned = hc.prune(copy.deepcopy(model), ["L1", "L0H1"])
    found = hc.mean_outputs(pruned, batch)["encoder"]
    with without(model, ["L1", "L0H1"]):
        expected = hc.mean_outputs(model, batch)["encoder"]
    assert torch.isnan(found[1]).all()
    assert torch.isnan(found[0, 1]).all()
    assert_same(found[[0, 0, 0, 2], [0, 2, 3, 1]], expected[[0, 0, 0, 2], [0, 2, 3, 1]], ROUNDED)


@FAMILY
def test_gates(case: Case) -> None:
    model, batch, heads = exact(case.name, case.kernels[0]), inputs(case, paddings(case)[-1]), uneven(case)
    pruned, generator = hc.prune(copy.deepcopy(model), heads), torch.Generator().manual_seed(5)
    ones, some = gates_without(model, []), gates_without(model, heads)
    plain = run(pruned, batch)
    with hc.gated(
        pruned, {stack: tensor[:, : read_anatomy(pruned).layout.width(stack)] for stack, tensor in ones.items()}
    ):
        assert torch.equal(run(pruned, batch), plain)
    some = {stack: tensor * torch.rand(tensor.shape, generator=generator) for stack, tensor in some.items()}
    narrow = {stack: tensor[:, : read_anatomy(pruned).layout.width(stack)] for stack, tensor in some.items()}
    narrow = {stack: tensor.clone().requires_grad_() for stack, tensor in narrow.items()}
    with hc.gated(pruned, narrow):
        result = pruned(**batch).last_hidden_state
    with hc.gated(model, some):
        assert_same(result, model(**batch).last_hidden_state, case.within)
    result.pow(3).sum().backward()  # squares are constant after a layer norm: their gradients would be rounding errors
    present = {(head.stack, head.layer, head.head) for head in read_anatomy(pruned).layout}
    for stack, tensor in narrow.items():
        assert tensor.grad is not None
        for (layer, head), gradient in np.ndenumerate(tensor.grad.numpy()):
            assert (gradient != 0) == ((stack, layer, head) in present), "a head that is gone has no gradient"


@KERNEL
def test_observation(case: Case, kernel: str) -> None:
    """Kept heads are seen as in the whole model; those that are gone are NaN, not zero."""
    model, batch, heads = exact(case.name, kernel), inputs(case, paddings(case)[-1]), uneven(case)
    pruned = hc.prune(copy.deepcopy(model), heads)
    objective = lambda result: result.last_hidden_state.pow(3).sum()  # squares are constant after a layer norm
    found = hc.observe(pruned, batch, gradients=True, objective=objective)
    with without(model, heads):
        expected = hc.observe(model, batch, gradients=True, objective=objective)
    for what in ("maps", "outputs", "map_gradients", "output_gradients"):
        for stack, tensor in getattr(found, what).items():
            layers = read_anatomy(pruned).layout.stacks[stack]
            for layer, numbers in enumerate(layers):
                for head in range(tensor.shape[1]):
                    if head in numbers:
                        reference = getattr(expected, what)[stack][layer, head]
                        assert_same(tensor[layer, head], reference, case.within, f"{what} {stack} L{layer}H{head}")
                    else:
                        assert torch.isnan(tensor[layer, head]).all(), f"{what} {stack} L{layer}H{head}"
        assert set(getattr(found, what)) == set(case.stacks)


def grouped() -> tuple[Any, Any]:
    """A Llama with groups of 4 heads."""
    config = tf.LlamaConfig(
        vocab_size=len(MEASURED_WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=2,
        intermediate_size=40,
        max_position_embeddings=64,
        pad_token_id=0,
    )
    return _spread(tf.LlamaForCausalLM(config)), bare_tokenizer()


TEXTS = pd.DataFrame({"text": SENTENCES[:4]})
COUPLES = pd.DataFrame({"source": SENTENCES[:3], "target": SENTENCES[4:7]})
MEASURED = {
    "bert": (masked, ["L0H1", "L1H0", "L1H2"], TEXTS),
    "a layer without heads": (causal, ["L0", "L1H2"], TEXTS),
    "uneven groups": (grouped, ["L0H1-3", "L1H0", "L1H4-6"], TEXTS),
    "bart": (translator, ["encoder.L0H1", "encoder.L1", "decoder.L0H0", "cross.L1H0"], COUPLES),
}
BETWEEN_HEADS = ("x", "y", "cluster")
"""Of the map of all heads: they depend on which heads there are."""


@pytest.mark.parametrize("name", MEASURED)
def test_measures(name: str) -> None:
    make, heads, texts = MEASURED[name]
    model, tokenizer = make()
    pruned = hc.prune(copy.deepcopy(model), heads)
    found = hc.measure(pruned, tokenizer, texts)
    with without(model, heads):
        expected = hc.measure(model, tokenizer, texts)
    assert set(found.children) == set(expected.children)
    compared = 0
    for measure, node in found.children.items():
        for variable, array in node.data_vars.items():
            if "head" not in array.dims:
                continue
            theirs = expected[measure][variable].sel({dim: array[dim] for dim in array.dims if dim in array.coords})
            ours, theirs = (one.transpose("stack", "layer", "head", ...).values for one in (array, theirs))
            present = _present(pruned, array)
            assert np.isnan(ours[~present].astype(float)).all(), f"{measure} {variable}: a head that is gone"
            if variable in BETWEEN_HEADS:
                continue
            known = np.isfinite(ours[present])
            # A distance to a head that is gone is not known; all else is known where the whole model's is.
            assert measure == "distances" or (known == np.isfinite(theirs[present])).all(), f"{measure} {variable}"
            assert_same(ours[present][known], theirs[present][known], ROUNDED, f"{measure} {variable}", largest=1.0)
            compared += int(known.sum())
    assert compared > 100


def _present(model: Any, array: Any) -> np.ndarray:
    """Bool [stack, layer, head]: which heads the model has."""
    layout = read_anatomy(model).layout
    return np.array(
        [
            [
                [layer < layout.layers(stack) and head in layout.stacks[stack][layer] for head in array["head"].values]
                for layer in array["layer"].values
            ]
            for stack in array["stack"].values
        ]
    )


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    torch.manual_seed(3)
    config = tf.BertConfig(
        vocab_size=len(planted.WORDS),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=40,
        max_position_embeddings=64,
        initializer_range=0.4,
        id2label=planted.NAMES,
        label2id={"negative": 0, "positive": 1},
    )
    model = tf.BertForSequenceClassification(config).eval().double()
    return model, planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.mark.parametrize("heads", [["L0H1", "L1H0", "L1H3", "L2H2"], ["L1", "L0H0"], ["L0", "L2"]], ids=str)
@pytest.mark.parametrize("by", ["head", "layer", "all-but-one"])
def test_sweeps(classifier: tuple[Any, Any], by: str, heads: list[str]) -> None:
    """Without each head, layer, all of the layer's other heads that are there: as in the whole model with gates."""
    (model, tokenizer), data = classifier, planted.texts().head(16)
    pruned = hc.prune(copy.deepcopy(model), heads)
    found = hc.sweep(pruned, tokenizer, data, task="sst2", by=by, how="uniform")
    batch, left = tokenizer(list(data["sentence"]), padding=True, return_tensors="pt"), set(read_anatomy(pruned).layout)
    for head in read_anatomy(model).layout:
        where = {"stack": "encoder", "layer": head.layer} | ({"head": head.head} if by != "layer" else {})
        mates = {one for one in left if one.layer == head.layer}
        out = {"head": {head}, "layer": mates, "all-but-one": mates - {head}}[by]
        if head in left and out:
            with torch.no_grad(), without(model, heads), hc.ablated(model, out, how="uniform"):
                expected = model(**batch).logits
            assert_same(found["logits"].sel(where), expected, ROUNDED)
        elif by != "layer" or not mates:
            assert "head" not in where or head.head in found["head"]
            assert np.isnan(found["score"].sel(where)).all(), "a head that is gone has no score"


def test_a_sweep_in_a_study_goes_on_and_is_not_that_of_the_whole_model(
    classifier: tuple[Any, Any], tmp_path: Path
) -> None:
    (model, tokenizer), data = classifier, planted.texts().head(12)
    pruned = hc.prune(copy.deepcopy(model), ["L1", "L0H2"])
    options = {"task": "sst2", "how": "zero", "out": tmp_path / "study"}
    found = hc.sweep(pruned, tokenizer, data, **options)  # type: ignore[arg-type]
    again = hc.sweep(pruned, tokenizer, data, **options)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found["score"], again["score"])
    assert int(np.isfinite(found["score"]).sum()) == 7


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(["bert", "gpt2", "llama", "gpt_neox", "t5", "deberta-v2", "mpnet", "modernbert"]),
    heads=st.sets(st.tuples(st.integers(0, LAYERS - 1), st.integers(0, HEADS - 1)), min_size=2, max_size=11),
    share=st.floats(0.05, 0.95),
)
@example(name="t5", heads={(0, 0), (0, 1), (0, 2), (0, 3), (1, 1)}, share=0.5)
@example(name="llama", heads={(1, 0), (1, 1), (1, 2), (0, 3)}, share=0.4)
def test_two_cuts_are_one(name: str, heads: set[tuple[int, int]], share: float) -> None:
    case = BY_NAME[name]
    words = [case.spell(f"L{layer}H{head}") for layer, head in sorted(heads, key=lambda one: hash((one, share)))]
    split = max(1, min(len(words) - 1, round(share * len(words))))
    flat = lambda some: [word for one in some for word in one]
    once = hc.prune(tiny(name, case.kernels[0]), flat(words))
    twice = hc.prune(tiny(name, case.kernels[0]), flat(words[:split]))
    hc.prune(twice, flat(words[split:]))
    one, other = once.state_dict(), twice.state_dict()
    assert list(one) == list(other)
    assert all(torch.equal(tensor, other[key]) for key, tensor in one.items())
    assert once.config.headcount == twice.config.headcount
    batch = inputs(case, "right")
    assert torch.equal(run(once, batch), run(twice, batch))


def groups_of_four() -> Any:
    config = tf.LlamaConfig(
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=2,
        intermediate_size=40,
        max_position_embeddings=64,
        pad_token_id=0,
    )
    return _spread(tf.LlamaModel(config), 0.35)


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_grouped_heads_one_by_one(kernel: str) -> None:
    """Keys and values stay as long as one head reads them, and go with the last of the group."""
    model, batch = groups_of_four(), inputs(BY_NAME["llama"], "left")
    model.set_attn_implementation(kernel)
    pruned, gone = copy.deepcopy(model), []
    for head, rows, groups in (
        (1, 8, (0, 0, 0, 1, 1, 1, 1)),
        (6, 8, (0, 0, 0, 1, 1, 1)),
        (7, 8, (0, 0, 0, 1, 1)),
        (5, 8, (0, 0, 0, 1)),
        (0, 8, (0, 0, 1)),
        (4, 4, (0, 0)),
        (3, 4, (0,)),
        (2, 0, ()),
    ):
        gone.append(f"L1H{head}")
        hc.prune(pruned, f"L1H{head}")
        attention = pruned.layers[1].self_attn
        assert attention.k_proj.weight.shape == attention.v_proj.weight.shape == (rows, 32)
        assert attention.q_proj.weight.shape == (4 * len(groups), 32)
        assert read_anatomy(pruned).attention("decoder", 1).groups == groups
        with without(model, gone):
            assert_same(run(pruned, batch), run(model, batch), ROUNDED)


@settings(max_examples=12, deadline=None)
@given(heads=st.sets(st.tuples(st.integers(0, 1), st.integers(0, 7)), min_size=1, max_size=15))
def test_groups_of_any_size(heads: set[tuple[int, int]]) -> None:
    model, batch = groups_of_four(), inputs(BY_NAME["llama"], "right")
    names = [f"L{layer}H{head}" for layer, head in heads]
    expected = naive.with_zero_columns(model, names)
    pruned = hc.prune(model, names)
    assert_same(run(pruned, batch), run(expected, batch), ROUNDED)
    for block in read_anatomy(pruned):
        expected_groups = sorted({head // 4 for head in block.heads})
        assert block.groups == tuple(expected_groups.index(head // 4) for head in block.heads)


def generated(model: Any, case: Case, **options: Any) -> torch.Tensor:
    batch = inputs(case, "left" if case.kind == "decoder" else "right")
    batch.pop("decoder_input_ids", None)
    with torch.no_grad():
        found: torch.Tensor = model.generate(
            **batch, max_new_tokens=8, min_new_tokens=8, do_sample=False, pad_token_id=0, **options
        )
    return found


@pytest.mark.parametrize("case", GENERATING, ids=lambda case: case.name)
@pytest.mark.parametrize(
    "options",
    [{}, {"cache_implementation": "static"}, {"use_cache": False}, {"num_beams": 3}],
    ids=["dynamic", "static", "without a cache", "beams"],
)
def test_generation(case: Case, options: dict[str, Any]) -> None:
    head = "AutoModelForSeq2SeqLM" if case.kind == "pair" else "AutoModelForCausalLM"
    model, heads = exact(case.name, "sdpa", head), uneven(case)
    pruned = hc.prune(copy.deepcopy(model), heads)
    found = generated(pruned, case, **options)
    with without(model, heads):
        expected = generated(model, case, **options)
    assert found.tolist() == expected.tolist()
    assert found.tolist() != generated(model, case, **options).tolist(), "the heads made no difference"


@FAMILY
def test_copies_and_pickles(case: Case) -> None:
    model, batch = hc.prune(tiny(case.name, case.kernels[0]), uneven(case)), inputs(case, paddings(case)[-1])
    before = Before(model, batch)
    plain = run(model, batch)
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    word = "cross.L0H2" if case.kind == "pair" else "L0H3"
    cut = run(hc.prune(copy.deepcopy(model), word), batch)
    for other in copies:
        assert torch.equal(run(other, batch), plain)
        assert read_anatomy(other).layout == read_anatomy(model).layout
        assert torch.equal(run(hc.prune(other, word), batch), cut)
    before.check()


@FAMILY
def test_a_training_step(case: Case) -> None:
    """All weights that are left get the gradients that they have in the whole model, and move."""
    model, batch, heads = exact(case.name, case.kernels[0]), inputs(case, paddings(case)[-1]), uneven(case)
    pruned = hc.prune(copy.deepcopy(model), heads)
    pruned(**batch).last_hidden_state.pow(3).mean().backward()
    with without(model, heads):
        model(**batch).last_hidden_state.pow(3).mean().backward()
    mine, theirs = dict(pruned.named_parameters()), dict(model.named_parameters())
    assert list(mine) == list(theirs)
    # A bias of keys has no effect, and rounding errors for a gradient: the largest gradient of all is the scale.
    largest = max(float(one.grad.abs().max()) for one in theirs.values() if one.grad is not None and one.numel())
    for name, parameter in mine.items():
        assert parameter.requires_grad == theirs[name].requires_grad, name
        assert (parameter.grad is None) == (theirs[name].grad is None), name
        if parameter.grad is not None and parameter.shape == theirs[name].shape:
            assert_same(parameter.grad, theirs[name].grad, case.within, name, largest=largest)
    optimizer = torch.optim.SGD((one for one in mine.values() if one.requires_grad), lr=0.1)
    before = run(pruned, batch)
    optimizer.step()
    assert not torch.equal(run(pruned, batch), before)


@FAMILY
def test_no_weight_of_a_layer_without_heads_waits_for_a_gradient(case: Case, tmp_path: Path) -> None:
    """Training on several devices does not allow it: not the empty weights, not the norm before them; loaded or not."""
    model = whole(case.name, case.kernels[0])
    known = {key for key, one in model.named_parameters() if one.requires_grad and "pooler" not in key}
    hc.prune(model, case.spell("L1"))
    hc.save(model, None, tmp_path / "saved")
    for one in (model, load_model(tmp_path / "saved", attn_implementation=case.kernels[0])):
        one(**inputs(case)).last_hidden_state.pow(3).mean().backward()
        assert {key for key, parameter in one.named_parameters() if parameter.grad is not None} == known


@pytest.mark.parametrize("name", ["llama", "t5", "gpt2", "bart"])
def test_gradient_checkpointing(name: str) -> None:
    case = BY_NAME[name]
    pruned, batch = hc.prune(exact(name), uneven(case)), inputs(case, "right")
    for module in pruned.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "dropout", None), float):
            module.dropout = 0.0
    found: list[dict[str, torch.Tensor]] = []
    for checkpointing in (False, True):
        model = copy.deepcopy(pruned).train()
        if checkpointing:
            switch_on(model)
        model(**batch, use_cache=False).last_hidden_state.pow(3).mean().backward()
        found.append({key: one.grad for key, one in model.named_parameters() if one.grad is not None})
    assert list(found[0]) == list(found[1])
    largest = max(float(gradient.abs().max()) for gradient in found[0].values() if gradient.numel())
    for key, gradient in found[0].items():
        assert_same(gradient, found[1][key], case.within, key, largest=largest)


def test_the_trainer(tmp_path: Path) -> None:
    """A few steps; the heads stay gone, and what it saved opens."""
    case = BY_NAME["bert"]
    model = hc.prune(tiny("bert", head="AutoModelForSequenceClassification"), uneven(case))
    batch = inputs(case, "right", batch=8)
    rows = [{**{key: value[row] for key, value in batch.items()}, "labels": row % 3} for row in range(8)]
    options = tf.TrainingArguments(
        str(tmp_path / "run"),
        max_steps=3,
        per_device_train_batch_size=4,
        report_to=[],
        use_cpu=True,
        save_steps=2,
        learning_rate=1e-2,
        disable_tqdm=True,
        logging_strategy="no",
    )
    trainer = tf.Trainer(model, options, train_dataset=rows)
    start = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    trainer.train()
    assert any(not torch.equal(tensor, start[key]) for key, tensor in model.state_dict().items())
    trainer.save_model(str(tmp_path / "saved"))
    model.eval()
    for folder in (tmp_path / "saved", tmp_path / "run" / "checkpoint-3"):
        loaded = aligned(load_model(folder))
        assert read_anatomy(loaded).layout == read_anatomy(model).layout
        assert torch.equal(loaded(**batch).logits, model(**batch).logits)


@pytest.mark.parametrize("name", ["llama", "t5"])
def test_torch_compile(name: str) -> None:
    """The hooks of groups of unlike size and of position biases are compiled as well."""
    case = BY_NAME[name]
    pruned, batch = hc.prune(exact(name), uneven(case)), inputs(case, "right")
    if name == "t5":
        pruned = pruned.get_encoder()
        del batch["decoder_input_ids"]
    expected = run(pruned, batch)
    torch._dynamo.reset()
    try:
        assert_same(run(torch.compile(pruned, backend="eager"), batch), expected, case.within)
    finally:
        torch._dynamo.reset()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["bert", "llama", "t5"])
def test_number_types(name: str, dtype: torch.dtype) -> None:
    case = BY_NAME[name]
    model = tiny(name).to(dtype)
    pruned = hc.prune(copy.deepcopy(model), uneven(case))
    assert {parameter.dtype for parameter in pruned.parameters()} == {dtype}
    batch = inputs(case, "right")
    with without(model, uneven(case)):
        expected = run(model, batch)
    found = run(pruned, batch)
    assert found.dtype == dtype
    tolerance = {torch.float64: 1e-9, torch.float16: 2e-2, torch.bfloat16: 1e-1}[dtype]
    assert (found - expected).abs().max() <= tolerance * max(1.0, float(expected.abs().max()))


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("kinds", [["c2p", "p2c"], ["c2p"], ["p2c"], []], ids=str)
def test_the_position_projections_of_deberta(kinds: list[str], share: bool) -> None:
    config = BY_NAME["deberta-v2"].make_config()
    config.pos_att_type, config.share_att_key = kinds, share
    model = _spread(tf.DebertaV2Model(config), 0.35)
    batch, heads = inputs(BY_NAME["deberta-v2"], "right"), ["L0H1", "L1", "L2H0-2"]
    zeroed = naive.with_zero_columns(model, heads)
    assert_same(run(hc.prune(model, heads), batch), run(zeroed, batch))


def test_bert_as_a_decoder_with_cross_attention() -> None:
    config = tf.BertConfig(**BY_NAME["bert"].options, is_decoder=True, add_cross_attention=True)
    model = _spread(tf.BertModel(config), 0.35)
    batch = inputs(BY_NAME["bert"], "right")
    batch["encoder_hidden_states"] = torch.randn(
        3, 5, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    heads = ["decoder.L0H1", "decoder.L1", "cross.L0", "cross.L2H3"]
    zeroed = naive.with_zero_columns(model, heads)
    assert_same(run(hc.prune(model, heads, batch=batch), batch), run(zeroed, batch))


def test_albert_is_refused() -> None:
    model, batch = tiny("albert"), inputs(BY_NAME["albert"])
    before = Before(model, batch)
    with pytest.raises(CannotPrune, match="albert uses the weights of one layer for all.*ablate or gate it") as caught:
        hc.prune(model, "L0H1")
    assert "\n" not in str(caught.value)
    before.check()
