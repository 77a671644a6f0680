"""Two models on the same texts: the formula by hand, what is planted is found, a study is gone on with, refusals."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
import xarray as xr

import headcount as hc
from headcount.core.statistics import mean_interval
from headcount.errors import HeadcountError, InvalidOption, StudyProblem, UnsuitableModel
from headcount.measures.catalogue import MEASURES
from headcount.measures.compare import compare
from headcount.measures.contract import CHANCE
from headcount.measures.measure import measure
from headcount.models.fingerprint import model_fingerprint
from tests.measures import naive
from tests.measures.cases import TREES, Texts, others, sentence, small, table
from tests.measures.planted import PAIRS, ROLES, SENTENCES, SIZE, WORDS
from tests.measures.test_measure import Passes, same
from tests.measures.tiny import assert_untouched, bare_tokenizer, causal, first_output, masked, translator

TEXTS = pd.DataFrame({"text": SENTENCES})
COUPLES = pd.DataFrame(PAIRS, columns=["sentence1", "sentence2"])
BOTH = pd.DataFrame({"source": SENTENCES[:4], "target": SENTENCES[4:8]})
LAYERS = [name for name, one in MEASURES.items() if one.kind == "layers" and not one.needs_logits]


def shaken(model: Any, size: float = 0.1) -> Any:
    """A copy whose weights are all a little different."""
    other = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter += torch.randn(parameter.shape, generator=generator) * size
    return other


def bert(**options: Any) -> Any:
    """The model of `masked`, but for some options."""
    config = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 40,
        "max_position_embeddings": 64,
        "vocab_size": len(WORDS),
        "pad_token_id": 0,
    }
    return tf.BertForMaskedLM(tf.BertConfig(**config | options)).eval()


@pytest.fixture(scope="module")
def models() -> Any:
    """A model, another with the same heads, and their tokenizer."""
    model, tokenizer = masked()
    return model, shaken(model), tokenizer


@pytest.fixture(scope="module")
def found(models: Any) -> xr.DataTree:
    return compare(*models, TEXTS)


@pytest.fixture(scope="module")
def some_found(found: xr.DataTree) -> xr.DataTree:
    return xr.DataTree.from_dict({name: found[name].to_dataset() for name in ("cosine", "entropy", "spread")})


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies are written array by array, which takes its time."""
    monkeypatch.setattr("headcount.measures.compare.MEASURES", {name: MEASURES[name] for name in ("entropy", "spread")})


