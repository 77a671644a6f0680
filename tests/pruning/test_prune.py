"""What does `prune` take, what does it refuse, and is the model as it was after every failure?"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.core.heads import Head, HeadSet
from headcount.errors import (
    CannotPrune,
    HeadcountError,
    InvalidOption,
    NotFinite,
    PruneMismatch,
    UnknownFamily,
    UnknownHead,
)
from headcount.models import shrink
from headcount.models.anatomy import read_anatomy
from headcount.pruning import prune as prune_module
from headcount.pruning.prune import LAST_CHECK, prune
from headcount.pruning.verify import Check
from tests.closeness import assert_same
from tests.contracts.pruned import Before, uneven, without
from tests.contracts.zoo import BY_NAME, exact, inputs, run, tiny

BERT = BY_NAME["bert"]


def refused(model: Any, heads: Any, batch: dict[str, torch.Tensor], **options: Any) -> str:
    """What is said; nothing was changed."""
    before, drawn = Before(model, batch), torch.random.get_rng_state()
    with pytest.raises(HeadcountError) as caught:
        prune(model, heads, **options)
    assert "\n" not in str(caught.value)
    before.check()
    assert torch.equal(torch.random.get_rng_state(), drawn)
    return f"{type(caught.value).__name__}: {caught.value}"


def test_every_way_to_name_heads() -> None:
    layout = read_anatomy(tiny("bert")).layout
    expected = prune(tiny("bert"), "L0H1, L2").state_dict()
    for heads in (
        "L0H1 L2",
        ["L0H1", "L2H0-3"],
        ("L0H1", "L2"),
        {"L0H1", "L2"},
        HeadSet.of("L0H1 L2", layout),
        [Head("encoder", 0, 1), "L2"],
        ["encoder.L0H1", "L2", "L2H1", "L0H1"],
        np.array(["L0H1", "L2"]),
        (word for word in ("L0H1", "L2")),
    ):
        found = prune(tiny("bert"), heads).state_dict()
        assert all(torch.equal(tensor, expected[key]) for key, tensor in found.items())
    one = prune(tiny("bert"), Head("encoder", 0, 1))
    assert read_anatomy(one).layout.stacks == {"encoder": ((0, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))}


@pytest.mark.parametrize("heads", [[], "", (), " ", set()], ids=repr)
def test_no_heads_leave_the_model_alone(heads: Any) -> None:
    for model in (tiny("bert"), prune(tiny("bert"), "L0H1")):
        before = Before(model, inputs(BERT))
        assert prune(model, heads) is model
        before.check()
        assert ("headcount" in model.config.to_dict()) == (read_anatomy(model).layout.count < 12)


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ("L3H0", "UnknownHead: got 'L3H0', but the model has layers L0 to L2"),
        ("L0H4", "UnknownHead: got 'L0H4', but L0 has heads 0-3"),
        ("L0H2-4", "UnknownHead: got 'L0H2-4'"),
        ("L0H3-1", "UnknownHead: got 'L0H3-1'"),
        ("L1H", "UnknownHead: got 'L1H' for a head; expected L3H7"),
        ("l0h1", "UnknownHead: got 'l0h1'"),
        ("L-1H0", "UnknownHead: got 'L-1H0'"),
        ("decoder.L0H1", "UnknownHead: got 'decoder.L0H1', but the model has no stack 'decoder'"),
        (["L0H1", 7], "UnknownHead: got 7 for a head"),
        ([None], "UnknownHead: got None for a head"),
        (["L0H1", "L9"], "UnknownHead: got 'L9'"),
        ("L0 L1 L2", "CannotPrune: got all 12 heads of the model; expected at least one that stays"),
    ],
)
def test_heads_that_cannot_go(heads: Any, expected: str) -> None:
    assert expected in refused(tiny("bert"), heads, inputs(BERT))


@pytest.mark.parametrize("heads", [None, 3, 0.5], ids=repr)
def test_what_names_no_heads(heads: Any) -> None:
    assert "UnknownHead" in refused(tiny("bert"), heads, inputs(BERT))


@pytest.mark.parametrize("heads", ["L0H1", "L1", "L1H2", "L2H0-1", ["L2H1", "L0H1"]])
def test_heads_that_are_gone(heads: Any) -> None:
    model = prune(tiny("bert"), ["L0H1", "L1", "L2H0"])
    assert "UnknownHead" in refused(model, heads, inputs(BERT))
    layout = read_anatomy(tiny("bert")).layout
    assert "UnknownHead" in refused(model, HeadSet.of(["L0H1"], layout), inputs(BERT))


def test_the_last_heads() -> None:
    model = prune(tiny("bert"), ["L0", "L1", "L2H0-2"])
    assert "got all 1 heads" in refused(model, "L2H3", inputs(BERT))


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_another_cut_after_a_whole_stack_is_gone(name: str) -> None:
    """A decoder without cross attention, then a head of the encoder."""
    model, batch = exact(name), inputs(BY_NAME[name], "right")
    first, then = ["cross.L0", "cross.L1", "cross.L2"], ["encoder.L0H1"]
    with without(model, [*first, *then]):
        expected = run(model, batch)
    assert_same(run(prune(prune(model, first), then), batch), expected, BY_NAME[name].within)


def test_a_whole_stack() -> None:
    for name in ("bart", "t5"):
        model, batch = exact(name), inputs(BY_NAME[name], "right")
        heads = ["cross.L0", "cross.L1", "cross.L2"]
        with without(model, heads):
            expected = run(model, batch)
        assert_same(run(prune(model, heads), batch), expected, BY_NAME[name].within)


def test_what_is_no_model() -> None:
    with pytest.raises(UnknownFamily, match="got Linear"):
        prune(torch.nn.Linear(2, 2), "L0H1")  # type: ignore[arg-type]
    model = tf.FunnelModel(tf.FunnelConfig(vocab_size=9, d_model=8, n_head=2, d_head=4, d_inner=8, block_sizes=[1]))
    with pytest.raises(UnknownFamily, match="funnel"):
        prune(model, "L0H1")


@pytest.mark.parametrize("context", ["ablated", "gated", "gates of one"])
def test_inside_a_context(context: str) -> None:
    """What the context has hooked would be another module's: refused, and the context goes on."""
    model, batch = tiny("bert"), inputs(BERT)
    gates = torch.ones(3, 4) if context == "gates of one" else torch.full((3, 4), 0.5)
    entered = hc.ablated(model, "L1H2") if context == "ablated" else hc.gated(model, gates)
    plain = run(model, batch)
    with entered:
        inside = run(model, batch)
        with pytest.raises(InvalidOption, match="inside ablated or gated") as caught:
            prune(model, "L0H1")
        assert "\n" not in str(caught.value)
        assert torch.equal(run(model, batch), inside)
    assert torch.equal(run(model, batch), plain)
    assert read_anatomy(model).layout.count == 12


