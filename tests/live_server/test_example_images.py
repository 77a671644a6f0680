"""Drawn images: the same each time, different from each other, and files that are sent as they are."""

from __future__ import annotations

import pytest

from headcount.live_server.example_images import SIDE, example_images
from headcount.live_server.images import decode_image

pytest.importorskip("PIL.Image", reason="Pillow is not installed: pip install -e '.[dev]'")


def test_they_are_small_and_different() -> None:
    images = example_images()
    assert images == example_images()
    assert len(set(images.values())) == len(images) == 4
    for name, url in images.items():
        image = decode_image(url)
        assert image.size == (SIDE, SIDE), name
        assert len(image.getcolors(SIDE * SIDE)) > 1, "something is drawn"
        assert len(url) < 5000
