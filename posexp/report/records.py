"""results.json and results.csv: one row a job, with everything that was recorded of it."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Sequence
from typing import Any

from posexp.files import finite
from posexp.report.comparison import Comparison
from posexp.report.jobs import Job
from posexp.report.setting import Setting

# Columns that come first, in this order; the facts follow, then the losses.
FIRST = (
    *("job", "setting", "status", "rank", "mean_reciprocal_rank", "loss_at_t"),
    *("baseline", "difference_to_baseline", "difference_standard_error"),
    *("beyond_three_standard_errors", "setting_at_t", "setting_difference", "setting_p_holm"),
)


def record(comparison: Comparison, setting: Setting, job: Job) -> dict[str, Any]:
    """One job as a flat dict of JSON scalars. A number that does not exist is None."""
    t = comparison.context_length
    difference = comparison.differences.get(t, {}).get(job.name)
    contrast = comparison.contrasts.get(t, {}).get(setting.label)
    over_seeds = contrast.estimate if contrast else None
    row: dict[str, Any] = job.facts | {
        "job": job.name,
        "setting": setting.label,
        "status": job.outcome,
        "rank": comparison.ranks().get(setting.label),
        "mean_reciprocal_rank": comparison.reciprocal_ranks.get(setting.label),
        "loss_at_t": job.loss(t),
        "baseline": comparison.baseline.label if comparison.baseline else None,
        "difference_to_baseline": difference.bits_per_byte if difference else None,
        "difference_standard_error": difference.standard_error if difference else None,
        "beyond_three_standard_errors": difference.significant if difference else None,
        "setting_at_t": contrast.words if contrast else None,
        "setting_difference": over_seeds.mean if over_seeds else None,
        "setting_p_holm": contrast.holm if contrast else None,
    }
    evaluation = job.evaluation
    row |= {
        f"evaluation_{key}": evaluation.get(key)
        for key in ("split", "targets", "anchors", "excluded_documents", "curve_status")
        if key in evaluation
    }
    row |= {f"training_{key}": v for key, v in ((job.result or {}).get("training") or {}).items()}
    for length, entry in job.losses().items():
        row[f"loss_{length}"] = entry.get("bits_per_byte")
        row[f"loss_{length}_standard_error"] = entry.get("standard_error")
        row[f"loss_{length}_status"] = entry.get("status")
        row[f"gain_{length}"] = entry.get("gain")
    for length, entry in job.losses("foreign").items():
        row[f"foreign_{length}"] = entry.get("bits_per_byte")
        row[f"foreign_{length}_status"] = entry.get("status")
    for length, entry in job.losses("literature").items():
        # As the literature reports it: kept, named so, and never ranked.
        for key in ("non_overlapping", "sliding", "stride"):
            row[f"literature_{key}_{length}"] = entry.get(key)
    for length, entry in job.recalled().items():
        row |= {f"task_{key}_{length}": entry.get(key) for key in ("accuracy", "low", "high")}
        row[f"task_status_{length}"] = entry.get("status")
    for entry in job.task.get("rows") or []:
        row[f"task_accuracy_{entry['length']}_at_{entry['distance']}"] = entry.get("accuracy")
    return finite(row | {"seconds": job.seconds, "error": job.error})


def all_records(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """A record a job, in the order of the tables."""
    return [
        record(comparison, setting, job)
        for comparison in comparisons
        for setting in (*comparison.settings, *comparison.aside)
        for job in setting.jobs
    ]


def to_csv(records: Sequence[dict[str, Any]]) -> str:
    """CSV (RFC 4180) with the union of all columns; None is an empty cell."""
    columns = list(dict.fromkeys([*FIRST, *(key for row in records for key in row)]))
    columns = [c for c in columns if c not in ("seconds", "error")] + ["seconds", "error"]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval=None)
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in records)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, bool | list | dict) else value


def to_json(comparisons: Sequence[Comparison], records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """`jobs` as in the CSV, and per comparison the settings over their seeds and the curves."""
    return {
        "jobs": list(records),
        "comparisons": [_comparison(comparison) for comparison in comparisons],
        "ngram": comparisons[0].ngram,
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    ranks, mrr = comparison.ranks(), comparison.reciprocal_ranks
    return {
        "context_length": comparison.context_length,
        "lengths": comparison.lengths,
        "ngram": comparison.ngram,
        "settings": [
            {
                "setting": setting.label,
                "jobs": [job.name for job in setting.jobs],
                "rank": ranks.get(setting.label),
                "mean_reciprocal_rank": mrr[setting.label],
                "lengths": [_length(setting, length) for length in comparison.lengths],
            }
            for setting in comparison.settings
        ],
        "baseline": comparison.baseline.label if comparison.baseline else None,
        "baseline_chosen_by_data": comparison.chosen is None,
        "grid": comparison.grid and dataclasses.asdict(comparison.grid),
        "contrasts": {
            str(length): {label: dataclasses.asdict(c) for label, c in found.items()}
            for length, found in comparison.contrasts.items()
        },
        "differences": {
            str(length): {name: dataclasses.asdict(d) for name, d in found.items()}
            for length, found in comparison.differences.items()
        },
        "curves": {
            job.name: {
                "status": job.evaluation.get("curve_status"),
                "buckets": job.evaluation["curve"],
            }
            for job in comparison.jobs
            if job.evaluation.get("curve")
        },
    }


def _length(setting: Setting, length: int) -> dict[str, Any]:
    summary = setting.summary(length)
    interval = summary.over_seeds if summary else None
    return {
        "length": length,
        "seeds": summary.seeds if summary else 0,
        "mean": summary.mean if summary else None,
        "seed_spread": summary.spread if summary else None,
        "t_interval_half_width": interval.half_width if interval else None,
        "diverged": setting.diverged(length),
    }
