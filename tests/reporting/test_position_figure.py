"""Figures of patches: the share of each head, and of the heads that matter most at each position."""

from __future__ import annotations

from pathlib import Path

import pytest

import headcount as hc
from headcount.errors import InvalidOption
from tests.closeness import assert_same
from tests.reporting import studies


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studies.patched_study(tmp_path_factory.mktemp("patched") / "study")


def test_heads_and_positions(study: Path, tmp_path: Path) -> None:
    ax = hc.figure(study, "positions", tmp_path / "positions.svg").axes[0]
    assert (tmp_path / "positions.svg").read_bytes().startswith(b"<?xml")
    result = hc.open_study(study)["sweep/position-patch"].to_dataset()
    drawn = ax.images[0]
    assert_same(drawn.get_array(), result["share"].values.reshape(4, 4), 1e-3, largest=1.0)
    assert drawn.get_clim() == (-1, 1)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["start", "first", "rest", "last"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["L0H0", "L0H1", "L1H0", "L1H1"]
    assert len(ax.lines) == int((result["q"] < 0.05).sum()) == 1


def test_the_grid_of_shares(study: Path) -> None:
    figure = hc.figure(study, "patch")
    result = hc.open_study(study)["sweep/head-patch"].to_dataset()
    assert_same(figure.axes[0].images[0].get_array(), result["share"].values[0], 1e-3, largest=1.0)
    assert figure.axes[0].images[0].get_clim() == (-1, 1)
    assert figure.axes[0].images[0].get_cmap().name == "PuOr_r"
    assert figure.get_suptitle().replace("\n", " ").startswith("Share of the difference in log_probability")


def test_patched_layers(study: Path) -> None:
    assert hc.figure(study, "layers").axes[0].get_xlabel() == "layer of the clean input"


def test_nothing_was_ablated(study: Path) -> None:
    with pytest.raises(InvalidOption, match="this study has layers, patch, positions"):
        hc.figure(study, "ablation")
