"""Options out of range, misspelt, that do not go together, or that have no effect."""

from __future__ import annotations

from tests.hard.row import Row, bad, option, over
from tests.hard.verbs import COMMANDS, adding

ALL = ("sweep", "measure", "compare", "patterns", "importance", "choose", "dynamics")
"""Verbs that read examples."""
PATCH = "sweep {classifier} --task sst2 --how patch --data"
SWEEP, CHOOSE, PRUNE, TUNE, PARTIAL = (COMMANDS[verb] for verb in ("sweep", "choose", "prune", "finetune", "partial"))
AS_WELL = {
    "choose": "choose {classifier} --task sst2 --data {texts} --drop 50% --steps 2",
    "curve": "curve {classifier} --task sst2 --data {texts} --steps 2",
    "gates": "gates {classifier} --task sst2 --data {texts} --max-steps 1",
    "recover": "recover {classifier} --task sst2 --data {texts} --max-steps 1 --out recovered",
}
"""The verbs that prune and curves are made of."""
MAPPED = ("sweep", "importance", "measure")
"""Verbs that run a model in parts."""
TRANSLATE = "sweep {translator} --task translation --data {translations}"


def numbers(verb: str, name: str, *values: str) -> list[Row]:
    """One option of a verb with each of these values, all of them refused."""
    command = COMMANDS[verb]
    before, found, after = command.partition(f" --{name} ")
    if found:
        command = f"{before} {after.partition(' ')[2]}"
    return [bad(f"{verb} --{name} {value}", f"{command} --{name}={value}", option(name)) for value in values]


