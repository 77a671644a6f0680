"""The demo's last screen fits a terminal, and says no more than its numbers do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.story.costs import speed_clause
from headcount.story.demo import HEIGHT, WIDTH, SmallModel, last_screen
from tests.core.curves import accuracy_curve


def by_head(**values: Any) -> xr.Dataset:
    """Numbers of 12 x 12 heads: L3H7 stands out."""
    arrays = {}
    for name, (usual, special) in values.items():
        array = np.full((1, 12, 12), usual)
        array[0, 3, 7] = special
        arrays[name] = (HEAD_DIMS, array)
    return xr.Dataset(arrays, coords={"stack": ["encoder"]})


def measured(**values: tuple[float, float]) -> xr.Dataset:
    return by_head(**{f"{name}{end}": pair for name, pair in values.items() for end in ("", "_low", "_high")})


def costs(whole: tuple[float, float, float], small: tuple[float, float, float]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"model": name, "batch": 16, "length": 64, "ms_low": low, "ms": middle, "ms_high": high}
            for name, (low, middle, high) in (("whole", whole), ("small", small))
        ]
    )


def smaller(times: pd.DataFrame) -> SmallModel:
    held_out = accuracy_curve([12, 14], [9, 9], 219)
    return SmallModel(held_out, "importance", 20, Path("demo-out-small"), times, (15.5, 13.7))


def screen(times: pd.DataFrame) -> list[str]:
    sweep = by_head(
        q=(1.0, 0.4), loss_rank_q=(0.9, 0.001), loss_delta=(0.0, 0.05), loss_low=(-0.1, 0.03), loss_high=(0.1, 0.07)
    )
    sweep = sweep.assign(baseline=((), 0.78)).expand_dims(example=160)
    seen = xr.DataTree.from_dict(
        {"position": measured(previous=(0.1, 0.98), next=(0.1, 0.5)), "repeated": measured(attention=(0.0, 0.6))}
    )
    changed = xr.DataTree.from_dict({"cosine": measured(maps=(0.9, 0.4))})
    sweep = sweep.isel(example=0, drop=True).assign_coords(example=np.arange(160))
    return last_screen(sweep, seen, changed, smaller(times), Path("demo-out.html"), Path("demo-out"), 118.4)


def test_it_fits_a_terminal() -> None:
    lines = screen(costs((100, 101, 102), (80, 81, 82)))
    assert len(lines) < HEIGHT
    assert max(map(len, lines)) <= WIDTH
    text = " ".join(" ".join(lines).split())
    assert "Ablated alone, none of the 144 heads has a significant effect on accuracy (0.78; q < 0.05)." in text
    assert "1 head shifts the losses in one direction (signed ranks, q < 0.05)." in text
    assert "The mean loss rises most without L3H7: +0.050 [+0.030, +0.070]." in text
    assert "accuracy changes by -0.023 [-0.069, +0.022] on 219 held-out pairs; a random order: -0.087" in text
    assert "15.5 -> 13.7 MB; 16 texts of 64 tokens are read 1.25 times as fast." in text
    assert "open demo-out.html in a browser" in text


@pytest.mark.parametrize(
    ("whole", "small"),
    [((100, 101, 102), (95, 96, 97)), ((90, 110, 130), (80, 95, 105)), ((100, 101, 102), (110, 111, 112))],
    ids=["too little to notice", "within the noise", "slower"],
)
def test_a_speed_that_nobody_would_notice_is_not_claimed(whole: Any, small: Any) -> None:
    assert speed_clause(costs(whole, small), "whole", "small") == ""
    assert not any("times as fast" in line for line in screen(costs(whole, small)))
