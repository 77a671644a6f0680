"""Is the progress bar away inside, and as it was afterwards?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from transformers.utils import logging

import headcount as hc
from headcount.models.load import load_model
from headcount.models.progress_bars import no_progress_bar
from tests.contracts.zoo import tiny


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    shown = logging.is_progress_bar_enabled()
    yield
    (logging.enable_progress_bar if shown else logging.disable_progress_bar)()


@pytest.mark.parametrize("shown", [True, False])
def test_as_it_was(shown: bool) -> None:
    (logging.enable_progress_bar if shown else logging.disable_progress_bar)()
    with no_progress_bar():
        assert not logging.is_progress_bar_enabled()
        with no_progress_bar():
            pass
        assert not logging.is_progress_bar_enabled()
    assert logging.is_progress_bar_enabled() == shown
    with pytest.raises(ZeroDivisionError), no_progress_bar():
        raise ZeroDivisionError
    assert logging.is_progress_bar_enabled() == shown


def test_saving_and_loading_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logging.enable_progress_bar()
    load_model(hc.save(hc.prune(tiny("bert"), "L0H1"), None, tmp_path / "saved"))
    assert logging.is_progress_bar_enabled()
    assert capfd.readouterr() == ("", "")