def cosine(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Of all entries of each head [layer, head]."""
    found = np.empty(one.shape[:2])
    for layer in range(one.shape[0]):
        for head in range(one.shape[1]):
            a, b = one[layer, head].ravel(), other[layer, head].ravel()
            found[layer, head] = sum(a * b) / (sum(a * a) ** 0.5 * sum(b * b) ** 0.5)
    return found


def assert_cosines(found: xr.DataTree, model: Any, other: Any, tokenizer: Any, rows: list[Any]) -> None:
    given = found["cosine"].to_dataset().sel(stack="encoder")
    for number in given.example.values:
        ours, theirs = (naive.see(one, tokenizer, rows[number]) for one in (model, other))
        for name in ("maps", "outputs"):
            expected = cosine(getattr(ours, name), getattr(theirs, name))
            np.testing.assert_allclose(given[f"values_{name}"].sel(example=number), expected, rtol=0, atol=1e-5)


def test_cosines_by_hand(models: Any, found: xr.DataTree) -> None:
    assert_cosines(found, *models, SENTENCES)
    cosines = found["cosine"]["maps"].values
    assert ((cosines > 0.3) & (cosines < 0.98)).all()  # neither the same nor strangers: the formula is put to a test


@pytest.mark.parametrize("tokens", [1, 60, 100_000])
def test_batches_and_padding_change_nothing(models: Any, tokens: int) -> None:
    assert_cosines(compare(*models, COUPLES, compute=hc.Compute(batch_tokens=tokens)), *models, PAIRS)


def test_cosines_of_the_bundled_models(bundled: Any, bundled_pairs: Texts) -> None:
    tuned = hc.load(hc.bundled("qnli"))[0].double()
    found = compare(bundled[0], tuned, bundled[1], hc.bundled_pairs(), limit=3)
    assert_cosines(found, bundled[0], tuned, bundled[1], bundled_pairs.rows)
    means = found["cosine"]["maps"].mean(["stack", "head"]).values
    assert means[-3:].mean() < means[:3].mean()  # fine-tuning changes the last layers most, as in the paper


def test_cosines_of_an_encoder_decoder() -> None:
    model, tokenizer = translator()
    other = shaken(model)
    found = compare(model, other, tokenizer, BOTH)["cosine"]
    for number, (source, target) in enumerate(BOTH.itertuples(index=False)):
        ids = torch.tensor([tokenizer(target)["input_ids"]])
        inputs = {
            **tokenizer(source, return_tensors="pt"),
            "decoder_input_ids": model.prepare_decoder_input_ids_from_labels(labels=ids),
        }
        ours, theirs = (hc.observe(one, inputs) for one in (model, other))
        for stack, (layers, heads) in {"encoder": (3, 4), "decoder": (2, 2), "cross": (2, 2)}.items():
            for name in ("maps", "outputs"):
                given = found[f"values_{name}"].sel(example=number, stack=stack).values
                a, b = (getattr(one, name)[stack][:, :, 0].double().numpy() for one in (ours, theirs))
                np.testing.assert_allclose(given[:layers, :heads], cosine(a, b), rtol=0, atol=1e-5)
                assert np.isnan(given[layers:]).all()
                assert np.isnan(given[:, heads:]).all()


def test_against_itself_nothing_has_changed(models: Any) -> None:
    model, _, tokenizer = models
    for other in (model, copy.deepcopy(model)):
        found = compare(model, other, tokenizer, TEXTS)
        for name in ("maps", "outputs"):
            np.testing.assert_allclose(found["cosine"][f"values_{name}"], 1, rtol=0, atol=1e-6)
        assert len(found.children) == 11
        for name in set(found.children) - {"cosine"}:
            for variable, array in found[name].data_vars.items():
                assert not array.values[np.isfinite(array.values)].any(), (name, variable)
                assert np.isfinite(array.values).any()


def test_a_silent_head_has_not_changed(models: Any) -> None:
    model = copy.deepcopy(models[0])
    with torch.no_grad():
        model.bert.encoder.layer[0].attention.self.value.weight[:8] = 0
        model.bert.encoder.layer[0].attention.self.value.bias[:8] = 0
    outputs = compare(model, model, models[2], TEXTS)["cosine"]["outputs"].values
    np.testing.assert_allclose(outputs[np.isfinite(outputs)], 1, atol=1e-6)


@pytest.mark.parametrize("kind", ["texts", "pairs", "trees", "translations", "causal"])
def test_a_change_is_the_difference_text_by_text(models: Any, kind: str) -> None:
    model, other, tokenizer = models
    data = {"texts": TEXTS, "pairs": COUPLES, "trees": table([sentence(one) for one in TREES])}.get(kind, TEXTS)
    if kind == "translations":
        (model, tokenizer), data = translator(), BOTH
        other = shaken(model)
    elif kind == "causal":
        model, tokenizer = causal()
        other = shaken(model)
    changed = compare(model, other, tokenizer, data)
    names = [name for name in LAYERS if name in changed.children]
    assert set(changed.children) == {"cosine", *names}
    assert ("links" in names, "sentences" in names) == (kind == "trees", kind == "pairs")
    before, after = (measure(one, tokenizer, data, only=names) for one in (model, other))
    moved = 0
    for name in names:
        # Chance is the same for both models.
        variables = [
            str(one)
            for one in before[name].data_vars
            if str(one).startswith("values_") and not str(one).endswith(CHANCE)
        ]
        assert variables
        assert {f"values_{one}" for one in changed[name].data_vars} >= set(variables)
        for variable in variables:
            expected = after[name][variable].values - before[name][variable].values
            np.testing.assert_allclose(changed[name][variable], expected, rtol=0, atol=2e-5, err_msg=variable)
            moved += int((abs(np.nan_to_num(expected)) > 0.01).sum())
        assert changed[name].attrs["summary"].startswith("change of: ")
    assert moved > 500
    assert set(names) == set(LAYERS) & set(measure(model, tokenizer, data, distance_examples=1).children)


def test_intervals_are_paired(found: xr.DataTree) -> None:
    for name, variable in (("entropy", "entropy"), ("position", "attention"), ("cosine", "maps")):
        values = found[name][f"values_{variable}"].values
        for end, expected in zip(("", "_low", "_high"), mean_interval(values, seed=0), strict=True):
            np.testing.assert_allclose(found[name][f"{variable}{end}"], expected, rtol=1e-5, atol=1e-6)
    assert (found["entropy"]["entropy_low"] < found["entropy"]["entropy"]).all()


def test_what_is_said_beside_the_numbers(models: Any, found: xr.DataTree) -> None:
    assert found.attrs == {"cut": 0, "texts": 10, "blank_rows": {"count": 0, "of": 10, "rows": []}}
    assert "gradients" not in found.children
    assert found["cosine"].attrs["other"] == model_fingerprint(models[1])
    assert found["cosine"]["example"].values.tolist() == list(range(10))
    assert (
        compare(*models, TEXTS, max_length=8).attrs["cut"]
        == sum(len(models[2](text)["input_ids"]) > 8 for text in TEXTS["text"])
        > 0
    )
    some = compare(*models, TEXTS, limit=4, seed=2)
    assert some.attrs["texts"] == 4
    assert some["cosine"]["example"].values.tolist() == sorted(np.random.default_rng(2).permutation(10)[:4])


def test_a_thousand_texts_by_default(models: Any) -> None:
    many = pd.DataFrame({"text": ["dog"] * 1003})
    assert compare(*models, many).attrs["texts"] == 1000
    assert compare(*models, many, limit=None).attrs["texts"] == 1003


def test_the_changed_head_of_the_planted_model_alone(planted_model: Any) -> None:
    """Nothing that a head of this model reads is written by another: the head that now looks ahead stands alone."""
    model, tokenizer = planted_model
    other = copy.deepcopy(model)
    with torch.no_grad():
        there, back = (other.bert.encoder.layer[layer].attention.self.query.weight for layer in (1, 0))
        back[:SIZE] = there[SIZE : 2 * SIZE]  # L0H0, which looked back, asks for what L1H1 asks for
    found = compare(model, other, tokenizer, TEXTS)
    place = ROLES["previous"]
    assert place == "L0H0"
    cosines = found["cosine"]["maps"]
    assert cosines.values[0, 0, 0] < 0.1
    np.testing.assert_allclose(others(cosines, place), 1, rtol=0, atol=1e-6)
    for variable, expected in (("previous", -1), ("next", 1)):
        changed = found["position"][variable]
        assert changed.values[0, 0, 0] == pytest.approx(expected, abs=0.03)  # a token at the end has none to look at
        assert not others(changed, place).any()


@pytest.mark.parametrize("kind", ["bert", "llama", "cross"])
def test_the_changed_head_alone_in_its_layer(kind: str) -> None:
    """Its layer's other heads are unchanged bit by bit; later layers hear of it."""
    data = TEXTS
    if kind == "bert":
        model, tokenizer = masked()
        query, stack, layers, size = "bert.encoder.layer.0.attention.self.query", "encoder", 2, 8
    elif kind == "llama":  # two heads share keys and values
        model, tokenizer = small("LlamaForCausalLM", "llama"), bare_tokenizer()
        query, stack, layers, size = "model.layers.0.self_attn.q_proj", "decoder", 3, 8
    else:
        (model, tokenizer), data = translator(), BOTH
        query, stack, layers, size = "model.decoder.layers.0.encoder_attn.q_proj", "cross", 2, 16
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.get_submodule(query).weight[size : 2 * size] *= -2  # head 1
    found = compare(model, other, tokenizer, data)
    cosines, entropies = (
        found[name][variable].sel(stack=stack).values
        for name, variable in (("cosine", "maps"), ("entropy", "values_entropy"))
    )
    rest = [head for head in range(cosines.shape[1]) if head != 1 and np.isfinite(cosines[0, head])]
    assert rest
    assert cosines[0, 1] < 0.99
    np.testing.assert_allclose(cosines[0, rest], 1, rtol=0, atol=1e-6)
    assert entropies[:, 0, 1].all()
    assert not entropies[:, 0, rest].any()
    assert entropies[:, 1:layers, rest].any()
    if kind == "cross":
        assert not found["entropy"]["values_entropy"].sel(stack="encoder").any()
        assert not found["entropy"]["values_entropy"].sel(stack="decoder", layer=0)[..., :2].any()


def test_a_study_holds_the_same_as_the_memory(models: Any, found: xr.DataTree, tmp_path: Path) -> None:
    stored = compare(*models, TEXTS, out=tmp_path / "study")
    same(stored, found)
    assert stored.attrs == found.attrs
    opened = hc.open_study(tmp_path / "study")
    assert list(opened.children) == ["compare"]
    assert set(opened["compare"].children) == set(found.children)
    assert all(node.attrs["complete"] is True for node in opened["compare"].children.values())


@pytest.mark.usefixtures("few")
def test_killed_between_two_models(some_found: xr.DataTree, tmp_path: Path) -> None:
    """The first model's pass is lost with its maps, and nothing of it is left on either model."""
    model, tokenizer = masked()
    other = shaken(model)
    batch = dict(tokenizer(SENTENCES[:3], padding=True, return_tensors="pt"))
    before = [first_output(one, batch) for one in (model, other)]
    gate = Passes(other)
    gate.closed = True
    with pytest.raises(AssertionError, match="the model was run"):
        compare(model, other, tokenizer, TEXTS, out=tmp_path / "study")
    gate.handle.remove()
    for one, output in zip((model, other), before, strict=True):
        assert_untouched(one, batch, output)
    same(compare(model, other, tokenizer, TEXTS, out=tmp_path / "study"), some_found)
    for one, output in zip((model, other), before, strict=True):
        assert_untouched(one, batch, output)


def test_dropout_is_off_and_comes_back(found: xr.DataTree) -> None:
    model, tokenizer = masked()
    other = shaken(model).train()
    model.train()
    same(compare(model, other, tokenizer, TEXTS), found)
    assert model.training
    assert other.training


def test_inside_inference_mode(models: Any, found: xr.DataTree) -> None:
    with torch.inference_mode():
        same(compare(*models, TEXTS), found)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("what", ["other", "model", "seed", "data"])
def test_something_else_in_the_same_study_is_refused(models: Any, tmp_path: Path, what: str) -> None:
    model, other, tokenizer = models
    compare(*models, TEXTS[:3], out=tmp_path / "study")
    call = {"model": model, "other": other, "tokenizer": tokenizer, "data": TEXTS[:3], "seed": 0}
    call |= {
        "other": {"other": model},
        "model": {"model": shaken(model, 0.2)},
        "seed": {"seed": 1},
        "data": {"data": TEXTS[1:4]},
    }[what]
    with pytest.raises(StudyProblem, match=f"{what}: ") as error:
        compare(**call, out=tmp_path / "study")
    assert "compare/" in str(error.value)
    assert "\n" not in str(error.value)
    named = compare(**call, out=tmp_path / "study", name="second")
    assert "cosine@second" in hc.open_study(tmp_path / "study")["compare"].children
    same(named, compare(**call))


@pytest.mark.usefixtures("few")
def test_measures_and_changes_live_in_one_study(models: Any, tmp_path: Path) -> None:
    measured = measure(models[0], models[2], TEXTS, only="entropy", out=tmp_path / "study")
    compare(*models, TEXTS, out=tmp_path / "study")
    same(measure(models[0], models[2], TEXTS, only="entropy", out=tmp_path / "study"), measured)
    assert set(hc.open_study(tmp_path / "study").children) == {"measures", "compare"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_hidden_layers": 3}, r"\(2, 4\).*\(3, 4\)"),
        ({"num_attention_heads": 8}, r"\(2, 4\).*\(2, 8\)"),
        ({"vocab_size": 99}, "64 and 99 pieces"),
        ({"hidden_size": 48}, "size of their heads.*8.*12"),
        ({"type_vocab_size": 1}, "only one of the two models has segments"),
    ],
)
def test_models_that_differ_are_refused(models: Any, tmp_path: Path, options: dict[str, int], said: str) -> None:
    with pytest.raises(HeadcountError, match=said) as error:
        compare(models[0], bert(**options), models[2], COUPLES, out=tmp_path / "study")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "study").exists()


