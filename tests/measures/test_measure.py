"""A whole measurement: in memory and in a study, killed and gone on with, read back, refused; models of all kinds."""

from __future__ import annotations

import copy
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
import xarray as xr

import headcount as hc
from headcount.data.kinds.masked_lm import MaskedLM
from headcount.engines import sinks
from headcount.errors import InvalidOption, StudyProblem
from headcount.measures import passes
from headcount.measures.catalogue import MEASURES
from headcount.measures.measure import measure
from headcount.trace import scores as scores_module
from tests.measures.planted import PAIRS, SENTENCES
from tests.measures.tiny import assert_untouched, causal, first_output, masked, translator

TEXTS = pd.DataFrame({"text": SENTENCES})
COUPLES = pd.DataFrame(PAIRS, columns=["sentence1", "sentence2"])
TREES = pd.DataFrame(
    {
        "tokens": [["The", "dogs", "saw", "her", "."], ["She", "slept"]],
        "upos": [["DET", "NOUN", "VERB", "PRON", "PUNCT"], ["PRON", "VERB"]],
        "heads": [[2, 3, 0, 3, 3], [2, 0]],
        "deprels": [["det", "nsubj", "root", "obj", "punct"], ["nsubj", "root"]],
    }
)
SOME = "position,entropy,gradients"


class Passes:
    """Counts the texts that a model runs on, or lets nothing pass."""

    def __init__(self, model: Any) -> None:
        self.texts, self.closed = 0, False
        self.handle = model.register_forward_pre_hook(self, with_kwargs=True)

    def __call__(self, model: Any, args: Any, kwargs: Any) -> None:
        assert not self.closed, "the model was run"
        self.texts += len(kwargs["input_ids"])


@pytest.fixture(scope="module")
def bert() -> Any:
    return masked()


@pytest.fixture(scope="module")
def counted() -> Any:
    model, tokenizer = masked()
    return model, tokenizer, Passes(model)


@pytest.fixture(scope="module")
def whole(bert: Any) -> xr.DataTree:
    """All measures of the sentences, in memory."""
    return measure(*bert, TEXTS)


@pytest.fixture
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "UNIT", 3)


def same(one: Any, other: Any, atol: float = 0.0) -> None:
    """Two trees hold the same numbers under the same names; the marks of a study's units are no numbers."""
    assert set(one.children) == set(other.children)
    for name, node in one.children.items():
        ours, theirs = node.to_dataset(), other[name].to_dataset()
        assert set(ours.variables) - {"done"} == set(theirs.variables) - {"done"}
        for variable in set(ours.variables) - {"done"}:
            found, expected = ours[variable], theirs[variable]
            assert found.dims == expected.dims
            if found.dtype.kind == "f":
                np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=f"{name} {variable}")
            else:
                assert found.values.tolist() == expected.values.tolist()


def test_all_measures_that_make_sense(whole: xr.DataTree) -> None:
    left_out = {"sentences", "repeated", "links", "retrieval", "copying", "direct_effect"}
    assert set(whole.children) == set(MEASURES) - left_out
    assert set(whole.attrs["left_out"]) == left_out
    assert whole.attrs["left_out"]["sentences"] == "the texts are no pairs"
    assert "annotated" in whole.attrs["left_out"]["links"]
    assert (whole.attrs["cut"], whole.attrs["texts"]) == (0, 10)
    for name, node in whole.children.items():
        assert node.attrs["measure"] == name
        assert node.attrs["summary"] == MEASURES[name].summary
        assert node.attrs["model_class"] == "BertForMaskedLM"
        assert {"torch", "headcount"} <= set(node.attrs["versions"])
        assert node["example"].values.tolist() == list(range(10))
        assert node["head"].values.tolist() == [0, 1, 2, 3]


def test_values_are_numbers_a_text_and_head_and_no_more(whole: xr.DataTree) -> None:
    """No dimension is one of tokens: nothing as large as a map is kept."""
    for name, node in whole.children.items():
        sizes = dict(node.sizes)
        assert set(sizes) - {"example", "stack", "layer", "head"} == set(MEASURES[name].coords(_setting(whole)))
        for variable, array in node.data_vars.items():
            if str(variable).startswith("values_"):
                assert array.dims[:4] == ("example", "stack", "layer", "head")
                assert array.dtype == np.float32


