"""What a training is refused before it begins, because its result could not be added to the study."""

from __future__ import annotations

from pathlib import Path

import pytest

import headcount as hc
from headcount.choosing.training_dynamics import check_place
from headcount.errors import StudyProblem
from headcount.models.fingerprint import model_fingerprint
from tests import planted


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A study with the importance of a model, and the model's fingerprint."""
    place = tmp_path_factory.mktemp("place")
    model, tokenizer = planted.classifier(), planted.tokenizer(place / "words")
    hc.importance(model, tokenizer, planted.texts(8), task="sst2", out=place / "study")
    return place / "study", model_fingerprint(model)


def test_free_places(study: tuple[Path, str], tmp_path: Path) -> None:
    check_place(tmp_path / "new", None, "any", resumed=False)
    check_place(study[0], None, study[1], resumed=False)
    check_place(study[0], None, "other weights, from a checkpoint", resumed=True)
    assert not (tmp_path / "new").exists()


def test_a_study_of_another_model(study: tuple[Path, str]) -> None:
    with pytest.raises(StudyProblem, match="is a study of the model .* begins with other weights .*another study"):
        check_place(study[0], None, "other", resumed=False)


def test_a_result_that_is_there(study: tuple[Path, str]) -> None:
    (study[0] / "pruning" / "dynamics").mkdir()
    try:
        with pytest.raises(StudyProblem, match="has pruning/dynamics already.*give another folder or name="):
            check_place(study[0], None, study[1], resumed=False)
        check_place(study[0], "again", study[1], resumed=False)
        check_place(study[0], None, study[1], resumed=True)
    finally:
        (study[0] / "pruning" / "dynamics").rmdir()
