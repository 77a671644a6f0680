"""What a study holds of the attention maps of one text, and how to read it."""

from __future__ import annotations

from pathlib import Path

import xarray as xr


def maps_sentences(maps: xr.Dataset, group: str, size: int, new: bool, out: Path) -> list[str]:
    """Whether the text was cut; then what is in the study, its bytes on the disk, and how to read it."""
    said, attributes = [], maps.attrs
    if attributes["tokens_cut"]:
        said.append(
            f"The text was longer than {attributes['max_length']} tokens and was cut: {attributes['tokens_cut']:,} "
            "tokens were left out."
        )
    heads = sum(int(array.sum()) for name, array in maps.items() if str(name).startswith("present_"))
    lengths = " and ".join(map(str, attributes["identity"]["lengths"]))
    spelled = f"{size / 1e6:.1f} MB" if size >= 10**5 else f"{-(-size // 1000)} kB"
    before = f"Saved {group} in {out}" if new else f"{out} has {group} already, nothing was done"
    return [
        *said,
        f"{before}: the maps of {heads} heads over {lengths} tokens, {spelled}. "  # noqa: ISC004
        f'Read it with headcount.open_study("{out}")["{group}"].',
    ]