def _setting(whole: xr.DataTree) -> Any:
    from headcount.measures.contract import Setting

    assert set(whole["position"].sizes) >= {"layer"}
    return Setting(("cls", "sep"), False, False, MaskedLM(), {"encoder": 2}, 4)


def test_intervals_hold_the_means(whole: xr.DataTree) -> None:
    checked = 0
    for name, node in whole.children.items():
        for variable in MEASURES[name].variables(_setting(whole)):
            if variable not in node.data_vars:
                continue
            mean, low, high = (node[f"{variable}{end}"].values for end in ("", "_low", "_high"))
            values = node[f"values_{variable}"].values
            known = np.isfinite(values).any(0)
            assert np.isnan(mean[~known]).all()
            assert (np.isfinite(mean) == np.isfinite(low)).all()
            np.testing.assert_allclose(mean[known], np.nanmean(values[:, known], 0), rtol=1e-5, atol=1e-7)
            assert (low[known] <= mean[known] + 1e-6).all()
            assert (high[known] >= mean[known] - 1e-6).all()
            spread = np.nanstd(values[:, known], 0) > 1e-4
            several = np.isfinite(values[:, known]).sum(0) == 10
            assert (low[known] < high[known])[spread & several].all()
            checked += int(known.sum())
    assert checked > 500


def test_a_text_has_the_values_that_it_has_alone(bert: Any, whole: xr.DataTree) -> None:
    """Whatever the order, the padding and the batch: rows are not mixed up."""
    for number in (1, 7):
        alone = measure(*bert, TEXTS.iloc[[number]], only="position,special,entropy,spread,contribution,features")
        for name, node in alone.children.items():
            for variable in (str(one) for one in node.data_vars if str(one).startswith("values_")):
                np.testing.assert_allclose(
                    node[variable].values[0],
                    whole[name][variable].sel(example=number),
                    rtol=0,
                    atol=2e-5,
                    err_msg=f"{name} {variable}",
                )


@pytest.mark.parametrize("tokens", [1, 40, 100_000])
def test_batches_change_nothing(bert: Any, whole: xr.DataTree, tokens: int) -> None:
    found = measure(*bert, TEXTS, only=SOME, compute=hc.Compute(batch_tokens=tokens))
    for name in SOME.split(","):
        for variable, array in found[name].data_vars.items():
            if str(variable).startswith("values_"):
                np.testing.assert_allclose(array, whole[name][variable], rtol=0, atol=2e-5)


def test_a_study_holds_the_same_as_the_memory(bert: Any, tmp_path: Path, whole: xr.DataTree) -> None:
    found = measure(*bert, TEXTS, out=tmp_path / "study")
    same(found, whole)
    assert found.attrs == whole.attrs
    opened = hc.open_study(tmp_path / "study")["measures"]
    assert set(opened.children) == set(whole.children)
    for name, node in opened.children.items():
        assert node.attrs["complete"] is True
        np.testing.assert_array_equal(node.to_dataset().sortby("example")["example"], whole[name]["example"])


def test_the_same_call_again_does_not_run_the_model(counted: Any, tmp_path: Path) -> None:
    model, tokenizer, passes_made = counted
    first = measure(model, tokenizer, TEXTS, only=SOME, out=tmp_path / "study")
    assert passes_made.texts >= 20
    passes_made.closed = True
    told = []
    try:
        again = measure(
            model, tokenizer, TEXTS, only=SOME, out=tmp_path / "study", progress=lambda *at: told.append(at)
        )
        # Some of them alone, in another order, with other batches: the same numbers are asked for.
        part = measure(
            model,
            tokenizer,
            TEXTS,
            only=["gradients", "entropy"],
            out=tmp_path / "study",
            compute=hc.Compute(batch_tokens=7),
        )
        with pytest.raises(AssertionError, match="the model was run"):
            measure(model, tokenizer, TEXTS, only="special", out=tmp_path / "study")
    finally:
        passes_made.closed = False
    same(again, first)
    assert list(part.children) == ["entropy", "gradients"]
    assert set(told) == {(10, 10)}


class Killed(BaseException):
    pass


