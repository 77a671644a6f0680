"""`headcount figure`: a figure of a study, for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def figure(
    study: Path,
    /,
    *,
    what: Annotated[
        str,
        Parameter(
            help="ablation, layers, histogram, importance, curve, budget, patterns, relations, pairs, patch, "
            "positions, cues, or a variable such as special.sep."
        ),
    ] = "ablation",
    output: Annotated[Path, Parameter(name=["-o", "--output"], help="File to write: .svg, .pdf or .png.")],
) -> None:
    """Draw a figure of a study in the style of the papers (needs matplotlib: pip install "headcount[plot]").

    Example: headcount figure demo-out --what ablation -o heads.pdf

    Parameters
    ----------
    study
        A study folder.
    """
    from headcount.reporting.figure import figure as run

    run(study, what, output)
    print(f"Drawn: {output}")
