"""What differs between compared runs beyond the scheme, its own settings and the seed.

What differs silently between papers is named here, with a verdict: does it make the comparison
not like with like, or is it harmless?
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from posexp.report.comparison import Comparison
from posexp.report.jobs import SEEDS, Job
from posexp.report.labels import settings
from posexp.report.setting import Setting
from posexp.report.study import HARMLESS, WARNING, Differing, Grid

NOT_RECORDED = "not recorded"
OWN_SHARE = 0.01  # parameters that a scheme may own before models are called unequal

# Facts that repeat a setting of the config under a name of their own.
REPEATED = {
    "lr": "optimizer.lr",
    "n_heads": "model.n_heads",
    "n_kv_heads": "model.n_kv_heads",
    "dropout": "model.dropout",
    "precision": "trainer.precision",
    "bos": "data.bos",
    "context_length": "trainer.context_length",
    "corpus": "data.name",
    "lr_choice": "optimizer.lr",
    "span": "span.name",
    "task": "task.name",
}
# Facts that say which scheme it is, or follow from it.
OF_THE_SCHEME = ("scheme", "scheme_parameters")
NOT_COMPARED = ("scheme.", "tracking", "objective")

SPEED = "It changes how fast a job runs, not what it learns: tokens per second are not comparable."
LOOKS = "It changes what is recorded, not what is learned."
WHERE = "It is where the same corpus lies, or what it is called."
HARMLESS_KEYS = {
    **dict.fromkeys(
        (
            *("trainer.accelerator", "trainer.devices", "trainer.threads", "trainer.workers"),
            *("trainer.strategy", "trainer.sharded_checkpoints", "trainer.accumulate"),
        ),
        SPEED,
    ),
    **dict.fromkeys(
        (
            *("trainer.log_every", "trainer.val_every", "trainer.checkpoint_every"),
            *("trainer.keep_checkpoints", "evaluation.batch_tokens", "evaluation.curve_windows"),
            *("evaluation.literature_windows", "version.wandb"),
        ),
        LOOKS,
    ),
    "evaluation.lengths": "Other lengths were tested; those that both have are scored on the same "
    "targets.",
    "evaluation.foreign_split": "The foreign prefix comes from another text; only that control is "
    "affected.",
    "training.resumed": "A resumed job's seconds and tokens per second are of its last part alone.",
    "data.name": WHERE,
    "data.path": WHERE,
    "logit_scale": "The scheme sets it. It acts on the loss without being position information.",
}
WARNINGS = {
    "tokens_seen": "One model saw more text than another.",
    "corpus_fingerprint": "The texts are not the same.",
    "embedding_scale": "Vectors added to the input weigh differently against the tokens.",
    "model.kernel": "Kernels were chosen by hand: they agree up to rounding, not in speed.",
}
GROUP_WARNINGS = {
    "optimizer": "The optimizer is part of what is compared, unless it is tuned alike for each.",
    "trainer": "Training is not the same.",
    "model": "The models are not the same.",
    "data": "The windows are not the same.",
    "span": "What is visible differs as well as how positions are encoded.",
    "task": "Training saw other text.",
    "evaluation": "Scoring is not the same.",
    "version": "Another version of a library may give other numbers.",
}


def fairness(comparison: Comparison) -> tuple[Differing, ...]:
    """Every setting and fact that differs between jobs with a loss, those that warn first."""
    recorded = {
        s.label: [_recorded(j) for j in s.jobs if j.result and j.outcome != "diverged"]
        for s in comparison.settings
    }
    recorded = {label: found for label, found in recorded.items() if found}
    names = dict.fromkeys(key for found in recorded.values() for facts in found for key in facts)
    found = []
    for name in names:
        values = {
            label: tuple(dict.fromkeys(facts.get(name, NOT_RECORDED) for facts in of_setting))
            for label, of_setting in recorded.items()
        }
        if len({value for of_setting in values.values() for value in of_setting}) > 1:
            verdict, reason = _judge(name, values, comparison)
            found.append(Differing(name, values, verdict, reason))
    differing = {item.name for item in found}
    found = [item for item in found if REPEATED.get(item.name) not in differing]
    return tuple(sorted(found, key=lambda item: (item.verdict != WARNING, item.name)))


def unlike(setting: Setting, baseline: Setting | None, found: Sequence[Differing]) -> list[str]:
    """The names of what makes `setting` against `baseline` not like with like."""
    if baseline is None:
        return []
    pair = (setting.label, baseline.label)
    return [
        item.name
        for item in found
        if item.verdict == WARNING
        and all(label in item.values for label in pair)
        and len({value for label in pair for value in item.values[label]}) > 1
    ]


def _recorded(job: Job) -> dict[str, str]:
    """Every fact and setting of a job as text, without scheme, seed and tracking."""
    found = {key: _text(value) for key, value in (settings(job) | job.facts).items()}
    if "resumed" in job.training:
        found["training.resumed"] = _text(job.training["resumed"])
    return {
        key: value
        for key, value in found.items()
        if key not in (*SEEDS, *OF_THE_SCHEME) and not key.startswith(NOT_COMPARED)
    }


def _judge(
    name: str, values: Mapping[str, tuple[str, ...]], comparison: Comparison
) -> tuple[str, str]:
    known = {value for of_setting in values.values() for value in of_setting} - {NOT_RECORDED}
    if len(known) < 2:
        return HARMLESS, "Some jobs have not recorded it, so it cannot be compared."
    if name in HARMLESS_KEYS:
        return HARMLESS, HARMLESS_KEYS[name]
    if name in _tuned(comparison.grid):
        return HARMLESS, "Chosen for each scheme on the validation split, from one grid."
    if judge := {"parameters": _parameters, "kernel": _kernel, "plugin": _plugin}.get(name):
        return judge(comparison)
    group = REPEATED.get(name, name).partition(".")[0]
    return WARNING, WARNINGS.get(name) or GROUP_WARNINGS.get(group, "It differs.")


def _tuned(grid: Grid | None) -> tuple[str, ...]:
    return grid.names if grid is not None and grid.chosen_on_val else ()


def _parameters(comparison: Comparison) -> tuple[str, str]:
    facts = [job.facts for job in comparison.jobs if "parameters" in job.facts]
    shared = {f["parameters"] - f.get("scheme_parameters", 0) for f in facts}
    if len(shared) > 1:
        return WARNING, "The models are not of one size, and not by the schemes' own parameters."
    share = max(f.get("scheme_parameters", 0) / f["parameters"] for f in facts)
    own = f"They differ by the schemes' own parameters, at most {100 * share:.2g} % of a model."
    return (HARMLESS if share < OWN_SHARE else WARNING), own


def _kernel(comparison: Comparison) -> tuple[str, str]:
    chosen = {job.facts.get("model.kernel") for job in comparison.jobs if job.result}
    if chosen <= {"auto", None}:
        same = "every kernel gives the same values, at its own speed."
        return HARMLESS, f"Chosen automatically: {same}"
    return WARNING, WARNINGS["model.kernel"]


def _plugin(comparison: Comparison) -> tuple[str, str]:
    versions: dict[str, set[str]] = {}
    for job in comparison.jobs:
        if "plugin" in job.facts:
            versions.setdefault(job.facts.get("scheme", ""), set()).add(job.facts["plugin"])
    if all(len(found) == 1 for found in versions.values()):
        return HARMLESS, "The schemes come from different distributions, each in one version."
    return WARNING, "One scheme ran in several versions."


def _text(value: object) -> str:
    """As the config's settings are written."""
    return value if isinstance(value, str) else json.dumps(value)
