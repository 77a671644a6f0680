"""What the checkpoints of a fine-tuning run are examined on: by default its own task and validation examples."""

from __future__ import annotations

from pathlib import Path

from headcount.ablation.job import Data, find_known_task
from headcount.data.hub import HubData
from headcount.data.synthetic.source import find_source
from headcount.data.tasks import Task, find_glue, find_task
from headcount.errors import InvalidOption
from headcount.models.load import load_tokenizer
from headcount.training.run_folder import source_of_run
from headcount.training.splits import read_again


def examples_of_run(
    folder: str | Path, data: Data | None, task: str | Task | None, tokenizer: str | Path
) -> tuple[Task, Data]:
    """The task and the data that were given, or those of the run in the folder; else the hub's GLUE."""
    source = source_of_run(Path(folder))
    trained = None if source is None else find_task(**source["task"])
    if task is None and (data is None or (find_glue(data) is None and find_source(data) is None)):
        if trained is None:
            raise InvalidOption(f"{folder} does not say what its run was trained for; give task= and data=")
        known = trained
    else:
        known = find_known_task(data if data is not None else "the data", task)
    if data is not None:
        return known, data
    if source is not None and trained is not None and trained.name == known.name:
        return known, read_again(source, load_tokenizer(tokenizer)).validation
    if known.hub is None:
        raise InvalidOption(f"{folder} does not say where its run's examples of {known.name} are; give them with data=")
    return known, str(HubData(*known.hub))
