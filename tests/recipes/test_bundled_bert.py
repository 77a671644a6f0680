"""Do the recipes of the bundled model run from text to a fine-tuned checkpoint?"""

import contextlib
import importlib
import io
import json
import random
from pathlib import Path

import pytest
import torch
from recipes.bundled_bert.pairs import Corpus, draw
from recipes.bundled_bert.questions import ANSWERS, KINDS, NO_ANSWER, find, harder, nearest, pairs_of, thin
from recipes.bundled_bert.tokens import read_parts
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertForPreTraining

PEOPLE = ["The baker", "A tall sailor", "My oldest aunt", "The night nurse", "Our neighbour", "The young clerk"]
DEEDS = [
    "carried a lamp across the yard",
    "sold four baskets of pears",
    "wrote a letter to the mayor",
    "mended the blue boat",
]
TIMES = ["before the rain came", "on the first day of spring", "while the others slept", "without saying a word"]


def sentences() -> list[str]:
    return [f"{who} {what} {when}." for who in PEOPLE for what in DEEDS for when in TIMES]


def recipe(name: str, *arguments: object) -> str:
    """What a recipe prints, run as `python -m recipes.bundled_bert.<name>` would run it."""
    module = importlib.import_module(f"recipes.bundled_bert.{name}")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        module.main([str(argument) for argument in arguments])
    return printed.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the four recipes write, from three small documents."""
    folder = tmp_path_factory.mktemp("recipes")
    lines = sentences()
    texts = [folder / f"{n}.txt" for n in range(3)]
    for n, text in enumerate(texts):
        told = lines[n::3]
        text.write_text("\n".join(" ".join(told[at : at + 4]) for at in range(0, len(told), 4)), encoding="utf-8")
    pairs = [
        {"sentence1": f"Who {what} {when}?", "sentence2": f"{who} {what} {TIMES[n % 2]}.", "label": n % 2}
        for n, (who, what, when) in enumerate(zip(PEOPLE, DEEDS * 2, [TIMES[0]] * 6, strict=False))
    ]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")

    recipe("vocabulary", *texts, "--out", folder / "tokenizer", "--vocabulary", 150)
    recipe(
        "tokens",
        *texts,
        "--tokenizer",
        folder / "tokenizer",
        "--out",
        folder / "tokens",
        "--hold-out",
        3,
        "--part",
        200,
    )
    pretrain = [
        folder / "tokens",
        "--tokenizer",
        folder / "tokenizer",
        "--out",
        folder / "pretrained",
        "--device",
        "cpu",
    ]
    pretrain += [
        "--layers",
        2,
        "--heads",
        2,
        "--hidden",
        16,
        "--positions",
        64,
        "--length",
        32,
        "--batch",
        8,
        "--report",
        1,
    ]
    first = recipe("pretrain", *pretrain, "--steps", 6, "--session", 0.001)
    again = recipe("pretrain", *pretrain, "--steps", 6)
    (folder / "pretrain.log").write_text(first + again, encoding="utf-8")
    told = ["The old mill was moved to the harbour in 1887.", "The bridge was closed because the piers had cracked."]
    (folder / "told.txt").write_text(" ".join(told * 3), encoding="utf-8")
    recipe("questions", folder / "told.txt", "--out", folder / "made.jsonl.xz")
    recipe(
        "finetune",
        folder / "pretrained" / "checkpoint",
        "--out",
        folder / "qnli",
        "--device",
        "cpu",
        "--epochs",
        1,
        "--train",
        folder / "pairs.jsonl",
        "--validation",
        folder / "pairs.jsonl",
        "--seeds",
        0,
        "--batch",
        4,
        "--first",
        folder / "made.jsonl.xz",
        "--first-batch",
        2,
    )
    return folder


def test_a_stopped_pretraining_goes_on_where_it_stopped(folder: Path) -> None:
    log = (folder / "pretrain.log").read_text(encoding="utf-8")
    assert "from step 0" in log
    assert "from step 1" in log
    assert "step 6: held-out masked-word loss" in log


def test_the_pretrained_checkpoint_keeps_its_language_model_head(folder: Path) -> None:
    model = BertForPreTraining.from_pretrained(folder / "pretrained" / "checkpoint")
    tokenizer = AutoTokenizer.from_pretrained(folder / "pretrained" / "checkpoint")
    assert model.dtype == torch.float16
    coded = tokenizer("The baker [MASK] a lamp.", "A tall sailor slept.", return_tensors="pt")
    assert tokenizer.convert_ids_to_tokens(coded["input_ids"][0])[0] == "[CLS]"
    assert model.float()(**coded).prediction_logits.shape[-1] == len(tokenizer)


def test_the_finetuned_checkpoint_names_its_labels(folder: Path) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(folder / "qnli" / "checkpoint")
    assert type(model).__name__ == "BertForSequenceClassification"
    assert model.config.id2label == {0: "entailment", 1: "not_entailment"}
    scores = json.loads((folder / "qnli" / "scores.json").read_text(encoding="utf-8"))
    assert 0 <= scores["chosen"]["accuracy"] <= 1


def test_a_pair_is_two_segments_with_masked_words(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder / "tokenizer")
    special = {piece: tokenizer.convert_tokens_to_ids(piece) for piece in tokenizer.all_special_tokens}
    stream = torch.from_numpy(read_parts([folder / "tokens"], "train").astype("int32"))
    corpus = Corpus.from_stream(stream, len(tokenizer), special)
    for short in (False, True):
        batch = draw(corpus, corpus.anchors(48), 200, 48, torch.Generator().manual_seed(0), short=short)
        ids = batch.input_ids.scatter(
            1, batch.places, torch.where(batch.labels >= 0, batch.labels, batch.input_ids.gather(1, batch.places))
        )
        assert (ids[:, 0] == special["[CLS]"]).all()
        assert ((ids == special["[SEP]"]).sum(1) == 2).all()
        assert 0.3 < batch.random_next.float().mean() < 0.7
        text = " ".join(map(str, corpus.tokens.tolist()))
        for row, random_next in zip(ids.tolist(), batch.random_next.tolist(), strict=True):
            middle, end = (at for at, piece in enumerate(row) if piece == special["[SEP]"])
            a, b = row[1:middle], row[middle + 1 : end]
            assert " ".join(map(str, a)) in text
            assert " ".join(map(str, b)) in text
            if not random_next:
                assert " ".join(map(str, a + b)) in text
            assert set(row[end + 1 :]) <= {special["[PAD]"]}


TOLD = {
    "when": "The old mill was moved to the harbour in 1887.",
    "where": "She opened a school for sailors in Lower Ostby.",
    "why": "The bridge was closed because the piers had cracked.",
    "how": "The monks kept bees warm by wrapping the hives in straw.",
    "how many": "The harbour by the mill held about forty boats.",
    "who": "The bell of the old church was cast by Anna Lund.",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_tells_its_kind_and_no_other_asks_for_it(kind: str) -> None:
    part = find(kind, TOLD[kind])
    assert part is not None
    made = list(pairs_of([TOLD[kind]], random.Random(0)))
    assert made[0].label == ANSWERS
    assert made[0].sentence == TOLD[kind]
    assert all(part[0].strip() not in pair.sentence for pair in made if pair.made == "cut")


def test_made_pairs_ask_for_each_kind_as_often_with_and_without_an_answer() -> None:
    made = [pair for seed in range(60) for pair in pairs_of(list(TOLD.values()), random.Random(seed))]
    asked = {label: sum(pair.question.startswith("Why") for pair in made if pair.label == label) for label in (0, 1)}
    answered = sum(pair.label == ANSWERS for pair in made)
    assert 0.4 < answered / len(made) < 0.7
    assert asked[ANSWERS] > 0
    assert asked[NO_ANSWER] > 0


def test_harder_pairs_of_a_question_and_its_answer() -> None:
    question, sentence = "When was the old mill moved to the harbour?", TOLD["when"]
    made = {pair.made: pair for seed in range(20) for pair in harder(question, sentence, random.Random(seed))}
    assert made["cut"].sentence == "The old mill was moved to the harbour."
    assert made["not told"].question.split()[0] in ("Where", "Why", "How")
    assert made["not told"].sentence == sentence
    assert len(thin(question, sentence, random.Random(0)).split()) < len(question.split())


def test_the_nearest_sentence_that_is_no_answer() -> None:
    question = "When was the old mill moved?"
    texts = ["The old mill was red.", "A boat sank.", TOLD["when"]]
    (pair,) = nearest([question], texts, {question: {TOLD["when"]}})
    assert (pair.sentence, pair.label) == ("The old mill was red.", NO_ANSWER)
