"""One loop trains all gates: only heads that exist have a gate and a penalty; the loss told is the task's."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import headcount as hc
from headcount.choosing.gate_training import check_finite, heads_present, learning, train_gates
from headcount.data.tasks import find_task
from headcount.errors import TrainingDiverged
from tests import planted
from tests.choosing.gates import needy
from tests.pruning import jobs
from tests.pruning import planted as parts


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def test_heads_that_do_not_exist_are_left_alone(tokenizer: Any) -> None:
    """They have no penalty, so their parameters do not move; the others move by one step of Adam each."""
    job = jobs.job_of(hc.prune(needy(), ["L0H0", "L1H1-2"]), parts.texts(8), find_task("sst2"), tokenizer)
    present = {"encoder": heads_present(job.anatomy, "encoder")}
    assert present["encoder"].tolist() == [[False, True, True, True], [True, False, False, True]]
    weights = {"encoder": torch.zeros(2, 4, requires_grad=True)}
    optimizer = torch.optim.Adam(list(weights.values()), lr=0.1)
    settings, steps = {"max_steps": 3, "per_device_train_batch_size": 4}, []
    with learning(job.model):
        train_gates(
            job,
            0,
            weights,
            present,
            optimizer,
            torch.Generator().manual_seed(0),
            settings,
            torch.ones_like,  # the loss depends on no gate, the penalty alone moves them
            lambda values: 0.5 * values,
            lambda: steps.append(1),
        )
    moved = torch.where(present["encoder"], -0.3, 0.0)
    torch.testing.assert_close(weights["encoder"].detach(), moved, rtol=0, atol=1e-4)
    assert len(steps) == 3


def test_the_loss_is_the_task_s_alone(tokenizer: Any) -> None:
    """Whatever the penalty: that of the whole model where gates are 1 and every batch is the same example."""
    job = jobs.job_of(needy(), parts.texts(1), find_task("sst2"), tokenizer)
    weights = {"encoder": torch.zeros(2, 4, requires_grad=True)}
    optimizer = torch.optim.SGD(list(weights.values()), lr=0.0)
    with learning(job.model):
        loss = train_gates(
            job,
            0,
            weights,
            {"encoder": heads_present(job.anatomy, "encoder")},
            optimizer,
            torch.Generator().manual_seed(0),
            {"max_steps": 2, "per_device_train_batch_size": 2},
            torch.ones_like,
            lambda values: values + 7,
            lambda: None,
        )
    with torch.no_grad():
        expected = float(job.model(**jobs.alone(job, 0)).loss)
    assert loss == pytest.approx(expected, rel=1e-5)


def test_gates_that_are_not_finite() -> None:
    check_finite({"encoder": torch.zeros(2)}, "now")
    with pytest.raises(TrainingDiverged, match="the gates are not finite now"):
        check_finite({"encoder": torch.tensor([0.0, float("nan")])}, "now")
