"""Drawn images to start from: what an image model sees in a disc, in stripes, in squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from headcount.live_server.images import encode_image

SIDE = 96
SKY, SUN, SEA, SAND = (150, 200, 235), (250, 205, 70), (40, 90, 150), (225, 200, 150)


def example_images() -> dict[str, str]:
    """By name, a data URL of each."""
    from PIL import Image

    rows, columns = np.mgrid[:SIDE, :SIDE]
    drawn = {
        "a sun over the sea": _beach(rows, columns),
        "stripes": _two_colours((columns // 8) % 2 == 0),
        "a chessboard": _two_colours((rows // 12 + columns // 12) % 2 == 0),
        "a ring": _two_colours(abs(np.hypot(rows - SIDE / 2, columns - SIDE / 2) - 30) < 9),
    }
    return {name: encode_image(Image.fromarray(pixels)) for name, pixels in drawn.items()}


def _beach(rows: Any, columns: Any) -> Any:
    pixels = np.empty((SIDE, SIDE, 3), np.uint8)
    pixels[:] = SKY
    pixels[np.hypot(rows - 26, columns - 66) < 15] = SUN
    pixels[rows > 52] = SEA
    pixels[rows + columns // 6 > 84] = SAND
    return pixels


def _two_colours(dark: Any) -> Any:
    return np.where(dark[..., None], np.array([35, 45, 60], np.uint8), np.array([235, 235, 225], np.uint8))
