"""Which attention maps were stored, and how to read them."""

from __future__ import annotations

from pathlib import Path

import xarray as xr


def maps_sentences(maps: xr.Dataset, group: str, size: int, new: bool, out: Path) -> list[str]:
    """Whether the text was truncated, what was stored, its size on disk, and how to read it."""
    sentences, attributes = [], maps.attrs
    if attributes["tokens_cut"]:
        sentences.append(
            f"The text was longer than {attributes['max_length']} tokens and was truncated: "
            f"{attributes['tokens_cut']:,} tokens were left out."
        )
    pooled = attributes.get("pooled", 1)
    if pooled > 1:
        sentences.append(
            f"The maps of so many tokens are kept between stretches: each cell {pooled} x {pooled} tokens, "
            "the mean over its queries, the sum over its keys."
        )
        starts = [array.sizes[array.dims[0]] for name, array in maps.items() if str(name).startswith("block_starts_")]
        if starts:
            sentences.append(f"{sum(starts)} blocks of them, along the diagonal and at the first keys, are exact.")
    heads = sum(int(array.sum()) for name, array in maps.items() if str(name).startswith("present_"))
    lengths = " and ".join(map(str, attributes["identity"]["lengths"]))
    spelled = f"{size / 1e6:.1f} MB" if size >= 10**5 else f"{-(-size // 1000)} kB"
    before = f"Saved {group} in {out}" if new else f"{out} has {group} already, nothing was done"
    return [
        *sentences,
        f"{before}: the maps of {heads} heads over {lengths} tokens, {spelled}. "  # noqa: ISC004
        f'Read it with headcount.open_study("{out}")["{group}"].',
    ]
