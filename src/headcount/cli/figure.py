"""`headcount figure`: one figure of a study, for a paper."""

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
        Parameter(help="ablation, layers, histogram, importance, curve, patterns, or a number such as special.sep."),
    ] = "ablation",
    output: Annotated[Path, Parameter(name=["-o", "--output"], help="A file that ends in .svg, .pdf or .png.")],
) -> None:
    """Draw one figure of a study for a paper, in the look of the papers' own (needs matplotlib: headcount[plot]).

    Example: headcount figure demo-out --what ablation -o heads.pdf

    Parameters
    ----------
    study
        A study folder.
    """
    from headcount.reporting.figure import figure as run

    run(study, what, output)
    print(f"Drawn: {output}")