@pytest.mark.usefixtures("small_units")
def test_killed_between_two_measures_of_a_unit(counted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One measure has its unit, the other has not: only what is missing is computed."""
    model, tokenizer, passes_made = counted
    names = "position,special,spread"
    whole = measure(model, tokenizer, TEXTS, only=names)
    saved: list[str] = []
    real = sinks.FolderSink.save

    def save(self: Any, unit: int, values: Any, place: str) -> None:
        if len(saved) == 4:
            raise Killed
        saved.append(self.run.attributes["measure"])
        real(self, unit, values, place)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(sinks.FolderSink, "save", save)
        measure(model, tokenizer, TEXTS, only=names, out=tmp_path / "study")
    assert saved == ["position", "special", "spread", "position"]
    passes_made.texts = 0
    ran: list[tuple[str, int]] = []
    monkeypatch.setattr(
        sinks.FolderSink,
        "save",
        lambda self, unit, *rest: (ran.append((self.run.attributes["measure"], unit)), real(self, unit, *rest)),
    )
    found = measure(model, tokenizer, TEXTS, only=names, out=tmp_path / "study")
    assert passes_made.texts == 7
    assert sorted(ran) == [
        ("position", 2),
        ("position", 3),
        *[(name, unit) for name in ("special", "spread") for unit in (1, 2, 3)],
    ]
    same(found, whole, atol=2e-6)


def test_a_further_measure_stands_beside_the_first(counted: Any, tmp_path: Path) -> None:
    model, tokenizer, passes_made = counted
    measure(model, tokenizer, TEXTS, only="position", out=tmp_path / "study")
    passes_made.texts = 0
    both = measure(model, tokenizer, TEXTS, only="position,spread", out=tmp_path / "study")
    assert passes_made.texts == 10
    assert set(both.children) == {"position", "spread"}
    assert set(hc.open_study(tmp_path / "study")["measures"].children) == {"position", "spread"}
    same(both, measure(model, tokenizer, TEXTS, only="position,spread"))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seed": 1}, "seed: 0 -> 1"),
        ({"limit": 4}, "examples: 10 -> 4"),
        ({"max_length": 8}, "max_length: 64 -> 8"),
        ({"data": TEXTS[::-1]}, "data:"),
    ],
)
def test_other_options_are_refused(bert: Any, tmp_path: Path, other: dict[str, Any], said: str) -> None:
    measure(*bert, TEXTS, only="spread", out=tmp_path / "study")
    call = {"data": TEXTS, "only": "spread", "out": tmp_path / "study"} | other
    with pytest.raises(StudyProblem) as found:
        measure(*bert, **call)
    message = str(found.value)
    assert said in message
    assert "measures/spread" in message
    assert "\n" not in message
    named = measure(*bert, **call, name="second")
    assert set(hc.open_study(tmp_path / "study")["measures"].children) == {"spread", "spread@second"}
    same(named, measure(*bert, **{key: value for key, value in call.items() if key != "out"}))


def test_a_refused_call_leaves_the_study_as_it_was(bert: Any, tmp_path: Path) -> None:
    measure(*bert, TEXTS, only="spread", out=tmp_path / "study")
    with pytest.raises(StudyProblem, match="spread"):
        measure(*bert, TEXTS, only="position,spread", seed=1, out=tmp_path / "study")
    measure(*bert, TEXTS, only="position", out=tmp_path / "study")


def test_another_model_is_refused(bert: Any, tmp_path: Path) -> None:
    measure(*bert, TEXTS, only="spread", out=tmp_path / "study")
    other = copy.deepcopy(bert[0])
    with torch.no_grad():
        other.bert.encoder.layer[0].attention.self.query.weight += 1
    with pytest.raises(StudyProblem, match="model: "):
        measure(other, bert[1], TEXTS, only="spread", out=tmp_path / "study")


@pytest.mark.parametrize("what", ["an ablated model", "other annotations"])
def test_numbers_of_something_else_are_not_read_back(bert: Any, tmp_path: Path, what: str) -> None:
    """In a study, numbers of an ablated model, or of trees mended since, are not those that are asked for."""
    later = TREES
    if what == "other annotations":
        measure(*bert, TREES, only="links", out=tmp_path / "study")
        later = TREES.assign(deprels=[["det", "obj", "root", "nsubj", "punct"], ["nsubj", "root"]])
    else:
        try:
            with hc.ablated(bert[0], "L0", how="uniform"):
                measure(*bert, TREES, only="links", out=tmp_path / "study")
        except InvalidOption:
            return
    try:
        found = measure(*bert, later, only="links", out=tmp_path / "study")
    except StudyProblem:
        return
    same(found, measure(*bert, later, only="links"))


def test_a_folder_that_is_no_study(bert: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StudyProblem, match="not a study"):
        measure(*bert, TEXTS, only="spread", out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"only": "positions"}, "'positions'"),
        ({"only": ["position", "nonsense"]}, "'nonsense'"),
        ({"only": []}, "none"),
        ({"only": ["position", "sentences"]}, "sentences cannot be measured here: the texts are no pairs"),
        ({"only": ["sentences", "position"]}, "the texts are no pairs; leave it out: only=position"),
        (
            {"only": "sentences,links,repeated,spread,position"},
            "sentences, repeated cannot be measured here: the texts",
        ),
        ({"only": "sentences,links,spread,position"}, "; leave them out: only=spread,position"),
        ({"only": "links"}, "; leave only= out for all measures that are possible here"),
        ({"only": "links"}, "links cannot be measured here: the texts are not annotated"),
        ({"limit": 0}, "limit=0"),
        ({"limit": -1}, "limit=-1"),
        ({"compute": hc.Compute(batch_tokens=0)}, "batch_tokens=0"),
        ({"distance_examples": 0}, "distance_examples=0"),
        ({"max_length": 0}, "max_length=0"),
        ({"max_length": -3}, "max_length=-3"),
    ],
)
def test_options_that_cannot_be(bert: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption) as found:
        measure(*bert, TEXTS, **options)
    assert said in str(found.value)
    assert "\n" not in str(found.value)


def test_without_a_language_model_head_there_are_no_gradients(bert: Any) -> None:
    model, tokenizer = bert
    with pytest.raises(InvalidOption, match="gradients cannot be measured here: the model has no language-model head"):
        measure(model.bert, tokenizer, TEXTS, only="gradients")
    found = measure(model.bert, tokenizer, TEXTS.iloc[:3], distance_examples=1)
    assert "gradients" not in found.children
    assert found.attrs["left_out"]["gradients"] == "the model has no language-model head"


def test_a_discriminator_is_no_language_model(bert: Any) -> None:
    """ELECTRA's ForPreTraining guesses which tokens were replaced: it has no words to lose."""
    config = tf.ElectraConfig(
        vocab_size=64,
        embedding_size=16,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=40,
        max_position_embeddings=64,
    )
    found = measure(tf.ElectraForPreTraining(config).eval(), bert[1], TEXTS.iloc[:3], distance_examples=1)
    assert "gradients" in found.attrs["left_out"]


def test_pairs_and_trees_have_measures_of_their_own(bert: Any) -> None:
    pairs = measure(*bert, COUPLES, only="sentences,repeated")
    assert np.isfinite(pairs["sentences"]["own"]).all()
    assert np.isfinite(pairs["repeated"]["gain"]).all()
    trees = measure(*bert, TREES, only="links,features")
    assert np.isfinite(trees["links"]["attention"].sel(link="verb to subject")).all()
    assert np.isnan(trees["links"]["attention"].sel(link="noun to pronoun")).all()
    assert np.isnan(trees["features"]["values_attention"].sel(feature="noun", example=1)).all()
    assert np.isfinite(trees["features"]["attention"].sel(feature="noun")).all()


def test_a_limit_takes_the_same_texts_for_the_same_seed(bert: Any, whole: xr.DataTree) -> None:
    some = measure(*bert, TEXTS, only="spread", limit=4, seed=2)
    numbers = some["spread"]["example"].values
    assert len(numbers) == some.attrs["texts"] == 4
    assert numbers.tolist() == sorted(np.random.default_rng(2).permutation(10)[:4])
    np.testing.assert_allclose(
        some["spread"]["values_distance"], whole["spread"]["values_distance"].sel(example=numbers), atol=2e-5
    )


def test_distances_take_some_of_the_texts(bert: Any, whole: xr.DataTree) -> None:
    found = measure(*bert, TEXTS, only="spread,distances", distance_examples=3, seed=1)
    assert len(found["spread"]["example"]) == 10
    numbers = found["distances"]["example"].values
    assert len(set(numbers.tolist())) == 3
    np.testing.assert_allclose(
        found["distances"]["values_distance"], whole["distances"]["values_distance"].sel(example=numbers), atol=2e-5
    )


def test_cut_texts_are_counted(bert: Any) -> None:
    found = measure(*bert, TEXTS, only="spread", max_length=8)
    assert found.attrs["cut"] == sum(len(bert[1](text)["input_ids"]) > 8 for text in SENTENCES) > 0
    assert found["spread"].attrs["cut"] == found.attrs["cut"]


def test_a_text_of_one_word(bert: Any, tmp_path: Path) -> None:
    found = measure(*bert, pd.DataFrame({"text": ["dog"]}), out=tmp_path / "study")
    assert found["spread"]["confidence"].notnull().all()
    np.testing.assert_allclose(found["spread"]["confidence_low"], found["spread"]["confidence"], atol=1e-6)


def test_a_text_of_one_token() -> None:
    """Nothing to choose from: all attention is on the token itself, and nobody warns."""
    model, tokenizer = causal()
    found = measure(model, tokenizer, pd.DataFrame({"text": ["dog"]}), only="position,special,spread,contribution")
    np.testing.assert_allclose(found["position"]["same"], 1)
    assert np.isnan(found["position"]["previous"]).all()
    np.testing.assert_allclose(found["spread"]["confidence"], 1)
    np.testing.assert_allclose(found["spread"]["distance"], 0)
    np.testing.assert_allclose(found["special"]["first"], 1)
    mixed = measure(model, tokenizer, pd.DataFrame({"text": ["dog", "The dog saw a cat."]}))
    assert np.isfinite(mixed["entropy"]["entropy"]).all()
    assert np.isfinite(mixed["gradients"]["other"]).all()


@pytest.mark.parametrize("name", ["entropy", "distances", "gradients"])
def test_only_texts_of_one_token(name: str) -> None:
    found = measure(*causal(), pd.DataFrame({"text": ["dog", "cat"]}), only=name)[name]
    if name == "entropy":
        np.testing.assert_allclose(found["entropy"], 0, atol=1e-6)
        assert not np.isinf(found["share_of_uniform"]).any()
        assert not (found["broad"] == 1).any()
    elif name == "distances":
        np.testing.assert_allclose(found["distance"], 0, atol=1e-6)
    else:  # there is no next word: the question does not apply
        assert np.isnan(found["other"]).all()


def test_heads_that_are_absent_are_nan() -> None:
    """An encoder of 3 layers of 4 heads, a decoder of 2 layers of 2."""
    data = pd.DataFrame({"source": SENTENCES[:4], "target": SENTENCES[4:8]})
    found = measure(*translator(), data, only="entropy,spread,special,contribution,gradients,distances")
    shown = {"encoder": np.ones((3, 4), bool), "decoder": np.zeros((3, 4), bool), "cross": np.zeros((3, 4), bool)}
    shown["decoder"][:2, :2] = shown["cross"][:2, :2] = True
    for name, variable in (
        ("entropy", "entropy"),
        ("spread", "confidence"),
        ("special", "other"),
        ("contribution", "share"),
        ("gradients", "other"),
        ("distances", "x"),
    ):
        for stack, there in shown.items():
            array = found[name][variable].sel(stack=stack).values
            assert (np.isfinite(array) == there).all(), (name, stack)
    distance = found["distances"]["distance"].sel(stack="decoder").values
    assert np.isfinite(distance[:2, :2, :2, :2]).all()
    assert np.isnan(distance[2]).all()
    assert np.isnan(distance[:, :, :, 2:]).all()
    assert np.isnan(found["spread"]["distance"].sel(stack="cross")).all()


def test_what_a_decoder_looks_at_is_what_it_reads() -> None:
    """It reads the start token and the target without its last token: full stops are one place further on."""
    model, tokenizer = translator()
    data = pd.DataFrame({"source": ["The dog saw a cat."], "target": ["She saw it, and he ran. They slept"]})
    found = measure(model, tokenizer, data, only="special")["special"]["punctuation"].sel(stack="decoder").values
    labels = torch.tensor([tokenizer(data["target"][0])["input_ids"]])
    ids = model.prepare_decoder_input_ids_from_labels(labels=labels)
    source = tokenizer(data["source"][0], return_tensors="pt")
    maps = hc.observe(model, {**source, "decoder_input_ids": ids}).maps["decoder"][:, :, 0]
    stops = [place for place, token in enumerate(tokenizer.convert_ids_to_tokens(ids[0])) if token in {".", ","}]
    assert len(stops) == 2
    expected = maps[..., stops].sum(-1).mean(-1)
    np.testing.assert_allclose(found[:2, :2], expected, atol=1e-5)


def test_no_map_is_built_for_the_entropy_alone(bert: Any, whole: xr.DataTree, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(call: Any) -> None:
        raise AssertionError("a map was built")

    monkeypatch.setattr(scores_module, "_scores", fail)
    found = measure(*bert, TEXTS, only="entropy")["entropy"]
    np.testing.assert_allclose(found["entropy"], whole["entropy"]["entropy"], atol=1e-5)
    with pytest.raises(AssertionError, match="a map was built"):
        measure(*bert, TEXTS, only="position")


@pytest.mark.usefixtures("one_core")
def test_one_map_at_a_time(bert: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[weakref.ref[Any]] = []
    real = scores_module._scores

    def watched(call: Any) -> Any:
        assert not any(one() is not None for one in kept)
        made = real(call)
        kept.append(weakref.ref(made))
        return made

    monkeypatch.setattr(scores_module, "_scores", watched)
    measure(
        *bert, TEXTS, only="position,special,entropy,spread,features,contribution", compute=hc.Compute(batch_tokens=50)
    )
    assert len(kept) >= 4  # two layers, several batches
    assert not any(one() is not None for one in kept)


def fail_when_done(done: float, _: float) -> None:
    if done:
        raise Killed


@pytest.mark.parametrize("only", ["position", "gradients", "distances"])
def test_nothing_stays_behind(bert: Any, only: str) -> None:
    model, tokenizer = bert
    batch = dict(tokenizer(SENTENCES[:3], padding=True, return_tensors="pt"))
    before = first_output(model, batch)
    with pytest.raises(Killed):
        measure(model, tokenizer, TEXTS, only=only, progress=fail_when_done)
    assert_untouched(model, batch, before)
    calls: list[tuple[float, float]] = []
    measure(model, tokenizer, TEXTS, only=only, progress=lambda *at: calls.append(at))
    assert calls == [(0, 10), (10, 10)]
    assert_untouched(model, batch, before)


@pytest.mark.parametrize("name", ["position", "entropy", "contribution", "distances", "gradients"])
def test_inside_inference_mode(bert: Any, whole: xr.DataTree, name: str) -> None:
    with torch.inference_mode():
        found = measure(*bert, TEXTS, only=name)[name]
    variable = next(iter(MEASURES[name].variables(_setting(whole))))
    np.testing.assert_allclose(found[variable], whole[name][variable], atol=1e-5)


def test_weights_that_were_changed_through_data_count() -> None:
    model, tokenizer = masked()
    before = measure(model, tokenizer, TEXTS, only="contribution")["contribution"]["written"].values
    model.bert.encoder.layer[0].attention.output.dense.weight.data.mul_(2)
    after = measure(model, tokenizer, TEXTS, only="contribution")["contribution"]["written"].values
    np.testing.assert_allclose(after[0, 0], 2 * before[0, 0], rtol=1e-4)


def test_weights_that_were_changed_in_place_count() -> None:
    model, tokenizer = masked()
    before = measure(model, tokenizer, TEXTS, only="contribution")["contribution"]["written"].values
    with torch.no_grad():
        model.bert.encoder.layer[0].attention.output.dense.weight.mul_(2)
    after = measure(model, tokenizer, TEXTS, only="contribution")["contribution"]["written"].values
    np.testing.assert_allclose(after[0, 0], 2 * before[0, 0], rtol=1e-4)
