"""`headcount demo`: the story offline; until the bundled model is there, a first ablation on a tiny one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def demo(*, out: Annotated[Path, Parameter(help="Where the tiny model is written.")] = Path("demo-out")) -> None:
    """Build a tiny BERT from a config, save it, load it again and ablate a head of it.

    Example: headcount demo --out demo-out
    """
    import torch
    from rich.console import Console
    from transformers import BertConfig, BertModel

    from headcount.ablation.ablated import ablated
    from headcount.cli.heads import heads_table
    from headcount.models.anatomy import read_anatomy
    from headcount.models.load import load_model

    console = Console(highlight=False)
    torch.manual_seed(0)
    size = {"hidden_size": 48, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 96}
    folder = out / "model"
    BertModel(BertConfig(vocab_size=1000, initializer_range=0.5, **size)).save_pretrained(folder)
    model = load_model(folder)
    console.print(heads_table(read_anatomy(model)))
    inputs = {"input_ids": torch.randint(10, 1000, (4, 16))}
    with torch.no_grad():
        whole = model(**inputs).last_hidden_state
        for how in ("zero", "uniform"):
            with ablated(model, "L3H7", how=how):
                change = (model(**inputs).last_hidden_state - whole).norm() / whole.norm()
            console.print(f"Without L3H7 ({how}) the output of the last layer moves by {change:.1%} of its length.")
        back = torch.equal(model(**inputs).last_hidden_state, whole)
    console.print(f"After the context the output is {'bit for bit what it was' if back else 'changed'}.")
    console.print(f"The weights are random: this shows the mechanism, not a finding. The model is in {folder}.")
