"""Which noun does a pronoun stand for? In a treebank's relative clauses the tree itself says it."""

import pandas as pd

RELATIVE = ("WP", "WDT")
"""Penn tags of who, whom, which, that, what."""


def antecedents(row: pd.Series) -> dict[int, int]:
    """By the place of a relative pronoun, the place of the noun that its clause modifies, both from 0."""
    found = {}
    for place, (tag, upos) in enumerate(zip(row["xpos"], row["upos"], strict=True)):
        if tag not in RELATIVE or upos != "PRON":
            continue
        noun = _modified(place, row["heads"], row["deprels"])
        if noun is not None and row["upos"][noun] in ("NOUN", "PROPN"):
            found[place] = noun
    return found


def _modified(place: int, heads: list[int], deprels: list[str]) -> int | None:
    """The word that the nearest relative clause around a word modifies."""
    at = place
    while heads[at] > 0:
        if deprels[at] == "acl:relcl":
            return int(heads[at]) - 1
        at = int(heads[at]) - 1
    return None


def as_conllu(trees: pd.DataFrame) -> str:
    """The trees as CoNLL-U, with `Antecedent=` at the relative pronouns, which `headcount measure` reads."""
    sentences = []
    for number, (_, row) in enumerate(trees.iterrows()):
        nouns = antecedents(row)
        lines = [f"# sent_id = {number}"]
        for place, word in enumerate(row["tokens"]):
            more = f"Antecedent={nouns[place] + 1}" if place in nouns else "_"
            lines.append(
                "\t".join(
                    [
                        str(place + 1),
                        word,
                        "_",
                        row["upos"][place],
                        "_",
                        "_",
                        str(row["heads"][place]),
                        row["deprels"][place],
                        "_",
                        more,
                    ]
                )
            )
        sentences.append("\n".join(lines))
    return "\n\n".join(sentences) + "\n"