def test_inside_a_context_it_says_what_to_do() -> None:
    model = tiny("bert")
    with hc.ablated(model, "L1H2"), pytest.raises(InvalidOption) as caught:
        prune(model, "L0H1")
    assert "study" not in str(caught.value)
    assert "out=" not in str(caught.value)


def test_quantised_weights() -> None:
    model = tiny("bert")
    model.encoder.layer[2].attention.self.key.__class__ = type("Linear4bit", (torch.nn.Linear,), {})
    found = refused(model, "L0H1", inputs(BERT))
    assert "CannotPrune" in found
    assert "encoder.layer.2.attention.self has a projection of type Linear4bit" in found


@pytest.mark.parametrize("name", ["bert", "llama", "t5", "mpnet", "gpt2"])
def test_a_mismatch_restores_the_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut that takes the wrong columns, first on a whole model, then on a pruned one."""
    case = BY_NAME[name]
    model, take = tiny(name, case.kernels[0]), shrink._take

    def wrong(module: Any, side: str, blocks: list[int], size: int) -> None:
        take(module, side, blocks[::-1] if side == "in" else blocks, size)

    for words in (uneven(case), ["encoder.L0H2"] if case.kind == "pair" else ["L0H2"]):
        optimised = dict(model.named_parameters())
        with monkeypatch.context() as patch:
            patch.setattr(shrink, "_take", wrong)
            found = refused(model, words, inputs(case))
        assert "PruneMismatch: pruned and gated outputs differ by at most" in found
        assert "nothing was changed" in found
        assert all(parameter is optimised[key] for key, parameter in model.named_parameters())
        prune(model, words)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, torch.OutOfMemoryError])
def test_an_error_in_the_check_restores_the_model(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    model, runs, real = tiny("t5"), 0, prune_module.outputs_of
    before = Before(model, inputs(BY_NAME["t5"]))

    def fail(*args: Any) -> Any:
        nonlocal runs
        runs += 1
        if runs == 2:
            raise error
        return real(*args)

    monkeypatch.setattr(prune_module, "outputs_of", fail)
    with pytest.raises(error):
        prune(model, uneven(BY_NAME["t5"]))
    assert runs == 2
    before.check()


def test_outputs_that_are_not_finite_cannot_be_compared() -> None:
    model = tiny("bert", "eager").half()
    with torch.no_grad():
        model.encoder.layer[0].output.dense.weight.fill_(60_000)
    state = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    with pytest.raises(NotFinite, match="not finite in float16, so that a cut cannot be checked; nothing was changed"):
        prune(model, "L0H1")
    assert all(torch.equal(tensor, state[key]) for key, tensor in model.state_dict().items())


def test_a_batch_of_the_users_own() -> None:
    case = BY_NAME["bert"]
    model, batch = tiny("bert"), inputs(case, "right")
    plain = copy.deepcopy(batch)
    expected = prune(tiny("bert"), "L0H1")
    assert torch.equal(run(prune(model, "L0H1", batch=batch), batch), run(expected, batch))
    assert all(torch.equal(batch[key], tensor) for key, tensor in plain.items())
    for wrong in ({}, {"pixel_values": torch.ones(1, 3, 4, 4)}, {"input_ids": torch.tensor([[999]])}):
        before = Before(model, batch)
        with pytest.raises((ValueError, TypeError, IndexError, KeyError)):
            prune(model, "L0H2", batch=wrong)
        before.check()


def test_the_check_is_kept() -> None:
    model = prune(tiny("bert"), "L0H1")
    found = getattr(model, LAST_CHECK)
    assert isinstance(found, Check)
    assert found.passed
    assert "differ by at most" in str(found)


def test_training_goes_on_in_the_mode_it_was_in() -> None:
    """Dropout is off for the check alone; nothing is drawn, no gradient is left."""
    model = tiny("bert").train()
    model.encoder.layer[1].eval()
    modes, drawn = [module.training for module in model.modules()], torch.random.get_rng_state()
    prune(model, ["L0H1", "L1"])
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(torch.random.get_rng_state(), drawn)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_weights_are_gone() -> None:
    """Their own tensors: no view of the old ones keeps the memory."""
    model = tiny("bert")
    old = model.encoder.layer[0].attention.self.query.weight
    prune(model, "L0H1")
    new = model.encoder.layer[0].attention.self.query.weight
    assert new.untyped_storage().nbytes() == 24 * 32 * 4
    assert new.untyped_storage().data_ptr() != old.untyped_storage().data_ptr()
    assert new.is_leaf
    assert new.is_contiguous()


def test_inside_inference_mode_and_without_gradients() -> None:
    batch, expected = inputs(BERT), run(prune(tiny("bert"), "L0H1"), inputs(BERT))
    for mode in (torch.no_grad(), torch.inference_mode()):
        model = tiny("bert")
        with mode:
            prune(model, "L0H1")
        assert torch.equal(run(model, batch), expected)
        assert not any(parameter.is_inference() for parameter in model.parameters())
        assert model.encoder.layer[0].attention.self.query.weight.requires_grad


def test_a_model_cut_in_inference_mode_can_be_trained() -> None:
    model, batch = tiny("bert"), inputs(BERT)
    with torch.inference_mode():
        prune(model, "L0H1")
    before = run(model, batch)
    model(**batch).last_hidden_state.pow(3).sum().backward()
    gradient = model.encoder.layer[0].attention.self.query.weight.grad
    assert gradient.shape == (24, 32)
    assert gradient.abs().max() > 0
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert not torch.equal(run(model, batch), before)


@pytest.mark.parametrize(
    ("kind", "name", "heads"),
    [
        pytest.param("BertForPreTraining", "bert", "L0H1"),
        pytest.param("GPT2ForSequenceClassification", "gpt2", "L0H1"),
        pytest.param("BartForCausalLM", "bart", "decoder.L0H1"),
        ("BertForQuestionAnswering", "bert", "L0H1"),
        ("BertForMultipleChoice", "bert", "L0H1"),
        ("BertForNextSentencePrediction", "bert", "L0H1"),
        ("ElectraForPreTraining", "electra", "L0H1"),
        ("T5ForTokenClassification", "t5", "L0H1"),
        ("T5EncoderModel", "t5", "L0H1"),
        ("T5ForQuestionAnswering", "t5", "encoder.L0H1"),
        ("BartForSequenceClassification", "bart", "cross.L0H1"),
        ("T5ForSequenceClassification", "t5", "cross.L0H1"),
        ("MPNetForMaskedLM", "mpnet", "L0H1"),
        ("LlamaForSequenceClassification", "llama", "L0H1"),
        ("ViTForImageClassification", "vit", "L0H1"),
        ("MarianMTModel", "marian", "decoder.L0H1"),
        ("OPTForQuestionAnswering", "opt", "L0H1"),
    ],
)
def test_every_kind_of_model_is_checked(kind: str, name: str, heads: str) -> None:
    config = BY_NAME[name].make_config()
    model = prune(getattr(tf, kind)(config).eval(), heads)
    assert getattr(model, LAST_CHECK).passed


def test_a_model_for_very_short_texts() -> None:
    """The check after the cut runs texts that fit into 8 positions."""
    options = BERT.options | {"max_position_embeddings": 8}
    model = prune(tf.BertModel(tf.BertConfig(**options)), "L0H1")
    assert getattr(model, LAST_CHECK).passed
    assert read_anatomy(model).layout.stacks["encoder"][0] == (0, 2, 3)


def test_the_errors_are_two() -> None:
    assert issubclass(CannotPrune, HeadcountError)
    assert issubclass(PruneMismatch, HeadcountError)
    assert not issubclass(UnknownHead, CannotPrune)
