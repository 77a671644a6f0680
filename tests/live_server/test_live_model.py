"""The live model: what it reads, what it refuses in one line, and the means over its examples."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.errors import DataProblem, InvalidOption, ModelUnavailable
from headcount.live_server.limits import Limits
from headcount.live_server.live_model import LiveModel
from tests import planted
from tests.closeness import assert_same
from tests.contracts import zoo
from tests.live_server import small


def test_texts_are_read_as_the_model_reads_them(tmp_path: Path) -> None:
    live = small.planted_live(tmp_path)
    reading = live.read(("the good", "so bad"))
    assert reading.tokens[""] == ["[CLS]", "the", "good", "[SEP]", "so", "bad", "[SEP]"]
    assert reading.inputs["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1]]


@pytest.mark.parametrize(
    ("texts", "words"),
    [(("",), "type some words"), (("  ",), "type some words"), (("[SEP]",), "type some words")],
)
def test_a_text_without_a_word_is_refused(texts: tuple[str, ...], words: str, tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match=words):
        small.planted_live(tmp_path).read(texts)


def test_unknown_and_masked_words_are_words(tmp_path: Path) -> None:
    live = small.planted_live(tmp_path)
    assert live.read(("zebra",)).tokens[""][1] == "[UNK]"
    assert live.read(("[MASK]",)).tokens[""][1] == "[MASK]"


def test_the_number_of_texts(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="texts: got 3; expected 1 to 2: text, second text"):
        small.planted_live(tmp_path).read(("a", "a", "a"))


def test_long_texts_are_truncated(tmp_path: Path) -> None:
    live = small.planted_live(tmp_path, limits=Limits(tokens=6))
    reading = live.read(("so " * 50,))
    assert (reading.length, reading.typed.cut) == (6, True)


def test_means_are_over_the_tokens_of_the_examples(tmp_path: Path) -> None:
    live = small.planted_live(tmp_path)
    batches = [live.tokenizer(text, return_tensors="pt") for (text,) in small.EXAMPLES]
    expected = hc.mean_outputs(live.model, [dict(batch) for batch in batches])["encoder"]
    assert_same(live.means()["encoder"], expected)
    assert live.means() is live.means()


def test_means_need_examples(tmp_path: Path) -> None:
    live = LiveModel(planted.classifier(), planted.tokenizer(tmp_path))
    assert live.why_not("zero") is None
    assert "--study" in str(live.why_not("mean"))
    with pytest.raises(InvalidOption, match="'mean' is not available: there are no texts"):
        live.means()


def test_means_of_an_encoder_decoder() -> None:
    means = small.translator().means()
    assert set(means) == {"encoder", "decoder", "cross"}
    assert all(bool(torch.isfinite(mean[:2, :2]).all()) for mean in means.values())


def test_models_without_an_answer_are_refused(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path)
    with pytest.raises(ModelUnavailable, match="reads images and BertTokenizer does not"):
        LiveModel(zoo.tiny("vit"), tokenizer)
    with pytest.raises(ModelUnavailable, match="answers no task that headcount knows"):
        LiveModel(zoo.tiny("bert"), tokenizer)
    with torch.no_grad():
        broken = planted.classifier()
        broken.classifier.weight.fill_(float("nan"))
    with pytest.raises(hc.HeadcountError, match="NaN|not finite"):
        LiveModel(broken, tokenizer)


def test_a_wrong_number_is_an_error(tmp_path: Path) -> None:
    live = small.planted_live(tmp_path)
    reading = live.read(("good",))
    with pytest.raises(hc.HeadcountError, match="not finite"):
        live.answers(reading, tf.modeling_outputs.SequenceClassifierOutput(logits=torch.full((1, 2), float("nan"))))
