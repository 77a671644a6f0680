"""The schemas of a sweep's variables: stored with its arrays, and used for older studies that do not have them."""

from __future__ import annotations

from headcount.core.schema import Schema

ABLATED = "Without the head"
"""The heading under which a page lists the effects of ablation."""
WITHOUT = {
    "head": "without the head",
    "layer": "without the layer's heads",
    "all-but-one": "with this head alone in its layer",
}


OF_ANOTHER_INPUT = ("patch", "function-vector")
"""Replacements whose change is not what is lost without a head."""
PATCHED = "From the other input"
"""The heading under which a page lists the effects of patching."""
PARTS = {"weights": "attention map"}
"""What a part of a head is called, if not by its name."""
PUT = {
    "head": "a head",
    "position": "a head",
    "layer": "a layer's heads",
    "all-but-one": "all heads of its layer but this one",
}
"""What of one input is put into the other."""
PLACES = {"all": "", "last": "at the last token of the prompt", "answer": "where the answer is predicted"}


def inputs_of(direction: str) -> tuple[str, str]:
    """Which input is run and which one gives, in a patch of this direction."""
    return ("corrupted", "clean") if direction == "denoise" else ("clean", "corrupted")


def spell_place(positions: str) -> str:
    """Where heads are patched; nothing where they are at all positions."""
    return PLACES.get(positions, f"at {positions!r}")


def patch_schemas(
    metric: str, direction: str, part: str = "output", positions: str = "all", by: str = "head"
) -> dict[str, Schema]:
    """By variable, the schemas that differ where heads are patched; titles tell directions, parts and positions."""
    ran, given = inputs_of(direction)
    what, one = PUT.get(by, "a set of heads"), by in ("head", "position")
    if direction == "denoise":
        means = f"1: {'it suffices' if one else 'they suffice'}"
    else:
        means = f"0: {'it is' if one else 'they are'} needed"
    of_head = what if part == "output" else f"the {PARTS.get(part, part)} of {what}"
    patched = " ".join(filter(None, (f"with {of_head} from the {given} one", spell_place(positions))))
    return {
        "score": Schema(f"{metric} on the {ran} input, {patched}", metric, shown=False),
        "delta": Schema(
            f"Change of {metric} on the {ran} input, {patched}",
            metric,
            f"the score moves away from that of the {ran} input",
            signed=True,
            category=PATCHED,
        ),
        "share": Schema(
            f"Share of the difference in {metric}, {ran} input {patched}",
            "0 = corrupted, 1 = clean",
            means,
            signed=True,
            centre=0 if direction == "denoise" else 1,
            category=PATCHED,
            paper="Wang 2023",
        ),
        "loss_delta": Schema(
            f"Change of the loss on the {ran} input, {patched}", "nats", signed=True, category=PATCHED, shown=False
        ),
        "baseline": Schema(f"{metric} on the {ran} input", metric, "what changes are compared with", shown=False),
        "clean": Schema(f"{metric} on the clean input", metric, shown=False),
        "corrupted": Schema(f"{metric} on the corrupted input", metric, shown=False),
        "difference": Schema(f"{metric}, clean minus corrupted", metric, shown=False),
    }


def path_schemas(metric: str) -> dict[str, Schema]:
    """By variable, the schemas that differ where a head acts through another one."""
    return {
        "sender": Schema("Head whose output is replaced"),
        "receiver": Schema("Later head that reads the change"),
        "into": Schema("What of the later head changes"),
        "score": Schema(f"{metric} with the path replaced", metric, shown=False),
        "delta": Schema(
            f"Change of {metric} through the path",
            metric,
            "0: the sender does nothing through the receiver",
            signed=True,
            category="From head to head",
            paper="Wang 2023",
        ),
    }


def sweep_schemas(metric: str, higher_is_better: bool, by: str) -> dict[str, Schema]:
    """By variable, the schemas of a sweep over heads, layers, sets of heads, or all heads of a layer but one."""
    without = WITHOUT.get(by, "without the set of heads")
    subject = "head" if by == "head" else "layer" if by == "layer" else "set"

    def direction(higher: bool) -> str:
        worse, better = ("below", "above") if higher else ("above", "below")
        if by == "all-but-one":
            return f"near 0: this head suffices for its layer; {worse} 0: others are needed too"
        return f"{worse} 0: the model needs the {subject}; {better} 0: it does better without it"

    loss = f"{direction(False)}; the loss shows smaller effects than a score"
    return {
        "score": Schema(f"{metric} {without}", metric, "the model's score", shown=False),
        "delta": Schema(
            f"Change of {metric} {without}",
            metric,
            direction(higher_is_better),
            signed=True,
            category=ABLATED,
            main=by == "head",
        ),
        "p": Schema("p-value of the change", "probability", "small: not by chance", (0, 1), shown=False),
        "q": Schema("p-value, corrected for all tests", "false discovery rate", "small: real", (0, 1), shown=False),
        "unchanged": Schema("Predictions that stay the same", "share of examples", "1: all", (0, 1), shown=False),
        "loss_delta": Schema(
            f"Change of the loss {without}", "nats", loss, signed=True, category=ABLATED, shown=by == "head"
        ),
        "missed_effect": Schema("Change that counts as an effect", metric, "of either sign", (0, None), shown=False),
        "missed_control": Schema("Heads of the control beyond it", "heads", "0: none", (0, None), shown=False),
        "missed_high": Schema(
            "Heads not run that may lie beyond it",
            "heads, at most (95 %)",
            "0: none was missed",
            (0, None),
            shown=False,
        ),
        "baseline": Schema(f"{metric} of the whole model", metric, "what changes are compared with", shown=False),
    }
