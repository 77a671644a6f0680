"""What a newcomer types wrong with choose, curve, gates, recover, find-patterns, probe, cues and their heads."""

from __future__ import annotations

from tests.hard.row import Row, bad, option

CHOOSE = "choose {classifier} --task sst2 --data {texts}"
IMPORTANCE = "importance {classifier} --task sst2 --data {texts}"
CURVE = "curve {classifier} --task sst2 --data {texts}"
GATES = "gates {classifier} --task sst2 --data {texts}"
REFIT = "refit {pruned} --whole {classifier} --task sst2 --data {texts} --out refitted"
RECOVER = "recover {pruned} --task sst2 --data {texts} --out recovered"
PATTERNS = "find-patterns {classifier} --data {texts}"
CUES = "cues --data {texts} --task sst2"
CHOICES = "cues --data {arguments} --choices first second --least 2"
CIRCUIT = "circuit {classifier} --data {texts} --task sst2"
PATHS = "paths {classifier} --data {texts} --task sst2 --how zero"
CUE_HEADS = "cue-heads {classifier} --data {texts} --task sst2"
ATTRIBUTION = "attribution {classifier} --task sst2 --data {reversed}"
SCREENED = "sweep {classifier} --task sst2 --data {reversed} --screen attribution --top 1"
TWINS = "adversarial --data {arguments} --choices first second"
UNKNOWN = {
    CHOOSE: ("--out small", "--heads L0H0", "--recover 5", "--steps=2 --tolerence 1"),
    CURVE: ("--study s", "--drop 50%", "--heads L0"),
    GATES: ("--strength 0.1", "--steps 10", "--batch 8", "--epochs 3"),
    RECOVER: ("--steps 5", "--recover 5", "--epochs 3", "--heads L0", "--study s"),
    PATTERNS: ("--task sst2", "--only vertical", "--heads L0", "--labels a b"),
}
"""Options that other verbs have, or that are misspelt."""


def unknown(command: str, more: str) -> Row:
    name = more.split()[-2]
    return bad(f"{command.split()[0]} has no {name}", f"{command} {more}", name, "--help")


