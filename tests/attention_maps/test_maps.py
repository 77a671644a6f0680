"""Attention maps as bytes: the same as `observe` sees, small on the disk, refused where they cannot be taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import tokenizers
import torch
import transformers as tf
import zarr

import headcount as hc
from headcount.attention_maps import plan as module
from headcount.attention_maps.maps import pack, store_maps, unpack
from headcount.attention_maps.plan import plan_maps
from headcount.errors import (
    CannotWrite,
    DataProblem,
    InvalidOption,
    ModelUnavailable,
    NotFinite,
    NotReached,
    StudyProblem,
)
from headcount.models.anatomy import Anatomy
from headcount.trace import scores as scores_module
from headcount.trace.wiring import Wiring
from tests.contracts.zoo import BY_NAME, tiny

HALF_STEP = 0.5 / 255 + 1e-6
MARKS = ["<pad>", "<s>", "</s>", "<unk>"]
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "slept", "so", "well"]
TEXT, PAIR = "the cat sat on a mat", "a cat slept"


def words_tokenizer() -> Any:
    """One token a word, the end mark behind every text, and segments for models that ask for them."""
    numbers = {word: number for number, word in enumerate([*MARKS, *WORDS])}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbers, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B:1 </s>:1", special_tokens=[("</s>", 2)]
    )
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def ids_of(text: str) -> list[int]:
    return [*([*MARKS, *WORDS].index(word) for word in text.split()), 2]


def assert_like(stored: np.ndarray, maps: torch.Tensor) -> None:
    """Bytes [layer, head, query, key] are at most half a step from the maps of the one text that was observed."""
    expected = maps[:, :, 0].float().sqrt().numpy()
    assert stored.dtype == np.uint8
    assert stored.shape == expected.shape
    assert np.abs(np.sqrt(unpack(stored)) - expected).max() <= HALF_STEP
    assert stored.max() > 100  # far from uniform: the comparison is one of real maps


@pytest.fixture(scope="module")
def bundled() -> tuple[Any, Any]:
    model, tokenizer = hc.load(hc.bundled())
    return model.float(), tokenizer


def test_a_pair_on_the_bundled_model(bundled: tuple[Any, Any]) -> None:
    model, tokenizer = bundled
    seen = hc.maps(model, tokenizer, "Who wrote it?", "Anna Lund wrote it.")
    batch = tokenizer("Who wrote it?", "Anna Lund wrote it.", return_tensors="pt")
    assert_like(seen.maps_encoder.values, hc.observe(model, batch).maps["encoder"])
    assert seen.maps_encoder.dims == ("layer", "head", "query", "key")
    assert seen.tokens.values.tolist() == tokenizer.convert_ids_to_tokens(batch["input_ids"][0].tolist())
    assert seen.segments.values.tolist() == ["pair" if kind else "text" for kind in batch["token_type_ids"][0]]
    assert set(seen.segments.values) == {"text", "pair"}
    assert seen.present_encoder.values.all()
    assert (seen.attrs["text"], seen.attrs["pair"]) == ("Who wrote it?", "Anna Lund wrote it.")
    assert seen.attrs["scale"] == "sqrt/255"
    assert {"model", "text", "pair"} <= set(seen.attrs["identity"])
    assert "torch" in seen.attrs["versions"]


@pytest.mark.parametrize("name", ["bert", "albert", "roberta", "mpnet", "deberta-v2", "llama", "gpt2", "mistral"])
def test_one_stack(name: str) -> None:
    model = tiny(name, BY_NAME[name].kernels[0])
    seen = hc.maps(model, words_tokenizer(), TEXT)
    (stack,) = BY_NAME[name].stacks
    assert_like(
        seen[f"maps_{stack}"].values, hc.observe(model, {"input_ids": torch.tensor([ids_of(TEXT)])}).maps[stack]
    )
    assert seen.tokens.values.tolist() == [*TEXT.split(), "</s>"]
    assert set(seen.segments.values) == {"text"}
    if stack == "decoder":
        assert not np.triu(seen.maps_decoder.values, 1).any()


@pytest.mark.parametrize("head", ["AutoModel", "AutoModelForSeq2SeqLM"])
@pytest.mark.parametrize("name", ["t5", "bart", "marian"])
def test_an_encoder_decoder_reads_the_target_behind_its_start(name: str, head: str) -> None:
    model = tiny(name, head=head)
    seen = hc.maps(model, words_tokenizer(), TEXT, PAIR)
    batch = {"input_ids": ids_of(TEXT), "decoder_input_ids": [1, *ids_of(PAIR)[:-1]]}
    observed = hc.observe(model, {key: torch.tensor([ids]) for key, ids in batch.items()}).maps
    for stack in ("encoder", "decoder", "cross"):
        assert_like(seen[f"maps_{stack}"].values, observed[stack])
    assert seen.tokens_encoder.values.tolist() == [*TEXT.split(), "</s>"]
    assert seen.tokens_decoder.values.tolist() == ["<s>", *PAIR.split()]
    assert seen.maps_cross.dims == ("layer", "head", "query_decoder", "key_encoder")


def test_packing_keeps_the_ends_and_is_off_by_half_a_step_at_most() -> None:
    weights = torch.cat([torch.tensor([0.0, 1.0]), torch.rand(1000, generator=torch.Generator().manual_seed(0))])
    packed = pack(weights)
    assert packed[:2].tolist() == [0, 255]
    assert np.abs(np.sqrt(unpack(packed)) - weights.sqrt().numpy()).max() <= HALF_STEP
    assert unpack(packed).dtype == np.float32
    assert unpack(pack(torch.tensor([1 / 512])))[0] == pytest.approx(1 / 512, rel=0.1)


def test_stacks_of_different_size_share_their_dimensions() -> None:
    config = tf.BartConfig(**BY_NAME["bart"].options | {"encoder_layers": 1, "encoder_attention_heads": 2})
    seen = hc.maps(tf.BartModel(config).eval(), words_tokenizer(), TEXT, PAIR)
    assert seen.maps_encoder.shape == (3, 4, 7, 7)
    assert seen.present_encoder.values.tolist() == [[True, True, False, False], [False] * 4, [False] * 4]
    assert not seen.maps_encoder.values[~seen.present_encoder.values].any()
    assert seen.maps_encoder.values[seen.present_encoder.values].any((1, 2)).all()
    assert seen.present_cross.values.all()


def test_heads_keep_their_numbers_where_some_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("bert")
    plain = hc.maps(model, words_tokenizer(), TEXT).maps_encoder.values
    real = hc.read_anatomy

    def renumbered(model: Any) -> Anatomy:
        anatomy = real(model)
        first, second, third = anatomy.stacks["encoder"]
        return replace(anatomy, stacks={"encoder": (first, replace(second, heads=(0, 1, 3, 5)), third)})

    monkeypatch.setattr(module, "read_anatomy", renumbered)
    monkeypatch.setattr("headcount.trace.session.read_anatomy", renumbered)
    seen = hc.maps(model, words_tokenizer(), TEXT)
    assert np.flatnonzero(seen.present_encoder.values[1]).tolist() == [0, 1, 3, 5]
    np.testing.assert_array_equal(seen.maps_encoder.values[1, [0, 1, 3, 5]], plain[1])
    assert not seen.maps_encoder.values[1, [2, 4]].any()


def test_no_layer_is_kept_in_full() -> None:
    """Each layer is packed before the next one runs: all maps in float32 are never there together."""
    model, alive = tiny("bert"), []
    scores = scores_module._scores

    def watched(call: Any) -> torch.Tensor:
        import gc
        import weakref

        gc.collect()
        alive.append(sum(one() is not None for one in seen))
        found = scores(call)
        seen.append(weakref.ref(found))
        return found

    seen: list[Any] = []
    with mock.patch.object(scores_module, "_scores", watched):
        hc.maps(model, words_tokenizer(), TEXT)
    assert alive == [0, 0, 0]


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("the model ran")


def test_a_study_holds_what_was_taken_and_gives_it_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = tiny("bart"), words_tokenizer()
    fresh = hc.maps(model, tokenizer, TEXT, PAIR)
    hc.maps(model, tokenizer, TEXT, PAIR, out=tmp_path / "study")
    monkeypatch.setattr(type(model), "forward", never)
    again = store_maps(model, plan_maps(model, tokenizer, TEXT, PAIR), tmp_path / "study")
    assert not again.new
    assert again.group.startswith("maps/the-cat-sat-on-a-mat-")
    for found in (again.maps, hc.open_study(tmp_path / "study")[again.group].to_dataset()):
        for name, values in fresh.items():
            assert found[name].dims == values.dims
            assert found[name].values.tolist() == values.values.tolist(), name
        assert found["maps_cross"].dtype == np.uint8
        assert {key: said for key, said in found.attrs.items() if key != "command"} == fresh.attrs


def test_each_layer_is_a_chunk(tmp_path: Path) -> None:
    stored = store_maps(tiny("bert"), plan_maps(tiny("bert"), words_tokenizer(), TEXT), tmp_path / "study")
    array = zarr.open_group(tmp_path / "study" / stored.group, mode="r")["maps_encoder"]
    assert array.chunks == (1, 4, 7, 7)


def test_another_model_or_text_or_length_has_another_name() -> None:
    tokenizer = words_tokenizer()
    long = " ".join([TEXT] * 3)
    names = [
        plan_maps(tiny("bert"), tokenizer, long).name,
        plan_maps(tiny("roberta"), tokenizer, long).name,
        plan_maps(tiny("bert"), tokenizer, long + " so").name,
        plan_maps(tiny("bert"), tokenizer, long, PAIR).name,
        plan_maps(tiny("bert"), tokenizer, long, max_length=9).name,
    ]
    assert len(set(names)) == 5
    assert plan_maps(tiny("bert"), tokenizer, long, max_length=60).name == names[0]
    assert plan_maps(tiny("bert"), tokenizer, "你好").name.startswith("text-")


def test_the_same_name_for_another_text_is_refused(tmp_path: Path) -> None:
    model, tokenizer = tiny("bert"), words_tokenizer()
    hc.maps(model, tokenizer, TEXT, out=tmp_path / "study", name="one")
    with pytest.raises(StudyProblem, match=r"maps/one already.*text: 'the cat sat on a mat' -> 'a cat slept'"):
        hc.maps(model, tokenizer, PAIR, out=tmp_path / "study", name="one")
    long = [" ".join([TEXT] * 8 + [last]) for last in ("so", "well")]
    hc.maps(model, tokenizer, long[0], out=tmp_path / "study", name="two")
    with pytest.raises(StudyProblem, match="text: ") as caught:
        hc.maps(model, tokenizer, long[1], out=tmp_path / "study", name="two")
    assert len(str(caught.value)) < 600


def test_stopped_while_it_ran_it_is_taken_again(tmp_path: Path) -> None:
    model, tokenizer = tiny("bert"), words_tokenizer()
    stopped = mock.patch("headcount.attention_maps.maps.run_maps", side_effect=KeyboardInterrupt)
    with stopped, pytest.raises(KeyboardInterrupt):
        hc.maps(model, tokenizer, TEXT, out=tmp_path / "study", name="one")
    found = hc.maps(model, tokenizer, TEXT, out=tmp_path / "study", name="one")
    assert found.attrs["complete"]
    np.testing.assert_array_equal(found.maps_encoder, hc.maps(model, tokenizer, TEXT).maps_encoder)


def test_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    with (
        mock.patch.object(zarr.Array, "__setitem__", side_effect=OSError(28, "No space left on device")),
        pytest.raises(CannotWrite, match="no room on the disk"),
    ):
        hc.maps(tiny("bert"), words_tokenizer(), TEXT, out=tmp_path / "study")


@pytest.mark.parametrize("causal", [False, True])
def test_the_size_of_twelve_times_twelve_heads_over_512_tokens(tmp_path: Path, causal: bool) -> None:
    """The bundled architecture, enlarged: 37.7 MB of bytes take less than 20 on disk, the future next to nothing."""
    tokenizer = tf.AutoTokenizer.from_pretrained(hc.bundled(), model_max_length=512)
    config = tf.AutoConfig.from_pretrained(
        hc.bundled(), max_position_embeddings=512, is_decoder=causal, dtype="float32"
    )
    torch.manual_seed(0)
    model = tf.BertModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "query.weight" in name:
                parameter.normal_(0, 0.2)  # as broad and uneven as the heads of trained models
    text = hc.bundled_pairs().read_text(encoding="utf-8")[:8000]
    stored = store_maps(model, plan_maps(model, tokenizer, text), tmp_path / "study")
    array = stored.maps["maps_decoder" if causal else "maps_encoder"]
    assert array.shape == (12, 12, 512, 512)
    assert 3e6 < stored.size < (12e6 if causal else 20e6)


def test_a_long_text_is_cut_and_says_so() -> None:
    seen = hc.maps(tiny("bert"), words_tokenizer(), " ".join([TEXT] * 20))
    assert seen.maps_encoder.shape == (3, 4, 64, 64)
    assert seen.attrs["tokens_cut"] == 121 - 64
    assert seen.attrs["max_length"] == 64
    seen = hc.maps(tiny("bart"), words_tokenizer(), TEXT, " ".join([TEXT] * 2), max_length=8)
    assert seen.maps_cross.shape == (3, 4, 8, 7)
    assert seen.attrs["tokens_cut"] == 13 - 8


@pytest.mark.parametrize("block", [1000, 2**30])
def test_maps_of_a_long_text_are_those_between_its_stretches(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headcount.trace.blocks.CPU_BLOCK", block)
    config = tf.LlamaConfig(**BY_NAME["llama"].options | {"max_position_embeddings": 5000})
    model, tokenizer = tf.LlamaModel(config).eval(), words_tokenizer()
    text = " ".join(["cat dog"] * 20)
    whole = unpack(hc.maps(model, tokenizer, text).maps_decoder.values)
    tokens = whole.shape[-1]
    monkeypatch.setattr("headcount.attention_maps.plan.MOST_BYTES", 3 * 4 * 14**2)
    seen = hc.maps(model, tokenizer, text)
    assert seen.attrs["pooled"] == 3
    assert seen.maps_decoder.shape == (3, 4, -(-tokens // 3), -(-tokens // 3))
    edges = np.arange(0, tokens, 3)
    sums = np.add.reduceat(np.add.reduceat(whole, edges, -1), edges, -2)
    expected = sums / np.diff([*edges, tokens])[:, None]
    np.testing.assert_allclose(unpack(seen.maps_decoder.values), expected, atol=0.02)


@pytest.mark.parametrize("name", ["llama", "bert", "bart"])
def test_blocks_of_a_long_text_are_those_of_the_whole_map(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headcount.attention_maps.exact_blocks.SIZE", 5)
    model, tokenizer = tiny(name), words_tokenizer()
    texts = (" ".join(["cat dog sat"] * 5), " ".join(["dog"] * 11) if name == "bart" else None)
    whole = hc.maps(model, tokenizer, *texts)
    monkeypatch.setattr("headcount.attention_maps.plan.MOST_BYTES", 1000)
    hc.maps(model, tokenizer, *texts, out=tmp_path / "study", name="long")
    seen = hc.open_study(tmp_path / "study")["maps/long"].to_dataset()
    stacks = [str(key).removeprefix("maps_") for key in whole if str(key).startswith("maps_")]
    assert stacks
    assert all(not str(key).startswith("block") for key in whole)
    for stack in stacks:
        exact, starts = whole[f"maps_{stack}"].values, seen[f"block_starts_{stack}"].values
        assert len(starts) > 3
        for number, (query, key) in enumerate(starts):
            np.testing.assert_allclose(
                seen[f"blocks_{stack}"].values[:, :, number].astype(int),
                exact[..., query : query + 5, key : key + 5].astype(int),
                atol=1,
            )
            for axis, start in (("query", query), ("key", key)):
                side = {"cross": {"query": "_decoder", "key": "_encoder"}}.get(stack, {}).get(axis, f"_{stack}")
                tokens = whole[f"tokens{side}" if f"tokens{side}" in whole else "tokens"].values[start : start + 5]
                assert seen[f"block_{axis}_tokens_{stack}"].values[number].tolist() == tokens.tolist()


@pytest.mark.parametrize("text", ["", "  \n ", "</s>", "<s> <pad>"])
def test_only_special_tokens(text: str) -> None:
    for texts in ((text, None), (TEXT, text)):
        with pytest.raises(DataProblem, match="nothing but special tokens") as caught:
            hc.maps(tiny("bert"), words_tokenizer(), *texts)
        assert "\n" not in str(caught.value)


def test_an_unknown_word_is_text() -> None:
    assert hc.maps(tiny("bert"), words_tokenizer(), "zebra").tokens.values.tolist() == ["<unk>", "</s>"]


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_a_decoder_takes_no_pair(name: str) -> None:
    with pytest.raises(InvalidOption, match="the model has no segments"):
        hc.maps(tiny(name, BY_NAME[name].kernels[0]), words_tokenizer(), TEXT, PAIR)


@pytest.mark.parametrize("name", ["mpnet", "distilbert", "modernbert", "roberta"])
def test_a_pair_without_segments(name: str) -> None:
    """The RoBERTa that people use has one token type, although its config could have two."""
    model = tiny(name, BY_NAME[name].kernels[0])
    model.config.type_vocab_size = 1
    plan = plan_maps(model, words_tokenizer(), TEXT, PAIR)
    assert set(plan.inputs) == {"input_ids"}
    seen = hc.maps(model, words_tokenizer(), TEXT, PAIR)
    assert seen.segments.values.tolist() == ["text"] * 7 + ["pair"] * 4


def test_an_encoder_decoder_needs_a_target() -> None:
    with pytest.raises(InvalidOption, match="give the target text with pair="):
        hc.maps(tiny("t5"), words_tokenizer(), TEXT)


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    model, tokenizer = tiny("bert"), words_tokenizer()
    with pytest.raises(ModelUnavailable, match="reads no text"):
        hc.maps(tiny("vit"), tokenizer, TEXT)
    with pytest.raises(ModelUnavailable, match="reads no text"):
        hc.maps(model, object(), TEXT)
    with pytest.raises(DataProblem, match="expected a string"):
        hc.maps(model, tokenizer, [TEXT])  # type: ignore[arg-type]
    with pytest.raises(DataProblem, match="UTF-8"):
        hc.maps(model, tokenizer, "a \udc80 cat")
    with pytest.raises(InvalidOption, match="at least 8"):
        hc.maps(model, tokenizer, TEXT, max_length=3)
    with pytest.raises(InvalidOption, match="no effect without out="):
        hc.maps(model, tokenizer, TEXT, name="one")
    for name in ("a/b", "../a", "", "."):
        with pytest.raises(InvalidOption, match="got the name"):
            hc.maps(model, tokenizer, TEXT, out=tmp_path / "study", name=name)
    config = tf.BartConfig(**BY_NAME["bart"].options | {"decoder_start_token_id": None})
    with pytest.raises(ModelUnavailable, match="decoder_start_token_id"):
        hc.maps(tf.BartModel(config), tokenizer, TEXT, PAIR)
    assert not (tmp_path / "study").exists()


def test_a_model_that_is_edited_keeps_its_maps_out_of_a_study(tmp_path: Path) -> None:
    model, tokenizer = tiny("bert"), words_tokenizer()
    with hc.ablated(model, "L1H2", how="uniform"):
        seen = hc.maps(model, tokenizer, TEXT)
        with pytest.raises(InvalidOption, match="inside ablated or gated"):
            hc.maps(model, tokenizer, TEXT, out=tmp_path / "study")
    np.testing.assert_allclose(unpack(seen.maps_encoder.values[1, 2]), 1 / 7, atol=0.003)
    assert hc.maps(model, tokenizer, TEXT, out=tmp_path / "study").maps_encoder.values[1, 2].max() > 120


def test_attention_that_is_not_a_number() -> None:
    model = tiny("bert")
    with torch.no_grad():
        model.encoder.layer[1].attention.self.query.weight.fill_(1e38)  # the products are too large for float32
    with pytest.raises(NotFinite, match=r"L1 is not finite in float32"):
        hc.maps(model, words_tokenizer(), TEXT)


def test_a_layer_that_is_not_heard_is_an_error() -> None:
    """Zeros that nobody computed would look like absent heads."""
    with mock.patch.object(Wiring, "keep_call"), pytest.raises(NotReached, match="L0, L1, L2"):
        hc.maps(tiny("bert"), words_tokenizer(), TEXT)


def test_dropout_does_not_matter() -> None:
    model = tiny("bert").train()
    one, two = (hc.maps(model, words_tokenizer(), TEXT).maps_encoder for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert model.training
