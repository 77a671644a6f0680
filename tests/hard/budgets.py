"""What a newcomer types wrong with budgets: of choose and prune, for heads and feed-forward units."""

from __future__ import annotations

from tests.hard.row import bad

CHOOSE = "choose {classifier} --task sst2 --data {texts} --steps 2"
PRUNE = "prune {classifier} --task sst2 --data {texts} --steps 2 --out small"
STAGES = "prune {classifier} --task sst2 --data {texts} --out small --what both"
BOTH = "--what both --operations 80%"
TEXTS = "--task causal-lm --data {texts} --steps 2"
EITHER = {"choose": CHOOSE, "prune": PRUNE}

ROWS = [
    *[
        row
        for verb, command in EITHER.items()
        for row in (
            bad(
                f"{verb}: operations below what can be reached",
                f"{command} --what both --at-least 1 --operations 1%",
                "--operations 1%",
                "would be left",
                "expected",
            ),
            bad(
                f"{verb}: parameters below what can be reached",
                f"{command} --what both --weights 1%",
                "--weights 1%",
                "would be left",
            ),
            bad(
                f"{verb}: heads alone cannot",
                f"{command} --what heads --operations 2%",
                "--operations 2%",
                "--what both",
            ),
            bad(
                f"{verb}: heads alone cannot, nor are there examples",
                f"{command} --limit 4 --operations 2%",
                "--operations 2%",
                "--what both",
            ),
            bad(
                f"{verb}: units alone cannot",
                f"{command} --what units --operations 2%",
                "--operations 2%",
                "--what both",
            ),
            bad(
                f"{verb}: two budgets", f"{command} {BOTH} --faster 2", "--operations 80%", "--faster 2", "exactly one"
            ),
            bad(
                f"{verb}: a budget and a tolerance",
                f"{command} {BOTH} --tolerance 1",
                "--operations 80%",
                "--tolerance",
                "exactly one",
            ),
            bad(f"{verb}: a budget and a number of heads", f"{command} --operations 80% --drop 1", "--drop", "budget"),
            bad(f"{verb}: units by number", f"{command} --what units --drop 50%", "--drop", "--operations"),
            *[
                bad(
                    f"{verb} --operations {size}",
                    f"{command} --what both --operations={size}",
                    "--operations",
                    size,
                    "%",
                )
                for size in ("150%", "0%", "100%", "-10%", "half", "50", "nan", "1.5", "")
            ],
            bad(f"{verb} --weights 60 %", f"{command} --what both --weights 60 %", "%"),
            *[
                bad(f"{verb} --faster {times}", f"{command} --what both --faster={times}", "--faster", times)
                for times in ("0.5", "1", "0", "-2", "2x", "nan", "inf")
            ],
            bad(
                f"{verb}: a speed that cannot be reached",
                f"{command} --what both --faster 1000",
                "--faster 1000",
                "--faster",
            ),
            bad(
                f"{verb}: parts that there are not",
                f"{command} --what neurons --operations 80%",
                "--what",
                "heads",
                "units",
                "both",
            ),
            bad(f"{verb}: an unknown score", f"{command} {BOTH} --score beauty", "--score", "fisher"),
            bad(f"{verb}: an unknown refit", f"{command} {BOTH} --refit all", "--refit", "weights", "scales", "none"),
            *[
                bad(f"{verb} {more}", f"{command} {BOTH} {more}", more.split("=")[0], "at least 1")
                for more in ("--multiple=0", "--batch=0", "--length=0")
            ],
            bad(f"{verb}: longer than the model reads", f"{command} {BOTH} --length 1000", "1000|1,000", "64"),
            bad(
                f"{verb}: training examples that are not there", f"{command} {BOTH} --train no/such.csv", "no/such.csv"
            ),
            bad(f"{verb}: training examples without the column", f"{command} {BOTH} --train {{pairs}}", "sentence"),
            bad(f"{verb}: a study that is a model", f"{command} {BOTH} --study {{pruned}}", "{pruned}", "not a study"),
        )
    ],
    *[
        bad(f"{verb}: {model}", f"{verb} {{{model}}} {TEXTS} {more}{end}", why, "leave the units out|--what heads")
        for verb, end in (("choose", ""), ("prune", " --out small"))
        for model, why in (("experts", "mixtures of experts"), ("no-units", "feed-forward"))
        for more in (BOTH,)
    ],
    bad("importance: units of experts", "importance {experts} --task causal-lm --data {texts} --what units", "experts"),
    bad(
        "importance: units that are not known",
        "importance {no-units} --task causal-lm --data {texts} --what both",
        "feed-forward",
    ),
    bad("units of a mixture of experts by name", "prune {experts} --heads L0U0 --out small", "mixtures of experts"),
    *[
        bad(f"prune --heads {units!r}", f"prune {{classifier}} --heads '{units}' --out small", *words)
        for units, words in {
            "L99U3": ("'L99U3'", "L0 to L1"),
            "L0U999": ("'L0U999'", "L0U"),
            "L0U5-2": ("'L0U5-2'", "units 0-31"),
            "U3": ("'U3'", "L3U7"),
            "L0H0,L0U-": ("L0U-", "L3U"),
        }.items()
    ],
    bad("stages without a recovery", f"{STAGES} --operations 50% --stages 2", "--stages", "--recover"),
    bad("no stages", f"{STAGES} --operations 50% --stages 0 --recover 1", "--stages", "at least 1"),
    bad("half a stage", f"{STAGES} --operations 50% --stages 1.5 --recover 1", "--stages"),
    bad("stages to a tolerance", f"{STAGES} --tolerance 1 --stages 2 --recover 1", "--stages", "--operations"),
    bad("stages to no budget", f"{STAGES} --drop 50% --stages 2 --recover 1", "--drop", "--operations"),
    bad(
        "stages below what can be reached",
        f"{STAGES} --at-least 1 --operations 1% --stages 3 --recover 1",
        "--operations 1%",
        "would be left",
    ),
    bad(
        "stages of a mixture of experts",
        f"prune {{experts}} {TEXTS.replace(' --steps 2', '')} {BOTH} --stages 2 --recover 1 --out x",
        "mixtures of experts",
    ),
    bad(
        "a temperature of zero, prune",
        f"{STAGES} --operations 80% --recover 1 --temperature 0",
        "--temperature",
        "above 0",
    ),
]