ROWS = [
    *[unknown(command, more) for command, others in UNKNOWN.items() for more in others],
    # importance
    bad("importance: parts that there are not", IMPORTANCE + " --what neurons", "--what", "heads, units, both"),
    bad(
        "importance: labels of completions",
        "importance {causal} --data synthetic:repeat,length=5 --own-labels",
        "--own-labels",
        "completion",
    ),
    # choose
    bad("how many is not said", CHOOSE, "--drop", "--keep", "--tolerance"),
    bad("two ways to say how many", CHOOSE + " --drop 1 --keep 2", "one of", "--drop", "--keep"),
    bad("a share with a space", CHOOSE + " --drop 40 %", "%"),
    bad("a share above 1", CHOOSE + " --drop 1.5", "1.5"),
    bad("more heads than there are", CHOOSE + " --drop 5", "5", "4 heads"),
    bad("all heads", CHOOSE + " --drop 100%", "4 heads"),
    bad("no head is kept", CHOOSE + " --keep 0", "0"),
    bad("a tolerance in percent", CHOOSE + " --tolerance 1%", "--tolerance", "1%"),
    bad("a tolerance below 0", CHOOSE + " --tolerance -0.5", "--tolerance", "-0.5", "at least 0"),
    bad("an estimate without a tolerance", CHOOSE + " --drop 1 --by-estimate", "--by-estimate", "--tolerance"),
    bad("orders separated by spaces", CHOOSE + " --drop 1 --order importance random", "random"),
    bad("an order with a capital", CHOOSE + " --drop 1 --order Importance", "'Importance'", "importance"),
    bad("an order left blank", CHOOSE + " --drop 1 --order importance,,random", "''", "importance"),
    bad("an order from a file without a name", CHOOSE + " --drop 1 --order file:", "file:"),
    bad("an order without its file:", CHOOSE + " --drop 1 --order heads.txt", "'heads.txt'", "file:"),
    bad("more heads in a layer than there are", CHOOSE + " --drop 1 --at-least 3", option("at-least"), "3"),
    bad("a name without a study", CHOOSE + " --drop 1 --name mine", "--name", "--study"),
    bad("a stack that the model lacks", CHOOSE + " --drop 1 --stack decoder", "decoder", "encoder"),
    bad("no task", "choose {classifier} --data {texts} --drop 1", "--task"),
    bad("a task in its long name", CHOOSE.replace("sst2", "sentiment") + " --drop 1", "'sentiment'", "sst2"),
    bad("a language model", CHOOSE.replace("{classifier}", "{causal}") + " --drop 1", "GPT2LMHeadModel"),
    bad("a folder of runs", CHOOSE.replace("{classifier}", "{empty-folder}") + " --drop 1", "{empty-folder}"),
    bad("a study that is a model", CHOOSE + " --drop 1 --study {pruned}", "{pruned}", "not a study"),
    bad("what goes together, misspelt", CHOOSE + " --drop 1 --by groups", "--by", "groups", "group"),
    bad("what goes together, as in a sweep", CHOOSE + " --drop 1 --by layer", "--by", "layer", "group"),
    bad("a metric of another task", CHOOSE + " --drop 1 --metric perplexity", "perplexity", "accuracy"),
    bad("steps by a tenth", CHOOSE + " --drop 1 --steps 0.1", "--steps", "0.1", "whole"),
    # curve
    bad("curve: no steps", CURVE + " --steps 0", "--steps", "at least 1"),
    bad("curve: an unknown order", CURVE + " --order beauty", "'beauty'", "importance"),
    bad("curve: an order from no file", CURVE + " --order file:no/such.txt", "no/such.txt"),
    bad("curve: an order that lacks heads", CURVE + " --order file:{order-short}", "{order-short}", "missing"),
    bad("curve: randoms without a random order", CURVE + " --order importance --randoms 2", "--randoms"),
    bad("curve: anew without importance", CURVE + " --order random --anew", "--anew"),
    bad("curve: beams for a classifier", CURVE + " --num-beams 2", "--num-beams"),
    bad("curve: a metric of another task", CURVE + " --metric pearson", "'pearson'", "accuracy"),
    bad("curve: a name without a study", CURVE + " --name mine", "--name", "--out"),
    bad("curve: three examples", CURVE.replace("{texts}", "{three-rows}"), "3 examples", "at least"),
    bad("curve: no data", "curve {classifier} --task classification", "--data"),
    bad("curve: other labels", CURVE + " --labels yes no", "yes", "negative"),
    bad("curve: a task of scores", CURVE.replace("sst2", "stsb"), "regression", "2 outputs"),
    bad("curve: into a model", CURVE + " --out {classifier}", "{classifier}", "not a study"),
    # gates
    *[
        bad(f"gates --price {price}", f"{GATES} --price='{price}'", "--price", "0.001")
        for price in ("", "high", "0.1;0.2", "0.01,", "0.1 0.2")
    ],
    *[bad(f"gates --price {price}", f"{GATES} --price={price}", "--price", price) for price in ("-1", "nan", "inf")],
    *[bad(f"gates --max-steps {steps}", f"{GATES} --max-steps={steps}", "--max-steps") for steps in ("0", "1.5")],
    *[
        bad(f"gates --learning-rate {rate}", f"{GATES} --learning-rate={rate}", "--learning-rate", rate)
        for rate in ("0", "-0.1", "inf", "fast")
    ],
    bad("gates: batches of nothing", GATES + " --per-device-train-batch-size 0", "batch-size", "at least 1"),
    bad("gates: a stack that the model lacks", GATES + " --stack cross", "cross", "encoder"),
    bad("gates: images", GATES.replace("{classifier}", "{vision}"), "ViT|image"),
    bad("gates: classes without names", GATES.replace("{classifier}", "{unnamed}"), "LABEL_0", "--labels"),
    *[
        bad(f"gates --roles --price {price}", f"{GATES} --roles --price={price}", "--price", "one price above 0")
        for price in ("0", "-1", "nan", "inf", "0.1,0.2")
    ],
    bad("gates --roles: no seeds", GATES + " --roles --seeds 0", "--seeds 0", "at least 1"),
    bad("gates --roles: half a seed", GATES + " --roles --seeds 1.5", "--seeds"),
    bad("gates --roles: nothing to compare with", GATES + " --roles --randoms 0", "--randoms 0", "at least 1"),
    bad("gates --roles: three examples", f"{GATES} --roles".replace("{texts}", "{three-rows}"), "3 examples", "40"),
    bad("gates --roles: a stack that the model lacks", GATES + " --roles --stack cross", "cross", "encoder"),
    bad("gates --roles: into a model", GATES + " --roles --out {classifier}", "{classifier}", "not a study"),
    bad("gates: seeds without roles", GATES + " --seeds 2", "--seeds", "--roles"),
    *[
        bad(f"gates --train-weights {rate}", f"{GATES} --train-weights={rate}", "--train-weights", rate)
        for rate in ("0", "-0.1", "inf", "fast")
    ],
    bad("gates: weights that no study keeps", GATES + " --train-weights 1e-4 --out new", "--train-weights", "--out"),
    bad("gates by its earlier name", GATES.replace("gates", "learn-gates"), "learn-gates", "headcount gates"),
    bad("gates: no task", "gates {classifier} --data {texts}", "--task"),
    # recover
    bad("recover: no output", "recover {pruned} --task sst2 --data {texts}", "--out"),
    bad("recover: into the model", RECOVER.replace("recovered", "{pruned} --overwrite"), "{pruned}", "the model"),
    bad("recover: inside the model", RECOVER.replace("recovered", "{pruned}/new"), "{pruned}/new", "the model"),
    bad("recover: a folder of somebody else", RECOVER.replace("recovered", "{notes}"), "{notes}", "--overwrite"),
    bad("recover: a file in the way", RECOVER.replace("recovered", "{a-file}"), "{a-file}"),
    bad("recover: a study in the way", RECOVER.replace("recovered", "{study}"), "{study}"),
    bad("recover: no steps", RECOVER + " --max-steps 0", "--max-steps", "at least 1"),
    bad("recover: steps below 0", RECOVER + " --max-steps=-5", "--max-steps", "-5"),
    bad("recover: no rate", RECOVER + " --learning-rate 0", "--learning-rate", "above 0"),
    bad("recover: no rank", RECOVER + " --lora --lora-rank 0", "--lora-rank", "at least 1"),
    bad(
        "recover: a temperature of zero",
        f"{RECOVER} --teacher {{classifier}} --temperature 0",
        "--temperature",
        "above 0",
    ),
    bad("recover: a teacher for another task", RECOVER + " --teacher {bare}", "BertModel"),
    bad("recover: no such teacher", RECOVER + " --teacher nowhere/at-all", "nowhere/at-all"),
    bad("refit: no whole model", REFIT.replace("--whole {classifier} ", ""), "--whole"),
    bad("refit: nothing was cut", REFIT.replace("{pruned}", "{classifier}"), "nothing to refit"),
    bad(
        "refit: the models exchanged",
        REFIT.replace("{pruned}", "X").replace("{classifier}", "{pruned}").replace("X", "{classifier}"),
        "--whole",
    ),
    bad("refit: few texts", REFIT + " --limit 3", "3 texts", "at least 20"),
    bad("refit: a ridge below zero", REFIT + " --ridge=-1", "--ridge", "at least 0"),
    bad("refit: no way to fit", REFIT + " --how bias", "bias", "weights"),
    bad("refit: labels", REFIT + " --label stars", "--label"),
    bad("refit: into the model", REFIT.replace("refitted", "{pruned} --overwrite"), "{pruned}", "the model"),
    bad("refit: into the whole model", REFIT.replace("refitted", "{classifier} --overwrite"), "the whole model"),
    bad("recover: a rank without adapters", RECOVER + " --lora-rank 4", "--lora-rank", "--lora"),
    bad("recover: a rank in place of a switch", RECOVER + " --lora 8", "8"),
    bad("recover: a bare model", RECOVER.replace("{pruned}", "{bare}"), "BertModel"),
    bad("recover: no label column", RECOVER + " --label stars", "'stars'", "sentence"),
    bad("recover: a task for other models", RECOVER.replace("sst2", "translation"), "translation|source"),
    bad("recover: labels beyond the classes", RECOVER.replace("{texts}", "{label-too-large}"), "9", "0 to 1"),
    # find-patterns
    bad("find-patterns: three columns", PATTERNS + " --text a b c", "one or two"),
    bad("find-patterns: no such column", PATTERNS + " --text phrase", "phrase", "sentence"),
    bad("find-patterns: into a model", PATTERNS + " --out {classifier}", "{classifier}", "not a study"),
    bad("find-patterns: a name of two words", PATTERNS + " --out s --name 'two words'", "two words"),
    bad("find-patterns: a name without a study", PATTERNS + " --name mine", "--name", "--out"),
    bad("find-patterns: half a token", PATTERNS + " --max-length 8.5", "--max-length", "8.5"),
    bad("find-patterns: two models", "find-patterns {classifier} {classifier-2} --data {texts}", "{classifier-2}"),
    bad("find-patterns: a model as data", "find-patterns {classifier} --data {classifier}", "{classifier}"),
    # probe
    bad("probe: no data", "probe {classifier}", "--data"),
    bad("probe: texts without trees", "probe {classifier} --data {texts}", "{texts}|tokens"),
    bad("probe: an unknown relation", "probe {classifier} --data {trees} --relations subject", "'subject'"),
    bad("probe: an unknown kind", "probe {classifier} --data {trees} --kind trees", "--kind", "dependencies"),
    bad("probe: an unknown source", "probe {classifier} --data {trees} --from-word last", "--from-word", "first"),
    bad("probe: a head outside of the sentence", "probe {classifier} --data {tree-head-outside}", "'7'"),
    bad("probe: a name without a study", "probe {classifier} --data {trees} --name mine", "--name", "--out"),
    # cues
    bad("cues: no data", "cues --task sst2", "--data"),
    bad("cues: no such file", "cues --task sst2 --data no/such.csv", "no/such.csv"),
    bad("cues: no such column", CUES + " --text phrase", "phrase", "sentence", "label"),
    bad("cues: no label column", CUES.replace("{texts}", "{no-label}"), "'label'", "sentence"),
    bad("cues: no such label column", CUES + " --label stars", "'stars'", "sentence"),
    bad("cues: one label", CUES.replace("{texts}", "{label-one}"), "all 40 examples", "'positive'", "two labels"),
    bad("cues: one label without a task", "cues --data {label-one} --text sentence", "all 40 examples", "'1'"),
    bad("cues: a label is missing", CUES.replace("{texts}", "{label-missing}"), "row 4", "missing"),
    bad("cues: a label beyond the classes", CUES.replace("{texts}", "{label-too-large}"), "9", "0 to 1"),
    bad("cues: half a class", "cues --data {label-half} --text sentence", "0.5", "whole"),
    bad("cues: nothing but blank texts", CUES.replace("{texts}", "{blank-texts}"), "{blank-texts}", "blank"),
    bad("cues: numbers as texts", CUES.replace("{texts}", "{text-a-number}"), "sentence", "7.5", "string"),
    bad("cues: other labels", CUES.replace("{texts}", "{label-unknown}") + " --labels yes no", "bad, good", "yes, no"),
    bad("cues: too rare", CUES + " --least 41", "no cue", "41", "--least"),
    bad("cues: a least of zero", CUES + " --least 0", "--least", "at least 1"),
    bad("cues: no cues at the top", CUES + " --top 0", "--top", "at least 1"),
    bad("cues: scores", "cues --data {scores} --task stsb", "stsb", "classification", "multiple-choice"),
    bad("cues: tags", "cues --data {tagged} --task token-classification", "token-classification", "rte"),
    bad("cues: an unknown task", "cues --data {texts} --task sst3", "sst3", "sst2"),
    bad("cues: unknown tokens", CUES + " --tokens letters", "--tokens", "words"),
    bad("cues: pieces of nothing", CUES + " --tokens pieces", "--tokenizer"),
    bad("cues: an unknown side", "cues --data {pairs} --task mrpc --side left", "--side", "second"),
    bad(
        "cues: choices that are not there", "cues --data {arguments} --choices a first", "column a;", "claim", "second"
    ),
    bad("cues: one choice", "cues --data {arguments} --choices first", "one choice (first)", "at least two"),
    bad("cues: the same choices", "cues --data {same-choices} --choices first second", "all 40", "first, second"),
    bad("cues: one correct choice", "cues --data {choices-data} --choices first second", "label 0", "two labels"),
    bad("cues: a choice beyond", "cues --data {choice-too-large} --choices first second", "2", "0 to 1"),
    bad("cues: a model without context", CHOICES + " --model {choices}", "context", "--text"),
    bad("cues: a context that is not there", CHOICES + " --model {choices} --text premise", "premise", "claim"),
    bad("cues: a model of another kind", CHOICES + " --model {classifier} --text claim", "multiple-choice"),
    bad("cues: no such model", CUES + " --model no/such", "no/such"),
    bad("cues: into a model", CUES + " --out {classifier}", "{classifier}", "not a study"),
    bad("cues: a folder as output", CUES + " -o {classifier}", "{classifier}", "folder"),
    bad("cues: into no folder", CUES + " -o no/such/cues.csv", "no/such"),
    bad("cues: the hub without a connection", "cues --data rte", "glue"),
    # carriers
    bad("carriers: no data", "carriers {classifier}", "--data"),
    bad(
        "carriers: no such measure",
        "carriers {masked} --data synthetic:repeat --measure induct",
        "'induct'",
        "induction",
    ),
    bad("carriers: a classification", "carriers {classifier} --data {texts} --task sst2", "sst2", "causal-lm"),
    bad("carriers: too many heads", "carriers {masked} --data {texts} --task masked-lm --top 500", "--top 500"),
    # attribution
    bad("attribution: no data", "attribution {classifier} --task sst2", "--data"),
    bad("attribution: no second input", "attribution {classifier} --task sst2 --data {texts}", "counterpart"),
    bad(
        "attribution: the same input twice",
        "attribution {classifier} --task sst2 --data {texts} --counterpart sentence",
        "equal as the tokenizer encodes them",
    ),
    bad(
        "attribution: no such column",
        "attribution {classifier} --task sst2 --data {texts} --counterpart other",
        "other",
        "sentence",
    ),
    bad("attribution: a metric without a gradient", ATTRIBUTION + " --metric accuracy", "accuracy", "log_probability"),
    bad("attribution: another stack", ATTRIBUTION + " --stack cross", "cross", "encoder"),
    bad("attribution: no such positions", ATTRIBUTION + " --positions verb", "verb", "all, last, answer"),
    bad("attribution: a part of it", ATTRIBUTION + " --part key", "--part"),
    bad("attribution: a task without answers", "attribution {masked} --task masked-lm --data {texts}", "counterpart"),
    bad("a screen by attribution without a patch", SCREENED, "zero", "patch"),
    bad("a screen by attribution of queries", SCREENED + " --how patch --part query", "query", "output"),
    # function-vectors
    bad("function-vectors: no data", "function-vectors {classifier}", "--data"),
    bad("function-vectors: a classification", "function-vectors {classifier} --data {texts} --task sst2", "completion"),
    bad("function-vectors: a masked model", "function-vectors {masked} --data synthetic:few-shot", "causal"),
    bad("function-vectors: no texts", "function-vectors {masked} --data synthetic:few-shot --texts 0", "--texts 0"),
    # circuit
    bad("circuit: no data", "circuit {classifier} --task sst2", "--data"),
    bad("circuit: a size and a tolerance", CIRCUIT + " --keep 2 --tolerance 1", "--tolerance", "--keep", "one of them"),
    bad("circuit: more heads than there are", CIRCUIT + " --keep 5000", "--keep 5000", "expected fewer than"),
    bad("circuit: no heads", CIRCUIT + " --keep 0", "--keep 0", "at least 1"),
    bad("circuit: no such tolerance", CIRCUIT + " --tolerance much", "--tolerance much", "5%"),
    bad("circuit: a tolerance of everything", CIRCUIT + " --tolerance 100%", "--tolerance 100%", "below 100%"),
    bad("circuit: a random order", CIRCUIT + " --order random", "--order random", "importance"),
    bad("circuit: no such replacement", CIRCUIT + " --how noise", "noise"),
    bad("circuit: no counterpart", CIRCUIT + " --how patch", "'counterpart'", "second input"),
    bad("circuit: no such metric", CIRCUIT + " --metric bleu", "'bleu'", "accuracy"),
    bad("circuit: few examples", CIRCUIT + " --limit 30", "30 examples", "at least 40"),
    bad("circuit: no such stack", CIRCUIT + " --stack cross", "'cross'", "encoder"),
    # paths
    bad("paths: no heads", "paths {classifier} --data {texts} --task sst2", "--among"),
    bad(
        "paths: generated texts",
        "paths {translator} --data {translations} --task translation --how zero --among encoder.L0H0,encoder.L1H0",
        "bleu",
        "loss",
    ),
    bad("paths: one head", PATHS + " --among L0H0", "1 head", "at least two"),
    bad("paths: heads of one layer", PATHS + " --among L0H0,L0H1", "different layers"),
    bad("paths: no such head", PATHS + " --among L0H0,L99H0", "L99H0"),
    bad("paths: no such input", PATHS + " --among L0H0,L1H0 --into output", "output"),
    bad("paths: an input twice", PATHS + " --among L0H0,L1H0 --into query --into query", "query twice"),
    bad("paths: no counterpart", "paths {classifier} --data {texts} --task sst2 --among L0H0,L1H0", "'counterpart'"),
    bad("paths: a folder without a circuit", PATHS + " --among {classifier}", "{classifier}"),
    # cue-heads
    bad("cue-heads: no data", "cue-heads {classifier} --task sst2", "--data"),
    bad("cue-heads: no cue that matters", CUE_HEADS, "none of", "--cue"),
    bad("cue-heads: a cue that is not there", CUE_HEADS + " --cue unheard", "'unheard'", "at least 10 texts"),
    bad("cue-heads: all heads", CUE_HEADS + " --cue w1 --removed 400", "--removed", "from 1 to"),
    bad("cue-heads: no random sets", CUE_HEADS + " --cue w1 --randoms 0", "--randoms", "at least 1"),
    bad("cue-heads: a model of another kind", "cue-heads {choices} --data {texts} --task sst2", "classification"),
    bad(
        "cue-heads: choices without context", "cue-heads {choices} --data {arguments} --choices first second", "--text"
    ),
    bad("cue-heads: a name without a study", CUE_HEADS + " --name mine", "--name", "--out"),
    # adversarial
    bad("adversarial: no data", "adversarial --choices first second --swap", "--data"),
    bad("adversarial: no choices", "adversarial --data {arguments} --swap", "--choices"),
    bad("adversarial: nothing to do", TWINS, "--negations", "--swap"),
    bad("adversarial: no such map", TWINS + " --negations no/such.csv", "no/such.csv"),
    bad(
        "adversarial: a map that misses claims", TWINS + " --negations {negations-short}", "1 of 2", "20 of 40", "w3 w4"
    ),
    bad("adversarial: two negations", TWINS + " --negations {negations-twice}", "several", "'w1 w2'"),
    bad("adversarial: three columns", TWINS + " --negations {negations-three}", "a, b, c", "original and negated"),
    bad("adversarial: no such claims", TWINS + " --negations {negations-short} --claim thesis", "'thesis'", "first"),
    bad("adversarial: the same choices", TWINS.replace("{arguments}", "{same-choices}") + " --swap", "all 40"),
    bad("adversarial: a workbook", TWINS + " --swap -o twins.xlsx", "twins.xlsx", ".csv"),
    bad("adversarial: a model without a context", TWINS + " --swap --model {choices}", "--text"),
    bad("adversarial: a model on data without twins", TWINS + " --model {choices} --text claim", "--twin-column"),
    bad("adversarial: into no folder", TWINS + " --swap -o no/such/twins.csv", "no/such"),
    bad(
        "adversarial: three choices",
        "adversarial --data {arguments} --choices claim first second --negations {negations-short}",
        "3 choices",
        "two",
    ),
]
