"""What a job was scored on: equal for jobs whose losses may be compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from posexp.data.tokens import TOKENIZER
from posexp.evaluation.settings import eval_lengths
from posexp.objective import NEXT_TOKEN
from posexp.report.jobs import Job
from posexp.report.labels import settings

# Anchors depend on the longest length, not on the shorter ones beside it.
SCORED = ("trainer.context_length", "evaluation.split", "evaluation.targets", "evaluation.anchors")


def targets(jobs: Sequence[Job]) -> dict[str, tuple[str, ...]]:
    """Job name -> what its targets depend on: text, tokens, split, lengths, number, objective.

    A corpus is known by its fingerprint, wherever it lay; a job that has not recorded one shares
    that of the jobs with the same config of the data, if they agree.
    """
    flat = {job.name: settings(job) for job in jobs}
    known: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
    for job in jobs:
        if recorded := _recorded(job):
            known[_configured(flat[job.name])].add(recorded)
    keys = {}
    for job in jobs:
        configured = _configured(flat[job.name])
        agreed = next(iter(known[configured])) if len(known[configured]) == 1 else configured
        keys[job.name] = (
            *(_recorded(job) or agreed),
            str(_longest(job)),
            *(flat[job.name].get(key, "") for key in SCORED),
            *_objective(job),
        )
    return keys


def _recorded(job: Job) -> tuple[str, ...]:
    """Corpus and tokenizer as the job found them; before there was a choice, tokens were bytes."""
    fingerprint = job.facts.get("corpus_fingerprint")
    return (fingerprint, str(job.facts.get("tokenizer", TOKENIZER))) if fingerprint else ()


def _configured(flat: dict[str, str]) -> tuple[str, ...]:
    keys = ("data.name", "data.path", "data.tokenizer", "data.vocabulary")
    return tuple(flat.get(key, "null") for key in keys)


def _objective(job: Job) -> list[str]:
    if job.objective == NEXT_TOKEN:  # also that of jobs of before there was a choice
        return [NEXT_TOKEN]
    return sorted(f"{key}={value}" for key, value in job.config["objective"].items())


def _longest(job: Job) -> int | None:
    t = (job.config.get("trainer") or {}).get("context_length")
    lengths = (job.config.get("evaluation") or {}).get("lengths")
    if not isinstance(t, int):
        return None
    return max(eval_lengths({"lengths": lengths}, t))
