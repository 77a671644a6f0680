"""How much of each relation a fixed offset explains, language by language, without any model.

    python -m recipes.languages.offsets TREEBANK... [--relations all,nsubj,obj] [--split test]

For each relation the best of the offsets -8 to 8 is selected on one half of the sentences and evaluated on the other.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from headcount.data.join_multiword import join_multiword
from headcount.data.read_annotated import read_annotated
from headcount.probing.dependencies.offsets import evaluate_offsets
from headcount.probing.dependencies.trees import OFFSETS, read_trees
from headcount.probing.selection.accuracies import halves
from recipes.languages.treebanks import read_treebank, split_by_order

RELATIONS = "all,nsubj,obj,obl,nmod,amod,det,case,advmod,aux,mark"


def offsets_of(folder: Path, split: str, relations: list[str], seed: int = 0) -> dict[str, tuple[float, int, int]]:
    """By relation: the accuracy of its best offset on the held-out half, the offset, and the number of cases there."""
    table = split_by_order(read_treebank(folder, split), "obj")
    sentences = [join_multiword(sentence) for sentence in read_annotated(table)]
    trees = read_trees(sentences, [[True] * len(sentence.words) for sentence in sentences])
    selecting = halves(len(sentences), seed)
    against = evaluate_offsets(trees.offset_hits(causal=False), trees.cases(causal=False), selecting, seed)
    held_out = trees.cases(causal=False)[~selecting].sum(0)[0]
    return {
        name: (float(against.best.accuracy[at]), OFFSETS[int(against.best.index[at])], int(held_out[at]))
        for at, name in enumerate(trees.relations)
        if name in relations
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebanks", type=Path, nargs="+")
    parser.add_argument("--relations", default=RELATIONS)
    parser.add_argument("--split", default="test")
    options = parser.parse_args(arguments)
    relations = options.relations.split(",")
    rows = {folder.name: offsets_of(folder, options.split, relations) for folder in options.treebanks}
    shown = {
        name: [f"{100 * row[one][0]:.0f} ({row[one][1]:+d})" if one in row else "" for one in relations]
        for name, row in rows.items()
    }
    print(pd.DataFrame(shown, index=np.array(relations)).T.to_markdown())


if __name__ == "__main__":
    main()
