"""What is said of function vectors: tasks that the model does not do, heads that carry one, induction heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.story.function_vectors import vector_rows, vector_sentences

HEADS = ("stack", "layer", "head")


def result(
    q: tuple[float, ...] = (0.001, 0.5, 0.01, 0.02), clean: float = 0.9, roles: Any = (1, 0, 0, 3)
) -> xr.Dataset:
    arrays: dict[str, Any] = {"rise_q": q, "role": roles}
    for name, values in {
        "rise": (1, 0.1, -1, 0.5),
        "probability": (0.2, 0, -0.1, 0.1),
        "induction": (0, 0, 0, 0.9),
    }.items():
        arrays |= {f"{name}{end}": np.array(values) + add for end, add in (("", 0), ("_low", -0.1), ("_high", 0.1))}
    heads = {name: (HEADS, np.array(values, dtype=float).reshape(1, 2, 2)) for name, values in arrays.items()}
    whole = {"clean": -1, "corrupted": -4, "difference": 3, "honest_rise": 0.9}
    whole |= {"correlation": 0.1, "probability_correlation": 0.2}
    ends = {f"{name}{end}": value for name, value in whole.items() for end in ("", "_low", "_high")}
    tasks = {
        f"clean_accuracy{end}": ("task", [clean + add, 0.5 + add])
        for end, add in (("", 0), ("_low", -0.02), ("_high", 0.02))
    }
    found = xr.Dataset(
        heads | ends | tasks | {"corrupted_accuracy": ("task", [0.25, 0]), "both_expected": 0.5, "both_p": 0.2},
        coords={"stack": ["decoder"], "layer": range(2), "head": range(2), "task": ["plural", "past"]},
        attrs={"examples": 24, "texts": 20, "cut": 0, "notes": ["one word is left out"]},
    )
    found["role"].attrs["names"] = ["neither", "function vector", "induction", "both"]
    return found


def test_rows() -> None:
    rows = vector_rows(result(), 2)
    assert rows == [
        ("L0H0", "+1.00 [+0.90, +1.10]", "0.001", "+0.200", "0.00 [-0.10, 0.10]"),
        ("L1H1", "+0.50 [+0.40, +0.60]", "0.02", "+0.100", "0.90 [0.80, 1.00]"),
    ]


def test_sentences() -> None:
    said = vector_sentences(result())
    assert said[0] == "Note: one word is left out."
    assert said[1].endswith("(24 prompts, 95 % intervals).")
    assert said[2] == "Accuracy after clean (shuffled) examples: plural 90 % (25 %), past 50 % (0 %)."
    assert said[3] == (
        "The mean outputs of 2 heads raise it significantly (q < 0.05, 4 heads tested): L0H0, L1H1; 1 lower it."
    )
    assert said[4].endswith("+0.90 (+0.90 to +0.90 in 95 % of the splits).")
    assert "0.10 [0.10, 0.10] of the rise" in said[5]
    assert said[6] == (
        "1 of 2 function-vector heads are among the 1 induction heads, where 0.5 would be by chance (p = 0.2); "
        "median layer 0 against 1."
    )


def test_a_task_beyond_the_model() -> None:
    said = vector_sentences(result(clean=0.03))
    assert "The model does not do plural even after clean examples: no head can carry it." in said


def test_examples_that_do_not_help() -> None:
    found = result()
    found["difference_low"] = -0.5
    assert vector_sentences(found)[1].endswith("the examples are not shown to help.")


def test_no_head() -> None:
    said = vector_sentences(result(q=(0.5, 0.5, 0.5, 0.5), roles=(0, 0, 0, 2)))
    assert "No head's mean output raises it significantly (q < 0.05, 4 heads tested); 0 lower it." in said
    assert said[-1] == "There are 0 function-vector heads and 1 induction heads."
