"""Headcount: find out what every attention head of a transformer does, and prune the heads that it does not need.

The names below are the public interface. Each is imported when it is first used, so `import headcount` is quick and
does not load torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headcount.ablation.ablated import ablated as ablated
    from headcount.ablation.choices import Every as Every
    from headcount.ablation.choices import Pairs as Pairs
    from headcount.ablation.choices import RandomSets as RandomSets
    from headcount.ablation.hows import Means as Means
    from headcount.ablation.hows import Patch as Patch
    from headcount.ablation.hows import Resample as Resample
    from headcount.ablation.means import mean_outputs as mean_outputs
    from headcount.ablation.paths import paths as paths
    from headcount.ablation.sweep import sweep as sweep
    from headcount.attention_maps.find_patterns import find_patterns as find_patterns
    from headcount.attention_maps.maps import maps as maps
    from headcount.budgets.choose import choose as choose
    from headcount.budgets.choose_parts import PartChoice as PartChoice
    from headcount.choosing.attribution import attribution as attribution
    from headcount.choosing.carriers import carriers as carriers
    from headcount.choosing.choose_heads import Choice as Choice
    from headcount.choosing.circuit import circuit as circuit
    from headcount.choosing.curves import curve as curve
    from headcount.choosing.dynamics import dynamics as dynamics
    from headcount.choosing.function_vectors import function_vectors as function_vectors
    from headcount.choosing.gates import learn_gates as learn_gates
    from headcount.choosing.head_callback import HeadCallback as HeadCallback
    from headcount.choosing.importance import importance as importance
    from headcount.choosing.screen import screen as screen
    from headcount.choosing.screen_pairs import screen_pairs as screen_pairs
    from headcount.core.agreement import agreement as agreement
    from headcount.core.heads import Head as Head
    from headcount.core.heads import HeadSet as HeadSet
    from headcount.core.heads import Layout as Layout
    from headcount.core.read_study import open_study as open_study
    from headcount.core.schema import Schema as Schema
    from headcount.costs.cost import cost as cost
    from headcount.costs.export import export as export
    from headcount.data.synthetic.source import Synthetic as Synthetic
    from headcount.data.tasks import find_task as find_task
    from headcount.engines.compute import Compute as Compute
    from headcount.engines.engine import Ray as Ray
    from headcount.errors import HeadcountError as HeadcountError
    from headcount.live_server.live import live as live
    from headcount.measures.compare import compare as compare
    from headcount.measures.contract import Question as Question
    from headcount.measures.measure import measure as measure
    from headcount.models.checkpoint import save as save
    from headcount.models.load import load as load
    from headcount.probing.probe import probe as probe
    from headcount.pruning.prune import prune as prune
    from headcount.pruning.recover import recover as recover
    from headcount.pruning.refit import refit as refit
    from headcount.reporting.document import report as report
    from headcount.reporting.explain import explain as explain
    from headcount.reporting.figure import figure as figure
    from headcount.reporting.show import show as show
    from headcount.reporting.table import table as table
    from headcount.self_check.doctor import doctor as doctor
    from headcount.statistical_cues.adversarial import adversarial as adversarial
    from headcount.statistical_cues.adversarial_scores import adversarial_scores as adversarial_scores
    from headcount.statistical_cues.cue_heads import cue_heads as cue_heads
    from headcount.statistical_cues.cues import cues as cues
    from headcount.trace.anatomy import read_anatomy as read_anatomy
    from headcount.trace.gates import gated as gated
    from headcount.trace.heads import heads as heads
    from headcount.trace.observe import Observation as Observation
    from headcount.trace.observe import observe as observe
    from headcount.training.finetune import finetune as finetune
    from headcount.training.partial import partial as partial
    from headcount.zoo.bundled import bundled as bundled
    from headcount.zoo.bundled import bundled_pairs as bundled_pairs
    from headcount.zoo.bundled import bundled_sentences as bundled_sentences

__version__ = "0.2.0"

_HOMES = {
    "Choice": "choosing.choose_heads",
    "PartChoice": "budgets.choose_parts",
    "Compute": "engines.compute",
    "Every": "ablation.choices",
    "Head": "core.heads",
    "HeadCallback": "choosing.head_callback",
    "HeadSet": "core.heads",
    "HeadcountError": "errors",
    "Layout": "core.heads",
    "Means": "ablation.hows",
    "Observation": "trace.observe",
    "Pairs": "ablation.choices",
    "Patch": "ablation.hows",
    "RandomSets": "ablation.choices",
    "Question": "measures.contract",
    "Ray": "engines.engine",
    "Resample": "ablation.hows",
    "Schema": "core.schema",
    "Synthetic": "data.synthetic.source",
    "ablated": "ablation.ablated",
    "adversarial": "statistical_cues.adversarial",
    "adversarial_scores": "statistical_cues.adversarial_scores",
    "agreement": "core.agreement",
    "attribution": "choosing.attribution",
    "bundled": "zoo.bundled",
    "bundled_pairs": "zoo.bundled",
    "bundled_sentences": "zoo.bundled",
    "carriers": "choosing.carriers",
    "choose": "budgets.choose",
    "circuit": "choosing.circuit",
    "compare": "measures.compare",
    "cost": "costs.cost",
    "cue_heads": "statistical_cues.cue_heads",
    "cues": "statistical_cues.cues",
    "curve": "choosing.curves",
    "doctor": "self_check.doctor",
    "dynamics": "choosing.dynamics",
    "explain": "reporting.explain",
    "export": "costs.export",
    "figure": "reporting.figure",
    "find_patterns": "attention_maps.find_patterns",
    "find_task": "data.tasks",
    "finetune": "training.finetune",
    "function_vectors": "choosing.function_vectors",
    "gated": "trace.gates",
    "heads": "trace.heads",
    "importance": "choosing.importance",
    "learn_gates": "choosing.gates",
    "live": "live_server.live",
    "load": "models.load",
    "maps": "attention_maps.maps",
    "mean_outputs": "ablation.means",
    "measure": "measures.measure",
    "observe": "trace.observe",
    "open_study": "core.read_study",
    "paths": "ablation.paths",
    "partial": "training.partial",
    "probe": "probing.probe",
    "prune": "pruning.prune",
    "read_anatomy": "trace.anatomy",
    "recover": "pruning.recover",
    "refit": "pruning.refit",
    "report": "reporting.document",
    "save": "models.checkpoint",
    "screen": "choosing.screen",
    "screen_pairs": "choosing.screen_pairs",
    "show": "reporting.show",
    "sweep": "ablation.sweep",
    "table": "reporting.table",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'headcount' has no attribute {name!r}")
    return getattr(import_module(f"headcount.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
