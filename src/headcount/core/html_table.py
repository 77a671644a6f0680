"""A small table of HTML: how an object of Headcount looks at the end of a notebook's cell."""

from __future__ import annotations

import html
from collections.abc import Iterable

FRAME = "background:#fff;color:#1c2127;padding:4px;font:13px/1.45 system-ui,sans-serif"
CELL = "padding:2px 14px 2px 6px;text-align:left;vertical-align:top;border:0"


def html_table(rows: Iterable[tuple[str, ...]], note: str = "") -> str:
    """Rows of texts as a table that needs no style sheet, with a note below.

    >>> "<td" in html_table([("heads", "L0H1 & L2H3")]), "L0H1 &amp; L2H3" in html_table([("heads", "L0H1 & L2H3")])
    (True, True)
    """
    lines = ""
    for row in rows:
        cells = "".join(f'<td style="{CELL}">{html.escape(cell)}</td>' for cell in row)
        lines += f'<tr style="background:none">{cells}</tr>'
    below = f'<p style="margin:2px 6px;color:#4f5863">{html.escape(note)}</p>' if note else ""
    return f'<div style="{FRAME}"><table style="border-collapse:collapse;font:inherit">{lines}</table>{below}</div>'
