"""Which models compute their own loss, and what the others are trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from headcount.data.batches import collate
from headcount.data.kinds.catalogue import KINDS
from headcount.training.kind_trainer import KindTrainer, trainer_for
from headcount.training.trainer import RunTrainer, Settings, make_trainer
from tests import planted
from tests.pruning import jobs


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def test_a_head_computes_its_loss() -> None:
    assert trainer_for(KINDS["regression"]) is RunTrainer


def test_without_a_head_the_loss_is_the_mean_of_the_kinds(tokenizer: Any, tmp_path: Path) -> None:
    job = jobs.prepared("similarity", tokenizer)
    rows = job.encodings.rows
    trainer = make_trainer(job.model, tokenizer, rows, tmp_path, Settings(), 0, trainer_for(job.task.kind))
    assert isinstance(trainer, KindTrainer)
    with torch.no_grad():
        expected = torch.stack([jobs.own_loss(job, row) for row in range(jobs.COUNT)]).mean()
        assert float(trainer.compute_loss(job.model, collate(rows, 0))) == pytest.approx(float(expected))
