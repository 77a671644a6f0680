"""Are many cuts refitted from one pass as each of them is by `refit`, and are labels never read?"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.data.tasks import find_task
from headcount.errors import InvalidOption
from headcount.pruning.prepared_fit import prepare_fit
from headcount.pruning.refit import refit
from tests import planted
from tests.closeness import assert_same
from tests.pruning import jobs

SST2 = find_task("sst2")
TEXTS = planted.texts(60)
CUTS = (["L0H1", "L1H0-2", "L0U0-19", "L2U"], ["L2", "L1U3-5"], ["L0U"])


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.mark.parametrize("how", ["weights", "scales"])
def test_every_cut_as_by_refit(tokenizer: Any, how: str) -> None:
    whole = jobs.random_model()
    before = {key: tensor.clone() for key, tensor in whole.state_dict().items()}
    fit = prepare_fit(whole, tokenizer, TEXTS, task=SST2, how=how)
    for gone in CUTS:
        cut = hc.prune(copy.deepcopy(whole), gone)
        expected = refit(copy.deepcopy(cut), whole, tokenizer, TEXTS, task=SST2, how=how).state_dict()
        assert fit(cut) is cut
        for key, tensor in cut.state_dict().items():
            assert_same(tensor, expected[key], what=f"{gone} {key}")
    assert all(torch.equal(tensor, before[key]) for key, tensor in whole.state_dict().items())


def test_again_changes_nothing(tokenizer: Any) -> None:
    whole = jobs.random_model()
    fit = prepare_fit(whole, tokenizer, TEXTS, task=SST2)
    cut = fit(hc.prune(copy.deepcopy(whole), CUTS[0]))
    once = {key: tensor.clone() for key, tensor in cut.state_dict().items()}
    assert all(torch.equal(tensor, once[key]) for key, tensor in fit(cut).state_dict().items())


def test_labels_are_not_read(tokenizer: Any) -> None:
    whole, grams = jobs.random_model(), []
    for table in (TEXTS, TEXTS.drop(columns="label")):
        grams.append(prepare_fit(whole, tokenizer, table, task=SST2).grams.matrices)
    assert all(torch.equal(gram, grams[1][key]) for key, gram in grams[0].items())


def test_progress_ends_with_all_batches(tokenizer: Any) -> None:
    seen: list[tuple[int, int]] = []
    prepare_fit(jobs.random_model(), tokenizer, TEXTS, task=SST2, progress=lambda *said: seen.append(said[:2]))
    assert [done for done, _ in seen] == list(range(1, seen[-1][1] + 1))


def test_what_is_refused(tokenizer: Any) -> None:
    with pytest.raises(InvalidOption, match="how='none'; expected one of weights, scales"):
        prepare_fit(jobs.random_model(), tokenizer, TEXTS, task=SST2, how="none")
