"""The bundled BERT learns 200 of the bundled pairs on a CPU within a minute, and trains the same way again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import headcount as hc
from headcount.data.tables import read_table
from headcount.training.trainer import Settings
from tests.training import toy

SETTINGS = Settings(per_device_train_batch_size=16, num_train_epochs=6, learning_rate=5e-4)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    for split in ("train", "validation"):
        read_table(hc.bundled_pairs()).head(200).to_parquet(folder / f"{split}.parquet")
    return folder


@pytest.mark.slow
def test_it_learns(data: Path, tmp_path: Path) -> None:
    table = hc.finetune(hc.bundled("pretrained"), "qnli", data, tmp_path, settings=SETTINGS, device="cpu")
    assert table["score"].item() >= 0.9
    assert not table["failed"].item()


def test_it_repeats_exactly(data: Path, tmp_path: Path) -> None:
    once = replace(SETTINGS, num_train_epochs=1)
    weights = []
    for number in range(2):
        table = hc.finetune(
            hc.bundled("pretrained"), "qnli", data, tmp_path / str(number), settings=once, device="cpu", limit=32
        )
        weights.append(toy.weights(Path(table["model"].item())))
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
