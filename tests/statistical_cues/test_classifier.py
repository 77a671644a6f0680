"""The cue-only classifier: finds planted cues, never sees what it predicts, and finds nothing where nothing is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from headcount.statistical_cues import classifier
from headcount.statistical_cues.classifier import OutOfFold, classify_choices, classify_labels
from headcount.statistical_cues.folds import make_folds


def noisy(count: int, choices: int, strength: float, seed: int = 0) -> tuple[list[csr_matrix], np.ndarray]:
    """Five random cues; the first is in the correct choice with probability `strength`, else in another one."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, choices, count)
    present = generator.random((choices, count, 5)) < 0.3
    present[:, :, 0] = False
    wrong = (labels + generator.integers(1, choices, count)) % choices
    where = np.where(generator.random(count) < strength, labels, wrong)
    present[where, np.arange(count), 0] = True
    return [csr_matrix(part.astype(np.int16)) for part in present], labels


@pytest.mark.parametrize("choices", [2, 4])
def test_a_planted_cue_is_found(choices: int) -> None:
    parts, labels = noisy(1500, choices, 0.8)
    found = classify_choices(parts, labels, make_folds(np.arange(1500), 5, 0))
    assert found.right(labels).mean() == pytest.approx(0.8, abs=0.04)
    assert set(found.strengths) <= set(classifier.STRENGTHS)


@pytest.mark.parametrize("choices", [2, 3])
def test_nothing_is_found_in_noise(choices: int) -> None:
    parts, labels = noisy(1500, choices, 1 / choices)
    found = classify_choices(parts, labels, make_folds(np.arange(1500), 5, 0))
    assert found.right(labels).mean() == pytest.approx(1 / choices, abs=0.05)


def test_no_cue_is_no_direction() -> None:
    """Where both choices have the same cues, they tie, and half an example is right."""
    same = csr_matrix(np.ones((20, 3), dtype=np.int16))
    labels = np.arange(20) % 2
    found = classify_choices([same, same], labels, np.arange(20) % 4)
    assert (found.predicted == -1).all()
    assert (found.right(labels) == 0.5).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_labels(classes: int) -> None:
    generator = np.random.default_rng(1)
    labels = generator.integers(0, classes, 900)
    present = np.zeros((900, classes + 2))
    told = np.where(generator.random(900) < 0.75, labels, (labels + 1) % classes)
    present[np.arange(900), told] = 1
    present[:, classes:] = generator.random((900, 2)) < 0.5
    found = classify_labels(csr_matrix(present), labels, classes, make_folds(np.arange(900), 5, 0))
    assert found.right(labels).mean() == pytest.approx(0.75, abs=0.04)
    assert (found.predicted >= 0).all()


def test_predictions_are_out_of_fold() -> None:
    """Every example has a cue of its own, which a model that saw it would know."""
    labels = np.random.default_rng(0).integers(0, 2, 200)
    found = classify_labels(csr_matrix(np.eye(200)), labels, 2, np.arange(200) % 5)
    assert abs(found.right(labels).mean() - 0.5) < 0.15


def test_a_class_that_a_fold_lacks() -> None:
    labels = np.array([0, 1] * 10 + [2])
    found = classify_labels(csr_matrix(np.ones((21, 1))), labels, 3, np.r_[np.arange(20) // 4, 4])
    assert found.scores.shape == (21, 3)
    assert found.predicted[-1] != 2


def test_many_examples_select_with_one_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, labels = noisy(400, 2, 0.9)
    fits = []
    fit = classifier._fit
    monkeypatch.setattr(classifier, "_fit", lambda *given, **more: fits.append(1) or fit(*given, **more))
    folds = make_folds(np.arange(400), 5, 0)
    classify_choices(parts, labels, folds)
    assert len(fits) == 5 * (4 * 3 + 1)
    fits.clear()
    monkeypatch.setattr(classifier, "MANY", 100)
    found = classify_choices(parts, labels, folds)
    assert len(fits) == 5 * (3 + 1)
    assert found.right(labels).mean() > 0.8


def test_ties() -> None:
    found = OutOfFold(np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0]]), ())
    assert found.predicted.tolist() == [-1, 1]
    assert found.right(np.array([0, 2])).tolist() == [0.5, 0.0]
