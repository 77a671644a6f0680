"""Images instead of texts: how one is given, what the model sees of it, and the names of its patches."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.errors import DataProblem, MissingPackage, ModelUnavailable
from headcount.live_server.limits import check_most

FORMATS = {"data:image/png;base64": "PNG", "data:image/jpeg;base64": "JPEG"}
EXPECTED = "expected a PNG or JPEG file as a data URL: data:image/png;base64,..."
MOST_PIXELS = 16_000_000
"""Of an image, which a small file may have far too many of."""


@dataclass(frozen=True)
class Patches:
    """The squares that an image is cut into, in rows; `first` is the position of the first one among the tokens."""

    rows: int
    columns: int
    first: int


def check_images(model: PreTrainedModel, processor: Any) -> None:
    """An error where images cannot be read for this model."""
    if find_spec("PIL") is None:
        raise MissingPackage(f"{type(model).__name__} reads images, which needs Pillow: pip install 'headcount[live]'")
    if not hasattr(processor, "image_mean"):
        raise ModelUnavailable(
            f"{type(model).__name__} reads images and {type(processor).__name__} does not; give the model's image "
            "processor with tokenizer="
        )


def decode_image(said: str) -> Any:
    """The image of a data URL, upright and in RGB."""
    from PIL import Image, ImageOps

    start, comma, body = said.partition(",")
    if not comma or start not in FORMATS:
        raise DataProblem(f"image: got no PNG or JPEG; {EXPECTED}")
    try:
        file = io.BytesIO(base64.b64decode(body, validate=True))
        image = Image.open(file, formats=[FORMATS[start]])
        check_most("pixels in an image", image.width * image.height, MOST_PIXELS)
        return ImageOps.exif_transpose(image).convert("RGB")
    except (OSError, SyntaxError, ValueError, binascii.Error, Image.DecompressionBombError) as error:
        if isinstance(error, DataProblem):
            raise
        raise DataProblem(f"image: the file is damaged; {EXPECTED}") from error


def encode_image(image: Any, kind: str = "PNG") -> str:
    """The data URL of an image."""
    file = io.BytesIO()
    image.save(file, kind, **({"quality": 88} if kind == "JPEG" else {"optimize": True}))
    start = next(start for start, known in FORMATS.items() if known == kind)
    return f"{start},{base64.b64encode(file.getvalue()).decode('ascii')}"


def seen_image(processor: Any, pixels: Tensor) -> str:
    """What the model sees, [1, channel, row, column]: resized, perhaps cropped, its colours as they were."""
    from PIL import Image

    values = pixels[0].detach().float().cpu()
    if processor.do_normalize:
        scale, shift = (torch.tensor(each).reshape(-1, 1, 1) for each in (processor.image_std, processor.image_mean))
        values = values * scale + shift
    colours = (values * (255 if processor.do_rescale else 1)).round().clamp(0, 255).byte()
    return encode_image(Image.fromarray(colours.permute(1, 2, 0).contiguous().numpy()), "JPEG")


def find_patches(config: Any, tokens: int) -> Patches | None:
    """The patches of a model whose images have so many tokens; None where the config does not tell."""
    sides = [_pair(getattr(config, name, None)) for name in ("image_size", "patch_size")]
    image, patch = sides
    if image is None or patch is None:
        return None
    rows, columns = image[0] // patch[0], image[1] // patch[1]
    first = tokens - rows * columns
    return Patches(rows, columns, first) if 0 <= first <= 2 else None


def _pair(value: Any) -> tuple[int, int] | None:
    sides = list(value) if isinstance(value, list | tuple) else [value, value]
    if len(sides) != 2 or not all(isinstance(side, int) and side > 0 for side in sides):
        return None
    return sides[0], sides[1]


def token_names(patches: Patches | None, tokens: int) -> list[str]:
    """Names of an image's tokens: of patches their row and column, counted from 0.

    >>> token_names(Patches(1, 2, 1), 3)
    ['[CLS]', '0,0', '0,1']
    """
    if patches is None:
        return [str(number) for number in range(tokens)]
    names = ["[CLS]", "[DIST]"][: patches.first]
    return names + [f"{row},{column}" for row in range(patches.rows) for column in range(patches.columns)]


def read_image(model: PreTrainedModel, processor: Any, said: str, device: torch.device) -> dict[str, Any]:
    """The inputs of a pass on the image of a data URL."""
    read: Mapping[str, Any] = processor(images=decode_image(said), return_tensors="pt")
    return {"pixel_values": read["pixel_values"].to(device, model.dtype)}