def test_texts_are_cut_to_what_both_models_take(models: Any) -> None:
    found = compare(models[0], bert(max_position_embeddings=8), models[2], TEXTS)
    assert found.attrs["cut"] > 0


def test_models_of_another_kind_are_refused(models: Any) -> None:
    with pytest.raises(UnsuitableModel, match="encoder.*decoder"):
        compare(models[0], causal()[0], models[2], TEXTS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 0}, "limit=0"),
        ({"compute": hc.Compute(batch_tokens=0)}, "batch_tokens=0"),
        ({"max_length": -1}, "max_length=-1"),
    ],
)
def test_options_that_cannot_be(models: Any, options: dict[str, int], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        compare(*models, TEXTS, **options)


@pytest.mark.parametrize(
    "which",
    [0, 1],
)
def test_an_ablated_model_goes_into_no_study(models: Any, tmp_path: Path, which: int) -> None:
    """The study names a model by its weights, which are those of the model itself."""
    with hc.ablated(models[which], "L0H0"), pytest.raises(InvalidOption, match="ablated"):
        compare(*models, TEXTS[:2], out=tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_an_ablated_model_in_memory(models: Any) -> None:
    """Without a study it can be asked what an ablation does to the heads behind it."""
    model, _, tokenizer = models
    other = copy.deepcopy(model)
    with hc.ablated(other, "L0H2", how="uniform"):
        found = compare(model, other, tokenizer, TEXTS)
    cosines = found["cosine"]["maps"].values[0]
    assert cosines[0, 2] < 0.95
    np.testing.assert_allclose(cosines[0, [0, 1, 3]], 1, rtol=0, atol=1e-6)
    assert (cosines[1] < 1 - 1e-4).all()
    np.testing.assert_allclose(
        found["entropy"]["values_entropy"].values[:, 0, 0, 2],
        measure(model, tokenizer, TEXTS, only="entropy")["entropy"]["values_uniform"].values[:, 0, 0, 2]
        - measure(model, tokenizer, TEXTS, only="entropy")["entropy"]["values_entropy"].values[:, 0, 0, 2],
        rtol=0,
        atol=1e-5,
    )