ROWS = [
    *over({verb: f"{command} --limit 0" for verb, command in AS_WELL.items()}, "no example, on its own", "limit", "0"),
    *over({verb: f"{command} --seed=-1" for verb, command in AS_WELL.items()}, "a seed below 0, on its own", "seed"),
    *over(
        {verb: command.replace("{texts}", "no/file.csv") for verb, command in AS_WELL.items()},
        "no such data, on its own",
        "no/file.csv",
    ),
    *over(
        {verb: command.replace("{classifier}", "{bare}") for verb, command in AS_WELL.items()},
        "a bare model, on its own",
        "BertModel",
    ),
    bad("live: for others without a token", "live {classifier} --host 0.0.0.0", "--host", "--token"),
    bad("live: a token that can be guessed", "live {classifier} --token secret", "token of 6", "at least 16"),
    bad("live: a port that is none", "live {classifier} --port 70000", "--port", "70000"),
    bad(
        "live: a host that is none",
        "live {classifier} --host 192.0.2.1 --token 0123456789abcdef",
        "--host",
        "192.0.2.1",
    ),
    bad("live: a bare model", "live {bare}", "BertModel", "no task"),
    # Numbers that are too small, for all verbs that have them.
    *over(adding("--limit 0", *ALL), "no example", "limit", "0", "at least 1"),
    *over(adding("--seed=-1", *ALL), "a negative seed", "seed", "-1"),
    *over(adding("--max-length 4", *ALL), "texts of four tokens", option("max-length"), "4", "8"),
    *over(adding("--limit ten", *ALL), "a number in words", "--limit", "ten"),
    *over(adding("--limit 2.5", "sweep", "measure", "choose"), "half an example", "--limit", "2.5"),
    *over(adding("--seed nan", "sweep", "compare"), "a seed that is no number", "--seed", "nan"),
    *over(
        adding("--batch-tokens 0", "measure", "compare", "patterns", "importance"),
        "batches of no token",
        option("batch-tokens"),
        "0",
    ),
    *over(adding("--device abacus", *ALL, "maps", "prune", "cost", "finetune"), "a device that is none", "abacus"),
    *over(adding("--device cuda:77", "sweep", "cost", "dynamics", "finetune"), "a device that is not here", "cuda:77"),
    *over(adding("--device-map abacus", *MAPPED), "a device map that is none", option("device-map"), "abacus", "auto"),
    *over(adding("--device-map no/such.json", *MAPPED), "no such device map", "no/such.json", "No such file"),
    *over(adding("--device-map {map-no-json}", *MAPPED), "a device map that is no JSON", "{map-no-json}", "no JSON"),
    *over(adding("--device-map {map-a-list}", *MAPPED), "a list as a device map", "{map-a-list}", "[1, 2]"),
    *over(adding("--device-map {map-empty}", *MAPPED), "an empty device map", option("device-map"), "empty"),
    *over(adding("--device-map {map-no-device}", *MAPPED), "a map to no device", "abacus", "bert", "not here"),
    *over(adding("--device-map {map-some}", *MAPPED), "a map of some parts", option("device-map"), "classifier.weight"),
    *over(adding("--device-map {map-other}", *MAPPED), "a map of other parts", option("device-map"), "nonsense"),
    *over(
        adding("--dtype int8", "sweep", "measure", "compare", "patterns", "maps", "importance", "prune", "cost"),
        "a dtype that is none",
        "--dtype",
        "int8",
        "float32",
    ),
    *over({verb: f"{command} --colour red" for verb, command in COMMANDS.items()}, "an unknown option", "--colour"),
    *over(
        {
            "demo": "demo more",
            "heads": "heads {classifier} more",
            "maps": "maps {classifier} more --text a --out b",
            "table": "table {study} more",
            "sweep": f"{SWEEP} more",
            "export": f"{COMMANDS['export']} more",
            "explain": "explain L0H0 {study} more",
            "doctor": "doctor {classifier} more",
        },
        "a word too many",
        "more",
    ),
    *over(
        {
            "heads": "heads",
            "sweep": "sweep --task sst2",
            "compare": "compare {classifier} --data {texts}",
            "patterns": "patterns --data {texts}",
            "maps": "maps --text a --out b",
            "finetune": "finetune --tasks sst2",
            "importance": "importance --task sst2 --data {texts}",
            "prune": "prune --heads L0 --out x",
            "dynamics": "dynamics --task sst2 --data {texts}",
            "cost": "cost",
            "export": "export --to onnx --out x",
        },
        "no model",
        "MODEL|OTHER|FOLDER|model|other|folder",
    ),
    *over({"figure": "figure -o x.svg", "table": "table", "explain": "explain L0H0"}, "no study", "STUDY|study"),
    *over(
        {
            "heads": "explain L0H0-1 {study}",
            "a layer": "explain L0 {study}",
            "none": "explain '' {study}",
            "another layer": "explain L77H0 {study}",
            "another head": "explain L0H77 {study}",
            "another stack": "explain cross.L0H0 {study}",
        },
        "explain",
        "L0|L3|cross",
    ),
    bad("explain: the study first", "explain {study} L0H0", "the head comes first", "headcount explain L0H0 {study}"),
    bad("explain: small letters", "explain l0h0 {study}", "'l0h0'", "expected L0H0"),
    bad("explain: a unit", "explain L0U0 {study}", "'L0U0'", "units are not explained"),
    bad(
        "measures, some of which are impossible",
        "measure {classifier} --data {texts} --only entropy,copying,direct_effect",
        "copying, direct_effect cannot be measured here",
        "leave them out: --only entropy",
    ),
    bad("a measure that is impossible", "measure {classifier} --data {texts} --only copying", "leave --only out"),
    bad("completion: a word too many", "--install-completion --shell bash more", "more", "--install-completion --help"),
    bad("help about no verb", "help frobnicate", "frobnicate", "headcount --help"),
    bad("doctor: no such model", "doctor no/such/model", "no/such/model"),
    bad("doctor: a device that is none", "doctor {classifier} --device abacus", "abacus", "cpu"),
    bad("doctor: a device without a model", "doctor --device cpu", "--device", "MODEL|model"),
    bad("report: no study", "report -o x.html", "study"),
    bad("agreement: no study", "agreement", "study|sweeps"),
    bad("measure: no model", "measure --data {texts}", "model", "MODEL"),
    bad("measure: no data", "measure {classifier}", "--data"),
    *over(
        {
            "sweep": "sweep {classifier} --data {texts}",
            "importance": "importance {classifier} --data {texts}",
            "dynamics": "dynamics {run} --data {texts}",
        },
        "no task",
        "--task",
    ),
    *over(
        {
            "compare": "compare {classifier} {classifier-2}",
            "patterns": "patterns {classifier}",
            "importance": "importance {classifier} --task sst2",
            "dynamics": "dynamics {run} --task sst2",
        },
        "no data",
        "--data",
    ),
    *over(
        {
            "maps": "maps {classifier} --text a",
            "finetune": "finetune {bare} --tasks sst2 --data {texts}",
            "prune": "prune {classifier} --heads L0",
            "export": "export {classifier} --to zeroed",
        },
        "no output",
        "--out",
    ),
    *numbers("sweep", "stop-when", "0", "-1", "nan", "inf", "some"),
    bad("a race of BLEU", f"{TRANSLATE} --stop-when 1", "--stop-when", "bleu", "--metric loss"),
    bad(
        "a race of perplexity",
        "sweep {causal} --task causal-lm --data {texts} --metric perplexity --stop-when 1",
        "perplexity",
        "--metric loss",
    ),
    bad("a race of screened heads", f"{SWEEP} --screen norm --top 1 --stop-when 1", "--stop-when", "screen"),
    bad("no head by rank", f"{SWEEP} --screen importance --top 0", "--top 0", "at least 1"),
    bad("all heads by rank", f"{SWEEP} --screen importance --top 999", "--top 999", "fewer than the 4 heads"),
    bad("a control below 0", f"{SWEEP} --screen importance --top 1 --control=-1", "--control -1", "at least 0"),
    bad("too large a control", f"{SWEEP} --screen importance --top 1 --control 9", "--control 9", "at most 3"),
    bad("a screening that is none", f"{SWEEP} --screen luck --top 1", "--screen", "luck", "importance"),
    bad("a patch of single inputs", f"{SWEEP} --how patch", "'counterpart'", "--counterpart"),
    bad("a patch of a column that is not there", f"{SWEEP} --how patch --counterpart other", "'other'", "sentence"),
    bad("a patch of equal inputs", f"{SWEEP} --how patch --counterpart sentence", "are equal", "pairs that differ"),
    bad("a patch of unlike lengths", f"{PATCH} {{longer}}", "row 1", "tokens", "--align span"),
    bad("a patch at no such positions", f"{PATCH} {{reversed}} --positions verb", "--positions verb", "all, last"),
    bad("a patch beyond the text", f"{PATCH} {{spanned}}", "'far'", "the text has"),
    bad("a patch without spans", f"{PATCH} {{reversed}} --align span", "'spans'"),
    bad("a patch at an answer", f"{PATCH} {{reversed}} --positions answer", "have no positions"),
    bad("a patch of no such part", f"{PATCH} {{reversed}} --part mlp", "--part", "mlp"),
    bad("a patch of generated texts", f"{PATCH} {{reversed}} --metric bleu", "bleu", "accuracy"),
    bad(
        "the right answer as the wrong one",
        f"{PATCH} {{reversed}} --wrong label --metric logit_difference",
        "right one",
    ),
    bad(
        "no wrong answers", f"{PATCH} {{reversed}} --wrong other --metric logit_difference", "'other'", "wrong answers"
    ),
    bad("positions without a patch", f"{SWEEP} --by position", "--by position", "--how patch"),
    bad("a patch of pairs", f"{PATCH} {{reversed}} --by pair --among all", "--how patch", "pairs of heads"),
    bad("no draws", f"{SWEEP} --how resample --draws 0", "--draws 0", "at least 1"),
    bad("pairs of one head", f"{SWEEP} --by pair --among L0H1", "--among", "one head, L0H1", "at least two"),
    bad("pairs of one ranked head", f"{SWEEP} --by pair --among 1", "--among 1", "at least two"),
    bad("pairs of as many heads as there are", f"{SWEEP} --by pair --among 4", "fewer than the 4 heads", "--among all"),
    bad("pairs of a head that is not there", f"{SWEEP} --by pair --among L0H1,L7H0", "L7H0", "L0 to L1"),
    bad("pairs of words", f"{SWEEP} --by pair --among some", "some", "L3H7"),
    bad("pairs without heads", f"{SWEEP} --by pair", "6 pairs", "10 times", "--screen hessian", "--among"),
    bad("heads of pairs without pairs", f"{SWEEP} --among L0", "--among", "--by pair"),
    bad("all pairs by rank", f"{SWEEP} --by pair --screen hessian --top 6", "--top 6", "fewer than the 6 pairs"),
    bad(
        "a large control of pairs",
        f"{SWEEP} --by pair --screen hessian --top 5 --control 2",
        "--control 2",
        "at most 1",
    ),
    bad("a race of pairs", f"{SWEEP} --by pair --among L0 --stop-when 1", "--stop-when", "pairs"),
    bad(
        "pairs of perplexity",
        "sweep {causal} --task causal-lm --data {texts} --metric perplexity --by pair --among L0",
        "perplexity",
        "--metric loss",
    ),
    bad("maps: no text", "maps {classifier} --out s", "--text"),
    bad("export: no format", "export {classifier} --out x", "--to"),
    bad("finetune: no tasks", "finetune {bare} --data {texts} --out r", "--tasks"),
    bad("a figure of a head that is not about one", "figure {study} --head L0H0 -o x.svg", "--head L0H0", "ablation"),
    bad("a figure of too few dots", "figure {study} --dpi 3 -o x.png", "--dpi 3", "30 to 1200"),
    bad("no such verb", "frobnicate", "frobnicate"),
    bad("a verb misspelt", "swep {classifier}", "swep"),
    # Names out of a list
    *over(
        {
            verb: COMMANDS[verb].replace("sst2", "sst9")
            for verb in ("sweep", "importance", "choose", "dynamics", "finetune")
        },
        "an unknown task",
        "'sst9'",
        "sst2",
        "classification",
    ),
    *over(
        {verb: COMMANDS[verb].replace("sst2", "''") for verb in ("sweep", "importance", "dynamics")},
        "an empty task",
        "''",
        "sst2",
    ),
    bad("by what", SWEEP + " --by neuron", "--by", "neuron", "layer"),
    bad("how", SWEEP + " --how median", "--how", "median", "uniform"),
    bad("mean of nothing", SWEEP + " --how mean", "reference"),
    bad("a reference for zeros", SWEEP + " --how zero --reference {texts}", "reference", "mean"),
    bad("an unknown stack", SWEEP + " --stack tower", "--stack", "tower"),
    bad("a stack that the model lacks", SWEEP + " --stack decoder", "decoder", "encoder"),
    bad("a stack that the model lacks, prune", CHOOSE + " --stack cross", "cross", "encoder"),
    bad("an unknown stack, prune", CHOOSE + " --stack tower", "tower", "encoder"),
    bad("an unknown metric", SWEEP + " --metric beauty", "'beauty'", "accuracy"),
    bad("a metric of another task", SWEEP + " --metric pearson", "'pearson'", "accuracy"),
    bad(
        "accuracy of a regression",
        "sweep {regressor} --task stsb --data {scores} --metric accuracy",
        "'accuracy'",
        "pearson",
    ),
    bad("BLEU of a language model", "sweep {causal} --task causal-lm --data {texts} --metric bleu", "'bleu'", "loss"),
    bad("an unknown measure", COMMANDS["measure"] + " --only beauty", "beauty", "entropy"),
    bad("one of two measures is unknown", COMMANDS["measure"] + " --only entropy,beauty", "beauty", "position"),
    bad("no measure", COMMANDS["measure"] + " --only ''", "entropy"),
    bad("an unknown order", CHOOSE + " --order beauty", "'beauty'", "importance", "file:"),
    bad("no order", CHOOSE + " --order ''", "order"),
    bad("an order from no file", CHOOSE + " --order file:no/such.txt", "no/such.txt"),
    bad("an order that lacks heads", CHOOSE + " --order file:{order-short}", "{order-short}", "L1H0", "2 missing"),
    bad("an order with a head twice", CHOOSE + " --order file:{order-twice}", "{order-twice}", "L0H0", "twice"),
    bad("an order with heads that are not there", CHOOSE + " --order file:{order-outside}", "L9H1", "L0 to L1"),
    bad("an order that is no text", CHOOSE + " --order file:{order-binary}", "{order-binary}"),
    bad("an order that is a folder", CHOOSE + " --order file:{notes}", "{notes}"),
    bad("an unknown initialisation", TUNE + " --init warm", "'warm'", "pretrained"),
    bad("no initialisation", TUNE + " --init ''", "''", "pretrained"),
    bad("an unknown precision", TUNE + " --dtype int8", "--dtype", "int8"),
    bad("an unknown spacing", TUNE + " --spacing odd", "--spacing", "odd", "log"),
    bad("an unknown tracker", TUNE + " --report-to nobody", "nobody"),
    bad("no tasks", TUNE.replace("sst2", "''"), "''", "sst2"),
    bad("one of two tasks is unknown", TUNE.replace("sst2", "sst2,poems"), "'poems'", "mrpc"),
    bad("a task twice", TUNE.replace("sst2", "sst2,sst2"), "sst2", "twice"),
    bad("an initialisation twice", TUNE + " --init random,random", "random", "twice"),
    bad("an unknown figure", "figure {study} --what beauty -o x.svg", "'beauty'", "ablation"),
    bad("an unknown format of a table", "table {study} --to excel", "--to", "excel", "csv"),
    bad("an unknown format of export", "export {classifier} --to tflite --out x", "--to", "tflite", "onnx"),
    bad("parquet on the screen", "table {study} --to parquet", "parquet", "-o"),
    # Heads
    *[
        bad(f"heads --pick {pick!r}", f"heads {{classifier}} --pick '{pick}'", *words)
        for pick, words in {
            "": ("at least one",),
            ",": ("at least one",),
            "L2H0": ("'L2H0'", "L0 to L1"),
            "L0H2": ("'L0H2'", "0-1|0 to 1"),
            "L-1": ("'L-1'", "L3H7"),
            "L0H": ("'L0H'", "L3H7"),
            "0,1": ("'0'", "L3H7"),
            "l0h0h0": ("h0h0", "L3H7"),
            "L0H1-0": ("L0H1-0",),
            "l0h1": ("'l0h1'", "L0H1"),
            "L0H0-9": ("L0H0-9", "L0"),
            "decoder.L0": ("decoder", "encoder"),
            "tower.L0": ("tower", "encoder"),
            "L0H0;L1H0": ("L0H0;L1H0", "L3H7"),
            "L1.5": ("L1.5", "L3H7"),
            "layer 3": ("'layer'", "L3H7"),
            "L99999999999999999999": ("L0 to L1",),
        }.items()
    ],
    *[
        bad(f"prune --heads {heads!r}", f"prune {{classifier}} --heads '{heads}' --out x", *words)
        for heads, words in {
            "": ("--heads", "at least one"),
            " , ": ("--heads", "at least one"),
            "L2": ("'L2'", "L0 to L1"),
            "L0,L1": ("4 heads", "stays"),
            "L0H7": ("'L0H7'", "L0"),
            "H3": ("'H3'", "L3H7"),
            "*": ("'*'", "L3H7"),
            "L0H0-": ("L0H0-", "L3H7"),
            "encoder": ("encoder", "L3H7"),
        }.items()
    ],
    bad("a stack is not said", "heads {translator} --pick L0H0", "'L0H0'", "encoder.L0H0", "cross.L0H0"),
    bad("a stack is not said, prune", "prune {translator} --heads L0H0 --out x", "encoder.L0H0"),
    bad("sets from no file", SWEEP + " --sets no/sets.txt", "no/sets.txt"),
    bad("sets from a folder", SWEEP + " --sets {notes}", "{notes}"),
    bad("no set", SWEEP + " --sets {sets-empty}", "set"),
    bad("a set with heads that are not there", SWEEP + " --sets {sets-outside}", "'L7H0'", "L0 to L1"),
    bad("a set misspelt", SWEEP + " --sets {sets-misspelt}", "'layer'", "L3H7"),
    bad("a blank set", SWEEP + " --sets {sets-blank-set}", "empty set", "at least one"),
    bad("sets that are no text", SWEEP + " --sets {sets-binary}", "{sets-binary}"),
    bad("sets by layer", SWEEP + " --sets {order-short} --by layer", "by", "sets"),
    bad("sets and draws", SWEEP + " --sets {order-short} --draws 3 --size 1", "--sets", "--draws"),
    # Draws, shards, memory, generation
    bad("draws without a size", SWEEP + " --draws 3", "size"),
    bad("a size without draws", SWEEP + " --size 2", "draws"),
    bad("no draw", SWEEP + " --draws 0 --size 1", "draws", "0"),
    bad("negative draws", SWEEP + " --draws=-3 --size 1", "draws", "-3"),
    bad("more heads than there are", SWEEP + " --draws 2 --size 9", "size", "1 to 4"),
    bad("sets of no head", SWEEP + " --draws 2 --size 0", "--size 0", "at least 1"),
    bad("draws by layer", SWEEP + " --draws 2 --size 1 --by all-but-one", "--by", "--draws"),
    *[
        bad(f"sweep --shard {shard}", f"{SWEEP} --out s --shard {shard}", f"'{shard}'", "1/4")
        for shard in ("0/4", "5/4", "one", "1/0", "1/2/3", "2", "1.5/2")
    ],
    bad("a shard without a study", SWEEP + " --shard 1/2", "out"),
    *[
        bad(f"sweep --memory {size}", f"{SWEEP} --memory={size}", f"'{size}'", "4GB")
        for size in ("much", "-4GB", "0GB", "4XB", "nan", "inf", "GB")
    ],
    *numbers("sweep", "batch-tokens", "0", "-1", "many"),
    bad("no beam", TRANSLATE + " --num-beams 0", "beams"),
    bad("half a beam", TRANSLATE + " --limit 2 --num-beams 1.5", "--num-beams", "1.5"),
    bad("no new token", TRANSLATE + " --max-new-tokens 0", option("max-new-tokens")),
    bad("beams for a classifier", SWEEP + " --num-beams 4", "--num-beams"),
    bad("new tokens for a classifier", SWEEP + " --max-new-tokens 9", "--max-new-tokens"),
    bad("labels without names", "sweep {classifier} --task sst2 --data {texts} --labels", "--labels"),
    # Measures
    *numbers("measure", "distance-examples", "0", "-5", "x"),
    bad("spaCy and a tagger", COMMANDS["measure"] + " --spacy xx --tagger {tagger}", "spacy", "tagger"),
    bad(
        "distances that are not asked for",
        "measure {classifier} --data {texts} --only entropy --distance-examples 3",
        "--distance-examples",
    ),
    bad("maps: texts of two tokens", COMMANDS["maps"] + " --max-length 2", option("max-length"), "2"),
    bad("maps: texts of no token", COMMANDS["maps"] + " --max-length 0", option("max-length"), "0"),
    *[
        bad(f"a name {name!r}", f"{COMMANDS['maps']} --name '{name}'", name or "name")
        for name in ("a/b", "../up", "what?", "two words", "")
    ],
    *[
        bad(f"a result called {name!r}", f"{SWEEP} --out s --name '{name}'", name)
        for name in ("../up", "a b", "x/../y")
    ],
    bad("a name without a study", SWEEP + " --name mine", "--name", "--out"),
    bad("a name without a study, measure", COMMANDS["measure"] + " --name mine", "--name", "--out"),
    # Prune
    bad("prune: nothing said", "prune {classifier} --out x", "--heads", "--drop", "--tolerance"),
    bad("prune: a task and nothing more", "prune {classifier} --task sst2 --data {texts} --out x", "--drop", "--keep"),
    bad("prune: no data", "prune {classifier} --task classification --drop 1 --out x", "--data"),
    bad("prune: no task", "prune {classifier} --data {texts} --drop 1 --out x", "--task"),
    bad("prune: both ways", PRUNE + " --drop 1", "--heads"),
    bad("prune: heads and a task", PRUNE + " --task sst2", "--heads", "--task"),
    bad("prune: two sizes", CHOOSE + " --keep 2", "one of", "--drop", "--keep"),
    bad("prune: a size and a tolerance", CHOOSE + " --tolerance 1", "one of", "--tolerance"),
    *[
        bad(f"prune --drop {size}", CHOOSE.replace("50%", size), size)
        for size in ("5", "101%", "many", "nan%", "inf", "1.5")
    ],
    bad("prune --drop -1", CHOOSE.replace("--drop 50%", "--drop=-1"), "-1"),
    bad("prune --drop all", CHOOSE.replace("50%", "100%"), "4 heads"),
    *[
        bad(f"prune --keep {size}", CHOOSE.replace("--drop 50%", f"--keep={size}"), size)
        for size in ("0", "5", "-2", "0%", "few")
    ],
    *[
        bad(f"prune --tolerance {size}", CHOOSE.replace("--drop 50%", f"--tolerance={size}"), "--tolerance")
        for size in ("-1", "nan", "much")
    ],
    bad("prune --tolerance inf", CHOOSE.replace("--drop 50%", "--tolerance inf"), "--tolerance"),
    bad("by estimate of nothing", CHOOSE + " --by-estimate", "--by-estimate", "--tolerance"),
    *numbers("choose", "steps", "0", "-2", "x"),
    *numbers("choose", "randoms", "-1", "x"),
    *numbers("choose", "at-least", "-1", "2", "x"),
    *numbers("choose", "recover", "-1", "x"),
    *numbers("choose", "learning-rate", "x"),
    *[
        bad(f"prune --learning-rate {rate}", f"{CHOOSE} --recover 1 --learning-rate={rate}", "rate")
        for rate in ("0", "-1", "nan")
    ],
    bad("prune --learning-rate inf", f"{CHOOSE} --recover 1 --learning-rate inf", "rate"),
    bad("a rate without a recovery", CHOOSE + " --learning-rate 1e-3", "--learning-rate", "--recover"),
    bad("a recovery of named heads", PRUNE + " --recover 3", "--heads"),
    bad("steps of named heads", PRUNE + " --steps 3", "--steps"),
    bad("randoms without a random order", CHOOSE + " --order importance --randoms 2", "--randoms"),
    bad("anew without importance", CHOOSE + " --order random --anew", "--anew"),
    bad("more heads to stay than may", CHOOSE.replace("50%", "4") + " --at-least 1", "4"),
    # Training
    *numbers("finetune", "per-device-train-batch-size", "0", "-1", "x"),
    *numbers("finetune", "num-train-epochs", "0", "-1", "nan", "x"),
    *numbers("finetune", "num-train-epochs", "inf"),
    *numbers("finetune", "learning-rate", "0", "-1", "nan", "x"),
    *numbers("finetune", "learning-rate", "inf"),
    *numbers("finetune", "warmup-steps", "-0.1", "nan", "inf"),
    *numbers("finetune", "max-length", "7", "0", "-1"),
    *numbers("finetune", "gradient-accumulation-steps", "0", "-1"),
    *numbers("finetune", "checkpoints", "-1", "x"),
    bad("finetune --seeds 0", TUNE + " --seeds 0", "seed"),
    bad("finetune --seeds -1", TUNE + " --seeds=-1", "seed"),
    bad("finetune --jobs 0", TUNE + " --jobs 0", "job"),
    bad("finetune --limit 0", TUNE + " --limit 0", "limit", "at least 1"),
    bad("embeddings that stay anyway", TUNE + " --keep-embeddings", "--keep-embeddings"),
    bad("spacing of no checkpoints", TUNE + " --spacing log", "--spacing", "--checkpoints"),
    # Parts of the input
    bad("partial: no inputs", PARTIAL.replace("--inputs choices all ", ""), "--inputs"),
    bad("partial: inputs without a column", PARTIAL.replace("choices all", "choices, all"), "'choices,'", "commas"),
    bad("partial: an input twice", PARTIAL.replace("choices all", "choices choices"), "--inputs", "the same"),
    bad("partial: all columns, twice", PARTIAL.replace("choices all", "context,choices all"), "'all'", "the same"),
    bad("partial: an unknown column", PARTIAL.replace("choices all", "choices,reason"), "'reason'", "context, choices"),
    bad("partial: without the choices", PARTIAL.replace("choices all", "context"), "'context'", "'context,choices'"),
    bad("partial: one of the choices", PARTIAL.replace("choices all", "first"), "'first'", "write choices"),
    bad("partial: a context that is not there", PARTIAL.replace("context", "debate"), "'debate'", "context, first"),
    bad("partial: choices that are not there", PARTIAL.replace("second", "third"), "no column third", "context, first"),
    bad("partial: a single choice", PARTIAL.replace("first second", "first"), "--choices first", "at least two"),
    bad("partial: a choice twice", PARTIAL.replace("first second", "first first"), "first twice", "--choices"),
    bad("partial: neither task nor choices", PARTIAL.replace("--choices first second", ""), "--task", "--choices"),
    bad("partial: choices of a classification", PARTIAL + " --task sst2", "--choices", "sst2"),
    bad(
        "partial: a language model", "partial {bare} --task masked-lm --inputs all --data {texts} --out p", "masked-lm"
    ),
    bad("partial: an unknown baseline", PARTIAL + " --baselines tfidf", "'tfidf'", "bilstm"),
    bad("partial: one label only", PARTIAL.replace("choices-of-two", "choices-data"), "one label", "0"),
    bad("partial: a label that is no choice", PARTIAL.replace("choices-of-two", "choice-of-three"), "2", "0 to 1"),
    bad("partial: a label column that is not there", PARTIAL + " --label stars", "'stars'", "context"),
    bad("partial: a test set without a name", PARTIAL + " --test x.csv", "'x.csv'", "--test", "NAME=FILE"),
    bad("partial: a test set that is not there", PARTIAL + " --test far=no/such.csv", "no/such.csv"),
    bad("partial: a test set without its columns", PARTIAL + " --test far={texts}", "'far'", "first, second"),
    bad("partial: a test set called validation", PARTIAL + " --test validation={texts}", "'validation'", "--test"),
    *numbers("partial", "seeds", "0", "-1", "x"),
    *numbers("partial", "jobs", "0"),
    *numbers("partial", "limit", "0"),
    bad("partial: an unknown task", PARTIAL + " --task poems", "'poems'", "mrpc"),
    bad("partial: no output", PARTIAL.replace("--out parts", ""), "--out"),
    # Costs, dynamics
    *[
        bad(f"cost --batches {sizes}", f"cost {{classifier}} --batches '{sizes}'", "batch")
        for sizes in ("", "x", "0", "-1", "1,,2", "1.5")
    ],
    *[
        bad(f"cost --lengths {sizes}", f"cost {{classifier}} --lengths '{sizes}'", "length")
        for sizes in ("", "x", "0", "-1", "8;16")
    ],
    bad("longer than the model takes", "cost {classifier} --lengths 65", "65", "64"),
    *[bad(f"cost --repeats {count}", f"cost {{classifier}} --repeats={count}", "repeat") for count in ("0", "-1", "x")],
    bad("new tokens of a classifier", "cost {classifier} --new-tokens 4", "--new-tokens", "{classifier}", "no decoder"),
    bad("no new tokens", "cost {causal} --new-tokens 0", "--new-tokens", "at least 1"),
    bad("a name of no study", COMMANDS["cost"] + " --name mine", "--name", "--study"),
    *numbers("dynamics", "steps", "0", "-1", "x"),
    # The demo
    bad("quick and full", "demo --quick --full --out {a-file}", "--quick", "--full"),
    bad("the demo takes no model", "demo bundled:qnli", "bundled:qnli"),
    bad("the demo has no task", "demo --task sst2", "--task"),
]
