"""Data that are missing, damaged, of the wrong types or without the columns that are needed."""

from __future__ import annotations

from tests.hard.row import bad, over
from tests.hard.verbs import COMMANDS, with_data, with_task

SWEEP = "sweep {classifier} --task sst2 --data "
CLASSIFY = "sweep {classifier} --task classification --data "
TAGS = "sweep {tagger} --task token-classification --data "
SCORES = "sweep {regressor} --task stsb --data "
CHOICES = "sweep {choices} --task multiple-choice --text context first second --data "
TREES = "measure {classifier} --only features --data "
PROBE = "probe {classifier} --data "
COREF = "probe {classifier} --kind coreference --data "
FRAMES = "probe {classifier} --kind frames --data "

ROWS = [
    # Alike for all verbs that read a table.
    *over(with_data("no/such.csv"), "there is no such file", "no/such.csv"),
    *over(with_data("{no-bytes}"), "an empty file", "{no-bytes}", "empty"),
    *over(with_data("{no-rows}"), "a file without rows", "{no-rows}"),
    *over(with_data("{plain}"), "an unknown suffix", "{plain}", ".csv"),
    *over(with_data("{other-columns}"), "other columns", "phrase", "stars"),
    *over(with_data("{folder-without}"), "a folder without the split", "{folder-without}", "test.csv"),
    *over(with_data("{ragged}"), "a row with too many cells", "{ragged}", "line 3"),
    *over(with_data("{bad-line}"), "a line that is no JSON", "{bad-line}"),
    *over(with_data("{cut-parquet}"), "a parquet file cut short", "{cut-parquet}"),
    *over(with_data("{blank-texts}"), "nothing but blank texts", "{blank-texts}"),
    *over(with_data("bundled:poems"), "unknown bundled data", "bundled:poems", "bundled:pairs"),
    *over(with_data("synthetic:poems"), "unknown synthetic data", "'poems'", "repeat, needle, names"),
    *over(with_data("synthetic:repeat,lengths=9"), "an unknown option of synthetic data", "'lengths'", "length, times"),
    *over(with_data("synthetic:repeat,length=x"), "a value of synthetic data", "'x' for 'length'", "at least 2"),
    # Alike for all verbs that read labels.
    *over(with_task("{no-label}"), "no label column", "'label'", "sentence"),
    *over(with_task("{label-missing}"), "a label is missing", "{label-missing}", "row 4", "line 5", "missing"),
    *over(with_task("{label-too-large}", "finetune"), "a label beyond the classes", "9", "0 to 1"),
    *over(with_task("{label-unknown}", "finetune"), "labels that the model does not know", "bad, good", "negative"),
    # Files
    bad("a workbook", SWEEP + "{a-workbook}", "{a-workbook}", ".xlsx|.csv"),
    bad("no suffix", SWEEP + "{no-suffix}", "{no-suffix}", ".csv"),
    bad("a zip file", SWEEP + "{a-zip}", "{a-zip}"),
    bad("a gzip file", SWEEP + "{a-gzip}", "{a-gzip}"),
    bad("Latin-1", SWEEP + "{latin}", "{latin}", "utf-8|UTF-8"),
    bad("Latin-1, measure", "measure {classifier} --data {latin}", "{latin}", "utf-8|UTF-8"),
    bad("UTF-16", SWEEP + "{utf16}", "{utf16}"),
    bad("a quote that does not end", SWEEP + "{open-quote}", "{open-quote}|label"),
    bad("semicolons", SWEEP + "{semicolons}", "sentence;label"),
    bad("a csv file called parquet", SWEEP + "{fake-parquet}", "{fake-parquet}", "parquet"),
    bad("one JSON object over many lines", SWEEP + "{one-object}", "{one-object}|data"),
    bad("lines that are lists", SWEEP + "{list-lines}", "sentence"),
    bad("blank lines", SWEEP + "{no-rows-jsonl}", "{no-rows-jsonl}"),
    bad("a folder for measure", "measure {classifier} --data {folder-without}", "{folder-without}", "validation"),
    bad("a model as data", SWEEP + "{classifier}", "{classifier}", "validation"),
    bad("a study as data", "measure {classifier} --data {study}", "{study}", "validation"),
    bad("an empty name", SWEEP + "''", "validation"),
    bad("a device", SWEEP + "/dev/null", "/dev/null"),
    bad(
        "the same file for both",
        "sweep {classifier} --task sst2 --data {texts} --how mean --reference no/such.csv",
        "no/such.csv",
    ),
    bad(
        "a reference without the column",
        "sweep {classifier} --task sst2 --data {texts} --how mean --reference {other-columns}",
        "phrase",
    ),
    bad("a data set of the hub without a connection", SWEEP + "hub:nobody/nothing", "nobody/nothing"),
    bad("a split of a file", SWEEP + "{texts} --split test", "--split", "hub:NAME"),
    bad("an unknown option of the hub's data", SWEEP + "hub:nobody/nothing,part=1", "part=1", "config, split"),
    bad("GLUE without a connection", "sweep {classifier} --task sst2", "glue", "--data"),
    bad("GLUE without a connection, finetune", "finetune {bare} --tasks sst2 --out runs", "glue", "--data"),
    bad("a kind of task without data", "finetune {bare} --tasks classification --out runs", "classification", "--data"),
    bad("a kind of task without data, sweep", "sweep {classifier} --task classification", "classification"),
    # Synthetic texts
    bad("a task for synthetic data", "sweep {classifier} --data synthetic:repeat,length=5", "completion", "causal"),
    bad("an encoder", "importance {masked} --data synthetic:repeat,length=5", "completion", "--task masked-lm"),
    bad("an encoder-decoder", "sweep {translator} --data synthetic:repeat,length=5", "completion", "causal"),
    bad("too long a copy", "sweep {causal} --data synthetic:repeat,length=500", "whole words", "500"),
    bad("no names", "sweep {causal} --data synthetic:names", "first names as single tokens"),
    bad("no nouns", "sweep {causal} --data synthetic:agreement", "nouns as single tokens"),
    bad(
        "an unknown word task", "sweep {causal} --data synthetic:few-shot,task=rhymes", "'rhymes'", "opposites, plural"
    ),
    bad("no labels", "sweep {causal} --data synthetic:few-shot", "single tokens", "fewer shots"),
    bad(
        "no such haystack",
        "sweep {causal} --data synthetic:needle,text=no/such.txt",
        "there is no file no/such.txt",
    ),
    bad("an empty haystack", "sweep {causal} --data synthetic:needle,text={no-bytes}", "{no-bytes}", "empty"),
    bad(
        "a short haystack",
        "sweep {causal} --data synthetic:needle,text={plain}",
        "{plain}",
        "too few for a text of 512",
    ),
    bad("synthetic data, cues", "cues --data synthetic:names", "synthetic:names", "no labels"),
    bad("synthetic data, cues of a model", "cues --data synthetic:names --model {classifier}", "no labels"),
    bad("synthetic data, probe", PROBE + "synthetic:names", "synthetic:names", "no annotations"),
    bad("synthetic data, finetune", "finetune {causal} --tasks causal-lm --data synthetic:names --out runs", "split"),
    bad(
        "synthetic data, labels",
        "sweep {classifier} --task sst2 --data synthetic:repeat,length=5",
        "sentence",
        "prompt, comple",
    ),
    # Columns
    bad("a column that is not there", SWEEP + "{texts} --text phrase", "phrase", "sentence"),
    bad(
        "a column that is not there, measure", "measure {classifier} --data {texts} --text phrase", "phrase", "sentence"
    ),
    bad(
        "a column that is not there, patterns",
        "patterns {classifier} --data {texts} --text phrase",
        "phrase",
        "sentence",
    ),
    bad("a column that is not there, importance", COMMANDS["importance"] + " --text phrase", "phrase", "sentence"),
    bad("three columns", "measure {classifier} --data {pairs} --text sentence1 sentence2 label", "one or two"),
    bad("a label column that is not there", SWEEP + "{texts} --label stars", "'stars'", "sentence"),
    bad("a label column that is not there, prune", COMMANDS["choose"] + " --label stars", "'stars'", "sentence"),
    bad("a label column that is not there, finetune", COMMANDS["finetune"] + " --label stars", "'stars'", "sentence"),
    bad("a label column that is not there, dynamics", COMMANDS["dynamics"] + " --label stars", "'stars'", "sentence"),
    bad("the text is the label", SWEEP + "{texts} --label sentence", "negative"),
    bad("the label is the text", SWEEP + "{texts} --text label", "label", "string"),
    bad("numbers as texts", SWEEP + "{text-a-number}", "sentence", "7.5", "string"),
    bad("numbers as texts, measure", "measure {classifier} --data {text-a-number}", "sentence", "7.5", "string"),
    bad("objects as texts", SWEEP + "{nested}", "sentence", "string"),
    bad("a pair of columns is not there", "sweep {classifier} --task mrpc --data {texts}", "sentence1", "sentence2"),
    bad("no column that holds texts", "measure {classifier} --data {other-columns}", "phrase", "text"),
    bad("half a megabyte in a cell", SWEEP + "{huge-cell}", "sentence", "string"),
    bad("no target", "sweep {translator} --task translation --data {no-target}", "target", "source"),
    bad("targets are missing", "sweep {translator} --task translation --data {target-missing}", "target"),
    bad("the columns of the choices", "sweep {choices} --task multiple-choice --data {choices-data}", "choice"),
    # Labels
    bad("a negative label", SWEEP + "{label-negative}", "-1", "0 to 1"),
    bad("half a class", SWEEP + "{label-half}", "0.5", "whole"),
    bad("a huge label", SWEEP + "{label-huge}", "label"),
    bad("an infinite label", SWEEP + "{label-infinite}", "label", "finite|whole|inf"),
    bad("lists as labels", SWEEP + "{list-label}", "label"),
    bad("a label beyond a model without names", "sweep {unnamed} --task classification --data {label-too-large}", "9"),
    bad("classes without names", "sweep {unnamed} --task sst2 --data {texts}", "LABEL_0", "--labels negative positive"),
    bad("classes without names, importance", "importance {unnamed} --task sst2 --data {texts}", "LABEL_0", "--labels"),
    bad(
        "classes without names, prune",
        "prune {unnamed} --task sst2 --data {texts} --drop 1 --out x",
        "LABEL_0",
        "--labels",
    ),
    bad("too many names", "sweep {unnamed} --task sst2 --data {texts} --labels a b c", "3 labels", "2 classes"),
    bad("too few names", "sweep {unnamed} --task sst2 --data {texts} --labels a", "1 labels|one label", "2 classes"),
    bad("names that the model does not have", SWEEP + "{texts} --labels yes no", "yes", "negative"),
    bad("names in other words", CLASSIFY + "{label-unknown}", "bad, good", "negative, positive", "--labels"),
    bad("a score in words", SCORES + "{score-a-word}", "'high'", "number"),
    bad("a score is missing", SCORES + "{score-nan}", "label", "number"),
    bad("an infinite score", SCORES + "{score-infinite}", "inf", "number"),
    bad("a choice that is not there", CHOICES + "{choice-too-large}", "2", "0 to 1"),
    bad("tags in a string", TAGS + "{tags-a-string}", "tags", "list"),
    bad("fewer tags than words", TAGS + "{tags-too-few}", "2 words", "1 tags"),
    bad("unknown tags", TAGS + "{tags-unknown}", "adj|ADJ", "NOUN"),
    bad("a tag is missing", TAGS + "{tags-none}", "missing"),
    bad("words in a string", TAGS + "{tokens-a-string}", "tokens", "list"),
    bad("numbers as words", TAGS + "{tokens-numbers}", "tokens", "words"),
    bad("texts instead of tags", TAGS + "{texts}", "tokens", "sentence"),
    # To choose and to train
    bad("three examples to choose by", COMMANDS["choose"].replace("{texts}", "{three-rows}"), "3 examples", "at least"),
    bad(
        "three examples for dynamics", COMMANDS["dynamics"].replace("{texts}", "{three-rows}"), "3 examples", "at least"
    ),
    bad("three examples of a large file", COMMANDS["choose"] + " --limit 3", "3 examples", "at least"),
    bad("one class to learn", "finetune {bare} --tasks classification --data {label-one} --out runs", "one class"),
    bad(
        "labels that differ in their spelling",
        "finetune {bare} --tasks classification --data {label-spelling} --out r",
        "Yes, yes",
        "spelling",
    ),
    bad(
        "no validation file",
        "finetune {bare} --tasks sst2 --data {folder-train-only} --out runs",
        "validation",
        "train.csv",
    ),
    bad(
        "two training files",
        "finetune {bare} --tasks sst2 --data {folder-of-two} --out runs",
        "several train files",
        "train_a.csv",
    ),
    bad(
        "a class that only validation has",
        "finetune {bare} --tasks classification --data {folder-new-label} --out r",
        "2",
        "train",
    ),
    # Blank texts
    *[
        bad(f"blank texts, {task}", f"sweep {model} --task {task} --data {{blank-texts}}", "{blank-texts}")
        for task, model in (("causal-lm", "{causal}"), ("masked-lm", "{masked}"), ("sst2", "{classifier}"))
    ],
    bad("a blank text for a map", "maps {classifier} --text '  ' --out s", "'  '", "words"),
    bad("special tokens for a map", "maps {classifier} --text '[SEP] [PAD]' --out s", "[SEP]", "special"),
    bad("an empty second text", "maps {classifier} --text w1 --pair '' --out s", "''"),
    bad(
        "texts too short for a pattern", "patterns {classifier} --data {pairs} --max-length 3", "max-length|max_length"
    ),
    # CoNLL-U
    bad("no CoNLL-U file", TREES + "no/trees.conllu", "no/trees.conllu"),
    bad("no sentence", TREES + "{tree-empty}", "{tree-empty}", "empty"),
    bad("nine columns", TREES + "{tree-nine-columns}", "{tree-nine-columns}, line 1", "9 columns", "10"),
    bad("a head outside of the sentence", TREES + "{tree-head-outside}", "{tree-head-outside}", "'s1'", "'7'"),
    bad("a word that hangs on itself", TREES + "{tree-head-itself}", "{tree-head-itself}", "'w1'", "'1'"),
    bad("a head in words", TREES + "{tree-head-a-word}", "{tree-head-a-word}", "'two'"),
    bad("a number left out", TREES + "{tree-numbers}", "{tree-numbers}, line 3", "'3'", "expected 2"),
    bad("another text than the words", TREES + "{tree-text}", "{tree-text}", "'w3'", "'w9'"),
    bad("CoNLL-U in Latin-1", TREES + "{tree-latin}", "{tree-latin}", "UTF-8"),
    bad("an antecedent outside", TREES + "{tree-antecedent}", "{tree-antecedent}", "'9'"),
    bad("no sentence, probe", PROBE + "{tree-empty}", "{tree-empty}", "empty"),
    bad("nine columns, probe", PROBE + "{tree-nine-columns}", "{tree-nine-columns}, line 1", "9 columns", "10"),
    bad("a circle of heads", PROBE + "{tree-circle}", "s2", "circle", "tree"),
    bad("nothing but roots", PROBE + "{tree-roots}", "roots"),
    bad("one sentence to probe", PROBE + "{tree-one}", "one sentence", "at least two"),
    bad("another text than the words, probe", PROBE + "{tree-text}", "{tree-text}", "'w3'", "'w9'"),
    bad("a relation that never occurs", PROBE + "{trees} --relations dobj", "'dobj'", "nsubj"),
    bad("an unknown kind of annotation", PROBE + "{trees} --kind constituents", "constituents", "dependencies"),
    bad("an unknown way from a word", PROBE + "{trees} --from-word max", "max", "mean"),
    bad("a probe's limit of zero", PROBE + "{trees} --limit 0", "--limit"),
    bad("a probe's name without a study", PROBE + "{trees} --name again", "--name", "--out"),
    bad("a probe's shard without a study", PROBE + "{trees} --shard 1/2", "--shard", "--out"),
    bad("a bracket that does not close", COREF + "{coref-open}", "{coref-open}", "line 8", "'(1'", "does not close"),
    bad("a bracket that was not opened", COREF + "{coref-closed}", "{coref-closed}", "line 4", "'7)'", "not opened"),
    bad("a document without words", COREF + "{coref-empty}", "{coref-empty}", "(d); part 000", "no words"),
    bad("columns that are missing", COREF + "{coref-columns}", "{coref-columns}", "line 3", "5 columns", "7"),
    bad("a document cut short", COREF + "{coref-short}", "{coref-short}", "no end"),
    bad("one document", COREF + "{coref-one}", "one document", "at least two"),
    bad("no antecedent", COREF + "{coref-alone}", "no text has a mention with an antecedent"),
    bad("trees instead of coreference", COREF + "{trees}", "tokens", "clusters|Pronoun"),
    bad("texts instead of coreference", COREF + "{texts}", "{texts}", "clusters"),
    bad("documents that are not there", COREF + "no-such.conll", "no-such.conll"),
    bad("a mention outside of its document", COREF + "{litbank-outside}", "row 2", "'b'", "[2, 9]", "3 words"),
    bad("a mention of two entities", COREF + "{litbank-twice}", "row 1", "[0, 1]", "twice"),
    bad("sentences that do not add up", COREF + "{litbank-lengths}", "row 2", "sent_lens", "3 tokens"),
    bad("a pronoun that is not there", COREF + "{gap-offset}", "{gap-offset}, row 2", "'w3'", "Pronoun-offset"),
    bad("neither true nor false", COREF + "{gap-flag}", "{gap-flag}, row 2", "A-coref", "'perhaps'"),
    bad("a column that is missing", COREF + "{gap-column}", "{gap-column}", "B-offset"),
    bad("candidates that are none", COREF + "{coref} --candidates nouns", "--candidates", "mentions"),
    bad("trees that are not there", PROBE + "no-such.conllu", "no-such.conllu"),
    # frames
    bad("a span outside of the text", FRAMES + "{frames-span}", "{frames-span}, row 1", "0 to 99", "14 characters"),
    bad("a list that is no JSON", FRAMES + "{frames-json}", "{frames-json}, row 1", "target", "not JSON"),
    bad(
        "no core element", FRAMES + "{frames-peripheral}", "leaves nothing: 2 annotation sets", "0 with a core element"
    ),
    bad("full texts of FrameNet", FRAMES + "{frames-full-text}", "core", "--elements any"),
    bad("a sentence without words", FRAMES + "{frames-blank}", "{frames-blank}, row 1", "text"),
    bad("texts without frames", FRAMES + "{texts}", "{texts}", "target, fes"),
    bad("frames that are not there", FRAMES + "no-such.parquet", "no-such.parquet"),
    bad("an unknown kind of elements", FRAMES + "{frames} --elements some", "--elements", "strict"),
    bad("elements of trees", PROBE + "{trees} --elements any", "--elements", "frames"),
    bad("relations of frames", FRAMES + "{frames} --relations nsubj", "--relations", "dependencies"),
    bad("a part of FrameNet", FRAMES + "{framenet-part}", "{framenet-part}", "luIndex.xml", "whole release"),
    bad("a FrameNet that nltk has not", FRAMES + "nltk:framenet_v99", "'framenet_v99'", "download"),
    bad("a vision model to probe", "probe {vision} --data {trees}", "tokenizer|ViT"),
    bad("links of a tagger's words", "measure {classifier} --only links --tagger {tagger} --data {texts}", "links"),
]
