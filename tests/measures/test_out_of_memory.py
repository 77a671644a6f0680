"""A measurement that runs out of memory takes fewer texts, then fewer heads, at a time; the numbers stay the same.

The memory of a process is really limited here; the numbers are compared with those of a process that has enough.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from tests import planted
from tests.limited import LimitedMemory

ROOT = Path(__file__).parent.parent.parent
SCRIPT = """
import resource, sys
import numpy as np, pandas as pd, torch, transformers as tf
import headcount as hc
from tests import planted

words, texts, megabytes, place = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
torch.set_num_threads(1)
torch.manual_seed(0)
config = tf.BertConfig(vocab_size=len(planted.WORDS), hidden_size=64, num_hidden_layers=2, num_attention_heads=16,
                       intermediate_size=64, max_position_embeddings=8192, initializer_range=0.2)
model = tf.BertModel(config).eval()
tokenizer = tf.AutoTokenizer.from_pretrained(place)
tokenizer.model_max_length = 8192
generator = np.random.default_rng(0)
def make(count, length):
    return pd.DataFrame({"text": [" ".join(generator.choice(planted.WORDS[5:], length)) for _ in range(count)]})
options = {"only": ["entropy", "contribution", "position", "special"], "text": "text"}
options["compute"] = hc.Compute(batch_tokens=10**6)
hc.measure(model, tokenizer, make(2, 9), **options)  # whatever is allocated once
data = make(texts, words)
if megabytes:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20,) * 2)
try:
    found = hc.measure(model, tokenizer, data, **options)
except hc.HeadcountError as error:
    print("ERROR", error)
    sys.exit(0)
for name in sorted(found.children):
    for variable, values in sorted(found[name].data_vars.items()):
        if variable.startswith("values_"):
            print(name, variable, float(np.nansum(values.values.astype(float))), values.shape)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tokenizer")
    planted.tokenizer(place).save_pretrained(place)
    return place


def measure(folder: Path, words: int, texts: int, megabytes: int) -> str:
    """What a process says that may allocate so much more; 0 for all that there is."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, (words, texts, megabytes)), str(folder)],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def numbers(said: str) -> list[float]:
    return [float(line.split()[2]) for line in said.splitlines()]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process's memory is Linux's")
@pytest.mark.parametrize(
    ("words", "texts", "megabytes"),
    [pytest.param(126, 64, 60, id="fewer texts", marks=pytest.mark.slow), pytest.param(2046, 1, 240, id="fewer heads")],
)
def test_the_numbers_stay_the_same(folder: Path, words: int, texts: int, megabytes: int) -> None:
    """The maps of a layer at once take 64 and 256 MB: more than there is."""
    expected, found = (numbers(measure(folder, words, texts, more)) for more in (0, megabytes))
    assert len(expected) > 5
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process's memory is Linux's")
def test_a_long_text_in_little_memory(folder: Path) -> None:
    """Its maps would take 1 GB."""
    said = measure(folder, 4094, 1, 100)
    assert not said.startswith("ERROR")
    assert len(numbers(said)) > 5


def test_where_one_text_does_not_fit_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headcount.measures.passes.try_in_memory", lambda run: None)
    config = tf.BertConfig(
        vocab_size=len(planted.WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=4, intermediate_size=16
    )
    texts = pd.DataFrame({"text": [" ".join(planted.WORDS[5:7] * 15)]})
    with pytest.raises(hc.HeadcountError, match="for one text of 32 tokens: its maps take 1 MB"):
        hc.measure(tf.BertModel(config).eval(), planted.tokenizer(tmp_path), texts, only="position")


@pytest.mark.parametrize("share", [2, 3, 4])
def test_one_text_in_a_share_of_its_memory(tmp_path: Path, share: int) -> None:
    """Of 8 heads 2 or 1 at a time: what was built for some of them is gone when the next ones are looked at."""
    torch.manual_seed(3)
    config = tf.BertConfig(
        vocab_size=len(planted.WORDS),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=8,
        intermediate_size=64,
        max_position_embeddings=1024,
        initializer_range=0.2,
    )
    model, tokenizer = tf.BertModel(config).eval(), planted.tokenizer(tmp_path)
    tokenizer.model_max_length = 1024
    generator = np.random.default_rng(5)
    data = pd.DataFrame({"text": [" ".join(generator.choice(planted.WORDS[5:], 1022))]})

    def measured(limit: int | None) -> tuple[dict[str, np.ndarray], LimitedMemory]:
        gc.collect()
        with LimitedMemory([*model.parameters(), *model.buffers()], limit) as memory:
            found = hc.measure(model, tokenizer, data, only=["entropy", "contribution", "position", "special"])
        values = {
            f"{name}/{variable}": array.values
            for name in found.children
            for variable, array in found[name].data_vars.items()
            if str(variable).startswith("values_")
        }
        return values, memory

    expected, free = measured(None)
    assert free.peak > 8 * 1024**2 * 4, "the maps of a layer were not counted"
    found, limited = measured(free.peak // share)
    assert limited.refusals > 0
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5, atol=1e-6, err_msg=name)
