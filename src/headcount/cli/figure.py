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
            help="ablation, layers, histogram, importance, roles, curve, budget, patterns, relations, pairs, patch, "
            "positions, cues, scatter, map, wall, before-after, or a variable such as special.sep."
        ),
    ] = "ablation",
    head: Annotated[str | None, Parameter(help="The head of map and before-after, such as L3H7.")] = None,
    text: Annotated[
        int | None,
        Parameter(help="Number of the text of map, wall and before-after, counted from 0; the first by default."),
    ] = None,
    x: Annotated[str | None, Parameter(help="Number of the heads along x of scatter, such as importance.")] = None,
    y: Annotated[str | None, Parameter(help="Number of the heads along y of scatter, such as ablation.")] = None,
    dpi: Annotated[int, Parameter(help="Dots per inch of a png, and of maps inside a pdf or svg.")] = 300,
    output: Annotated[
        Path | None,
        Parameter(
            name=["-o", "--output"],
            help="File to write: .svg, .pdf or .png; by default a pdf named after the model, the figure and the head.",
        ),
    ] = None,
) -> None:
    """Draw a figure of a study in the style of the papers (needs matplotlib: pip install 'headcount[plot]').

    Example: headcount figure demo-out --what ablation -o heads.pdf

    Parameters
    ----------
    study
        A study folder.
    """
    from headcount.reporting.figure import figure as run
    from headcount.reporting.figure import figure_name

    file = output or Path(figure_name(study, what, head, text))
    run(study, what, file, head=head, text=text, x=x, y=y, dpi=dpi)
    print(f"Drawn: {file}")
