"""Draw attention maps from several models and lay them out for people (or language models) to name their patterns.

    python -m recipes.patterns.draw bundled:pretrained bundled:qnli MODEL ... --each 100 --out drawn
    python -m recipes.patterns.draw MODEL --data pairs.parquet --each 60 --prefix r --out drawn-r

Texts are the bundled ones, or 20 of a table. Writes `drawn/maps.csv` (where each map is from, how many maps of its
kind it stands for), `drawn/pictures.npz` (the maps between 32 stretches of the text, a byte a cell) and
`drawn/sheets/*.png` (twelve maps each, in random order).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.cluster import KMeans
from torch import Tensor

from headcount.attention_maps.maps import pack
from headcount.data.tables import read_table
from headcount.measures.inputs import COLUMNS
from headcount.models.decoder_inputs import decoder_inputs
from headcount.models.load import load
from headcount.patterns.naming import PATTERNS, pattern_chances
from headcount.patterns.shapes import SHAPES
from headcount.trace.observe import observe
from headcount.zoo.bundled import bundled_pairs, find_model
from recipes.patterns.shape import draw_pictures, shape_pictures

KINDS = {"pair": 8, "one": 8, "long": 4}
"""Texts of each kind for a model: a question with its sentence, a sentence alone, five sentences in a row."""
GIVEN, LONGEST = 20, 160
"""Texts of a table, and their tokens at most."""
CLUSTERS = 10
"""Kinds of maps of a model, by their shapes, from each of which equally many are drawn."""
SHEET = (4, 3)


def texts(kind: str, count: int, rng: np.random.Generator) -> pd.DataFrame:
    """Some of the bundled texts."""
    table = read_table(bundled_pairs())
    rows = rng.permutation(len(table))
    if kind == "pair":
        return table.iloc[rows[:count]][["question", "sentence"]].reset_index(drop=True)
    if kind == "one":
        return pd.DataFrame({"text": table["sentence"].iloc[rows[:count]].tolist()})
    return pd.DataFrame({"text": [" ".join(table["sentence"].iloc[rows[5 * n : 5 * n + 5]]) for n in range(count)]})


def see(name: str, data: str | None, rng: np.random.Generator) -> tuple[pd.DataFrame, list[np.ndarray], Tensor]:
    """All self-attention maps of a model on its texts: a row each, the maps, and their pictures."""
    model, tokenizer = load(find_model(name))
    rows: list[dict[str, Any]] = []
    maps: list[np.ndarray] = []
    pictures: list[Tensor] = []
    for kind, count in KINDS.items() if data is None else [(Path(data).parent.name, GIVEN)]:
        pairs = kind == "pair" or data is not None
        if kind == "pair" and getattr(model.config, "type_vocab_size", 0) < 2:
            continue
        table = texts(kind, count, rng) if data is None else read_table(data)
        names = next(names for names in COLUMNS if set(names) <= set(table.columns))
        for row in range(count) if data is None else rng.permutation(len(table))[:count]:
            inputs = _encode(model, tokenizer, [str(table[column].iloc[row]) for column in names])
            kinds = inputs.get("token_type_ids")
            border = int((kinds[0] == 0).sum()) - 1 if pairs and kinds is not None and bool((kinds == 1).any()) else -1
            with torch.no_grad():
                seen = observe(model, inputs, outputs=False).maps
            for stack, found in seen.items():
                if stack == "cross":
                    continue
                weights = found[:, :, 0].float()
                size = weights.shape[-1]
                small = draw_pictures(weights.flatten(0, 1))
                shapes = shape_pictures(small, size, stack)
                for place, one in enumerate(weights.flatten(0, 1)):
                    layer, head = divmod(place, weights.shape[1])
                    rows.append(
                        {
                            "model": Path(name).name,
                            "stack": stack,
                            "texts": kind,
                            "row": int(row),
                            "head": f"L{layer}H{head}",
                            "tokens": size,
                            "border": border,
                            **dict(zip(SHAPES, shapes[place].tolist(), strict=True)),
                        }
                    )
                    maps.append(one.numpy())
                pictures.append(small)
    return pd.DataFrame(rows), maps, torch.cat(pictures)


def _encode(model: Any, tokenizer: Any, parts: list[str]) -> dict[str, Tensor]:
    """A text, a pair, or what an encoder-decoder reads on both sides."""
    options = {"return_tensors": "pt", "truncation": True, "max_length": LONGEST}
    if not model.config.is_encoder_decoder:
        return dict(tokenizer(*parts, **options))
    inputs = dict(tokenizer(parts[0], **options))
    aim = tokenizer(text_target=parts[1], **options)["input_ids"][0].tolist()
    return inputs | {"decoder_input_ids": torch.tensor([decoder_inputs(model, aim)])}


def choose(table: pd.DataFrame, count: int, seed: int, likely: str | None = None) -> pd.DataFrame:
    """Equally many maps of every kind of shape, with how many each stands for; or `likely` ones of a pattern.

    Of a head that is likely to have the pattern, two maps at most.
    """
    shapes = table[list(SHAPES)]
    if likely is not None:
        chance = pattern_chances(torch.tensor(shapes.to_numpy()))[:, PATTERNS.index(likely)].numpy()
        ranked = table.assign(chance=chance).sort_values("chance", ascending=False)
        return ranked.groupby(["stack", "head"], sort=False).head(2).head(count).assign(stands_for=np.nan)
    scaled = (shapes - shapes.mean()) / shapes.std().clip(lower=1e-6)
    cluster = KMeans(CLUSTERS, n_init=4, random_state=seed).fit_predict(scaled.to_numpy())
    rng = np.random.default_rng(seed)
    parts = []
    for one in range(CLUSTERS):
        members = np.flatnonzero(cluster == one)
        taken = rng.permutation(members)[: count // CLUSTERS]
        parts.append(table.iloc[taken].assign(stands_for=len(members) / len(taken)))
    return pd.concat(parts)


def sheet(maps: list[np.ndarray], names: list[str], borders: list[int], place: Path) -> None:
    """One picture of twelve maps: dark is 0, bright the largest weights; ticks where a pair's first text ends."""
    import matplotlib.pyplot as plt

    # On white, a bright first column of many tokens looks like the edge of the picture.
    figure, axes = plt.subplots(SHEET[1], SHEET[0], figsize=(4 * 3.2, 3 * 3.4), dpi=100, facecolor="slategray")
    for axis in axes.flat:
        axis.axis("off")
    for axis, weights, name, border in zip(axes.flat, maps, names, borders, strict=False):
        bright = max(np.quantile(weights, 0.985), 1.5 / len(weights))
        axis.imshow(weights, cmap="magma", vmin=0, vmax=bright, interpolation="nearest")
        axis.set_title(name, fontsize=13, fontweight="bold")
        if border >= 0:
            axis.axis("on")
            axis.set_xticks([border + 0.5], [""])
            axis.set_yticks([border + 0.5], [""])
            axis.tick_params(color="red", length=9, width=3)
    figure.tight_layout()
    figure.savefig(place)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="folders, hub names, bundled:pretrained, bundled:qnli")
    parser.add_argument("--each", type=int, nargs="+", default=[100], help="maps of a model, or one number for each")
    parser.add_argument("--data", help="a table of texts or pairs, source and target for a translation model")
    parser.add_argument("--likely", choices=PATTERNS, help="maps that the rule takes for this pattern, for rare ones")
    parser.add_argument("--prefix", default="m", help="a letter that the names of the maps begin with")
    parser.add_argument("--out", type=Path, default=Path("drawn"))
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    each = asked.each if len(asked.each) == len(asked.models) else asked.each * len(asked.models)
    rng = np.random.default_rng(asked.seed)
    tables, maps, pictures = [], [], []
    for name, count in zip(asked.models, each, strict=True):
        table, found, small = see(name, asked.data, rng)
        chosen = choose(table, count, asked.seed, asked.likely)
        tables.append(chosen)
        maps += [found[row] for row in chosen.index]
        pictures.append(small[chosen.index])
        print(f"{name}: {len(chosen)} of {len(table):,} maps", flush=True)
    whole = pd.concat(tables, ignore_index=True)
    order = rng.permutation(len(whole))
    whole = whole.iloc[order].reset_index(drop=True)
    maps = [maps[row] for row in order]
    whole.insert(0, "id", [f"{asked.prefix}{row:03d}" for row in range(len(whole))])
    (asked.out / "sheets").mkdir(parents=True, exist_ok=True)
    whole.drop(columns=[*SHAPES, "chance"], errors="ignore").round(3).to_csv(asked.out / "maps.csv", index=False)
    np.savez_compressed(asked.out / "pictures.npz", pictures=pack(torch.cat(pictures)[order]))
    size = SHEET[0] * SHEET[1]
    for start in range(0, len(whole), size):
        part = slice(start, start + size)
        place = asked.out / "sheets" / f"{start // size:02d}.png"
        sheet(maps[part], list(whole["id"][part]), list(whole["border"][part]), place)
    print(f"{len(whole)} maps on {-(-len(whole) // size)} sheets in {asked.out}")


if __name__ == "__main__":
    main()
