"""Models that are missing, damaged, malicious or of the wrong kind."""

from __future__ import annotations

from tests.hard.row import bad, over
from tests.hard.verbs import COMMANDS, with_model

TENSOR = "encoder.layer.1.attention.self.query.weight"

ROWS = [
    # Not there, or not a model: alike for all verbs.
    *over(with_model("no/such/folder"), "there is no such folder", "'no/such/folder'", "config.json"),
    *over(with_model("{texts}"), "a file instead of a folder", "'{texts}'", "config.json"),
    *over(with_model("{no-config}"), "no config.json", "'{no-config}'", "config.json", "save_pretrained"),
    *over(with_model("{no-weights}"), "no weights", "'{no-weights}'", "model.safetensors"),
    *over(with_model("{weights-cut-short}"), "weights cut short", "'{weights-cut-short}'"),
    *over(with_model("{config-not-json}"), "config.json is no JSON", "{config-not-json}/config.json", "JSON"),
    *over(with_model("{unknown-type}"), "a type that nobody knows", "frobnicator"),
    *over(with_model("{nan}"), "weights with NaN", TENSOR),
    *over(with_model("{tensor-missing}", "finetune"), "a tensor is missing", TENSOR),
    # Names that no folder and no hub has.
    bad("an empty name", "heads ''", "''", "config.json"),
    bad("a blank name", "measure '  ' --data {texts}", "'  '", "config.json"),
    bad("a home that is not there", "heads ~nobody/model", "'~nobody/model'"),
    bad("an absolute path", "export /no/such --to onnx --out x", "'/no/such'"),
    bad("a hub name without a connection", "heads nobody/nothing", "nobody/nothing", "hub", "check the name"),
    bad("an unknown bundled model", "heads bundled:gpt5", "'gpt5'", "qnli", "pretrained"),
    bad("an unknown bundled model, prune", "prune bundled:gpt5 --heads L0 --out small", "'gpt5'", "qnli"),
    bad("an address", "heads https://example.org/model/config.json", "https://example.org"),
    bad("a link to itself", "heads {loop}", "{loop}"),
    bad("an empty folder", "maps {empty-folder} --text w1 --out s", "{empty-folder}", "config.json"),
    bad("a study as a model", "heads {study}", "{study}", "config.json"),
    bad("the safetensors file itself", "heads {classifier}/model.safetensors", "model.safetensors", "folder"),
    bad("a model twice", "cost {classifier} {classifier}", "twice", "{classifier}"),
    # config.json
    bad("config.json is empty", "heads {config-empty}", "{config-empty}/config.json", "JSON"),
    bad("config.json is a list", "heads {config-a-list}", "{config-a-list}"),
    bad("config.json in UTF-16", "heads {config-utf16}", "{config-utf16}/config.json"),
    bad("config.json is a folder", "heads {config-a-folder}", "{config-a-folder}", "config.json"),
    bad("no model_type", "heads {no-type}", "{no-type}", "model_type"),
    bad("an unknown class", "sweep {unknown-class} --task sst2 --data {texts}", "BertModel", "--untrained|fine-tune"),
    bad("heads that do not divide the width", "heads {heads-do-not-divide}", "{heads-do-not-divide}", "5"),
    bad("zero heads", "heads {zero-heads}", "{zero-heads}", "0"),
    bad("zero heads, sweep", "sweep {zero-heads} --task sst2 --data {texts}", "{zero-heads}", "0"),
    bad("negative heads", "heads {negative-heads}", "{negative-heads}", "-2"),
    bad("heads in words", "heads {heads-a-word}", "{heads-a-word}"),
    bad("a width in words", "heads {size-a-word}", "{size-a-word}"),
    bad("more layers than the checkpoint", "heads {more-layers}", "encoder.layer.2"),
    bad("more layers, measure", "measure {more-layers} --data {texts}", "encoder.layer.2"),
    bad("more layers, sweep", "sweep {more-layers} --task sst2 --data {texts}", "encoder.layer.2"),
    bad("fewer layers than the checkpoint", "heads {fewer-layers}", "encoder.layer.1"),
    bad("another width", "heads {other-width}", "{other-width}"),
    # Weights
    bad("empty weights", "heads {weights-empty}", "{weights-empty}"),
    bad("garbage as weights", "heads {weights-garbage}", "{weights-garbage}"),
    bad("a web page as weights", "heads {weights-a-page}", "{weights-a-page}"),
    bad("a pointer of git-lfs as weights", "cost {weights-a-pointer}", "{weights-a-pointer}"),
    bad("a folder as weights", "heads {weights-a-folder}", "{weights-a-folder}"),
    bad("a shard is missing", "heads {shard-missing}", "model-00001-of-00002.safetensors"),
    bad("infinite weights", "heads {infinite}", TENSOR),
    bad("infinite weights, sweep", "sweep {infinite} --task sst2 --data {texts}", TENSOR),
    bad("NaN in a language model, measure", "measure {nan-masked} --data {texts}", TENSOR),
    bad("a tensor of another shape", "heads {tensor-cut}", TENSOR),
    bad("a tensor too many", "heads {tensor-too-many}", "bert.extra"),
    bad("a tensor is missing, language model", "maps {tensor-missing-masked} --text w1 --out s", TENSOR),
    bad("a pickle", "heads {a-pickle}", "{a-pickle}", "pytorch_model.bin"),
    bad("a pickle, export", "export {a-pickle} --to zeroed --out x", "{a-pickle}"),
    bad("code that comes with the model", "heads {with-code}", "{with-code}", "code"),
    bad("code that comes with the model, cost", "cost {with-code}", "{with-code}", "--trust-remote-code"),
    # Tokenizers
    *over(
        with_model("{no-tokenizer}", "heads", "finetune", "compare, second", "cost", "export", "prune"),
        "no tokenizer",
        "{no-tokenizer}",
        "tokenizer",
    ),
    bad("a damaged tokenizer", "sweep {tokenizer-damaged} --task sst2 --data {texts}", "{tokenizer-damaged}"),
    bad(
        "a tokenizer with more words than the model",
        "measure {tokenizer-too-large} --data {texts}",
        "{tokenizer-too-large}",
    ),
    # Pruned models
    bad("a record of a newer version", "heads {newer-record}", "{newer-record}", "record", "newer"),
    bad("a record that disagrees with the weights", "heads {record-disagrees}", "{record-disagrees}", "record"),
    bad("a record of heads that never were", "cost {record-impossible}", "{record-impossible}", "record"),
    bad("a head that is gone", "prune {pruned} --heads L0H1 --out x", "L0H1", "L0"),
    bad("a head that is gone, looked up", "heads {pruned} --pick L0H1", "L0H1", "L0"),
    bad("a whole and a pruned model", "compare {classifier} {pruned} --data {texts}", "heads"),
    # Of a wrong kind for the verb or the task
    *over(with_model("{unknown-family}", "finetune"), "no attention", "mamba"),
    *over(
        with_model("{vision}", "heads", "prune", "export", "cost", "compare, second"), "a model of images", "ViT|image"
    ),
    bad("a bare model for a task", "sweep {bare} --task sst2 --data {texts}", "BertModel", "headcount finetune"),
    bad(
        "a bare model for importance", "importance {bare} --task sst2 --data {texts}", "BertModel", "headcount finetune"
    ),
    bad("a bare model to choose heads by", COMMANDS["choose"].replace("{classifier}", "{bare}"), "BertModel"),
    bad("a bare model as a language model", "sweep {bare} --task masked-lm --data {texts}", "BertModel", "masked-lm"),
    bad("a language model as a classifier", "sweep {masked} --task sst2 --data {texts}", "BertForMaskedLM"),
    bad("a classifier as a language model", "sweep {classifier} --task masked-lm --data {texts}", "masked-lm"),
    bad("a classifier as a translator", "sweep {classifier} --task translation --data {translations}", "translation"),
    bad("a classifier as a tagger", "sweep {classifier} --task token-classification --data {tagged}", "token"),
    bad(
        "a classifier for choices",
        "sweep {classifier} --task multiple-choice --data {choices-data} --text context first second",
        "multiple-choice",
    ),
    bad("a classifier for a regression", "sweep {classifier} --task stsb --data {scores}", "2 outputs"),
    bad("a regressor for two classes", "sweep {regressor} --task sst2 --data {texts}", "--labels|regression|classes"),
    bad("three classes for two", "sweep {three-classes} --task sst2 --data {texts} --labels negative positive", "3"),
    bad("an encoder to go on with texts", "sweep {classifier} --task causal-lm --data {texts}", "causal-lm"),
    bad("a decoder that fills gaps", "sweep {causal} --task masked-lm --data {texts}", "masked-lm"),
    bad(
        "a classifier without padding",
        "sweep {no-padding} --task sst2 --data {texts} --labels negative positive",
        "pad_token_id",
    ),
    bad("a batch without padding", "cost {no-padding} --batches 2 --lengths 8", "pad_token_id", "batch 1"),
    bad("shared weights cannot be cut", "prune {albert} --heads L0H0 --out x", "albert", "ablate"),
    bad("models with other heads", "compare {masked} {more-heads} --data {texts}", "heads"),
    bad("models with other words", "compare {masked} {more-words} --data {texts}", "vocabular", "60", "70"),
    bad("an encoder and a decoder", "compare {masked} {causal} --data {texts}", "heads"),
    bad("pairs for a decoder", "measure {causal} --data {pairs}", "GPT2", "one text column"),
    bad("pairs for a decoder, compare", "compare {causal} {causal} --data {pairs}", "GPT2", "one text column"),
    bad("one text for a translator", "measure {translator} --data {texts}", "target"),
    bad("annotated sentences for a translator", "measure {translator} --data {trees}", "target"),
    bad("a map of one text by a translator", "maps {translator} --text w1 --out s", "--pair"),
    bad("a pair for a decoder's map", "maps {causal} --text w1 --pair w2 --out s", "--pair"),
    bad(
        "a tagger with other classes",
        "measure {classifier} --data {texts} --tagger {odd-tagger}",
        "{odd-tagger}",
        "'O'",
    ),
    bad("a tagger that is a classifier", "measure {classifier} --data {texts} --tagger {bare}", "{bare}"),
    bad("a tagger that is not there", "measure {classifier} --data {texts} --tagger no/such/one", "no/such/one"),
    bad(
        "a tagger that is not there, compare",
        "compare {classifier} {classifier-2} --data {texts} --tagger no/such/one",
        "no/such/one",
    ),
    bad("no spaCy pipeline of that name", "measure {classifier} --data {texts} --spacy xx_none", "'xx_none'", "spaCy"),
    # Checkpoints of a run
    bad(
        "a run without checkpoints", "dynamics {classifier} --task sst2 --data {texts}", "{classifier}", "--checkpoints"
    ),
    bad("a run that is not there", "dynamics no/run --task sst2 --data {texts}", "no/run", "--checkpoints"),
    bad("one checkpoint", "dynamics {one-checkpoint} --task sst2 --data {texts}", "{one-checkpoint}", "at least 2"),
    bad("a run that is a file", "dynamics {texts} --task sst2 --data {texts}", "{texts}", "--checkpoints"),
]
