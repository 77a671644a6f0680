"""Images: what is decoded and refused, what the model sees, names of patches, and answers without heads."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.errors import DataProblem, HeadcountError, ModelUnavailable
from headcount.live_server.answer import answer
from headcount.live_server.asked import read_asked
from headcount.live_server.described import describe_model
from headcount.live_server.example_images import example_images
from headcount.live_server.images import Patches, decode_image, encode_image, find_patches, token_names
from headcount.live_server.limits import TooMuch
from headcount.live_server.live_model import LiveModel
from headcount.live_server.text_sweep import sweep_text
from tests.live_server import small

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: pip install -e '.[dev]'")


def ask(live: LiveModel, image: str, **fields: Any) -> Any:
    return read_asked({"texts": [image], **fields}, live.anatomy.layout, live.limits)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> LiveModel:
    return small.vision(tmp_path_factory.mktemp("vit"))


BEACH = "a sun over the sea"


def test_the_numbers_are_those_of_ablated(live: LiveModel) -> None:
    image = example_images()[BEACH]
    found = next(answer(live, ask(live, image, off=[{"heads": "L1"}], map="L1H0")))
    assert found is not None
    inputs = live.tokenizer(images=decode_image(image), return_tensors="pt")
    inputs["pixel_values"] = inputs["pixel_values"].double()
    with torch.no_grad(), hc.ablated(live.model, "L1"):
        expected = live.model(**inputs).logits[0].softmax(-1).tolist()
    assert [option["without"] for option in found["questions"][0]["options"]] == pytest.approx(expected, abs=1e-12)
    assert [option["name"] for option in found["questions"][0]["options"]] == ["cat", "dog", "ship"]
    assert found["tokens"][""][:3] == ["[CLS]", "0,0", "0,1"]
    assert found["map"]["whole"]["keys"] == len(found["tokens"][""]) == 10
    assert found["unlike"] == []


def test_every_head_of_an_image(live: LiveModel) -> None:
    image = example_images()["stripes"]
    events = list(sweep_text(live, ask(live, image)))
    changes = [change for event in events if event and "change" in event for change in event["change"]]
    assert len(changes) == len(list(live.anatomy.layout))
    inputs = live.read((image,)).inputs
    with torch.no_grad():
        whole = live.model(**inputs).logits[0].log_softmax(-1)
        with hc.ablated(live.model, "L0H0"):
            without = live.model(**inputs).logits[0].log_softmax(-1)
    assert changes[0] == pytest.approx(float((without - whole)[whole.argmax()]), abs=1e-9)


def test_the_image_that_is_sent_back_is_what_the_model_sees(live: LiveModel) -> None:
    red = Image.new("RGB", (50, 20), (200, 30, 30))
    found = next(answer(live, ask(live, encode_image(red))))
    assert found is not None
    seen = decode_image(found["seen"])
    assert seen.size == (12, 12)
    assert np.abs(np.asarray(seen, int) - [200, 30, 30]).max() <= 6, "as a JPEG keeps it"


def test_what_is_described(live: LiveModel) -> None:
    found = describe_model(live)
    assert found["kind"] == "image-classification"
    assert found["patches"] == {"rows": 3, "columns": 3, "first": 1}
    assert len(found["example_names"]) == len(found["examples"])
    assert all(live.read(tuple(texts)) for texts in found["examples"])
    assert [one["how"] for one in found["replacements"] if one["missing"]] == ["mean"]


def encoded(body: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(body).decode()}"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("a cat", "got no PNG or JPEG"),
        ("data:image/svg+xml;base64,PHN2Zz4=", "got no PNG or JPEG"),
        ("data:image/png;base64,%%%", "damaged"),
        (encoded(b"no image"), "damaged"),
        (encoded(b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"), "damaged"),
        (example_images()["stripes"][:-40], "damaged"),
        (example_images()["stripes"].replace("png", "jpeg"), "damaged"),
    ],
)
def test_what_is_no_image(live: LiveModel, given: str, words: str) -> None:
    with pytest.raises(DataProblem, match=words) as caught:
        live.read((given,))
    assert "data:image/png;base64,..." in str(caught.value)


def test_a_small_file_with_too_many_pixels() -> None:
    with pytest.raises(TooMuch, match="25,000,000 pixels in an image; this server takes at most 16,000,000"):
        decode_image(encode_image(Image.new("1", (5000, 5000))))


def test_photos_are_turned_upright() -> None:
    tags = Image.Exif()
    tags[0x0112] = 6  # to be turned by a quarter
    file = io.BytesIO()
    Image.new("RGB", (40, 20)).save(file, "JPEG", exif=tags)
    assert decode_image(encoded(file.getvalue(), "jpeg")).size == (20, 40)


def test_patches_come_from_the_config() -> None:
    class Config:
        image_size: Any = (12, 24)
        patch_size: Any = 4

    assert find_patches(Config, 19) == Patches(3, 6, 1)
    assert find_patches(Config, 20) == Patches(3, 6, 2), "with a token of distillation"
    assert find_patches(Config, 30) is None
    Config.patch_size = None
    assert find_patches(Config, 19) is None
    assert token_names(None, 3) == ["0", "1", "2"]


def test_other_processors_and_heads_are_refused(live: LiveModel, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="reads images and int does not"):
        LiveModel(live.model, 3)
    with pytest.raises(HeadcountError, match="the head of this model answers no task"):
        LiveModel(live.model.base_model, live.tokenizer)
