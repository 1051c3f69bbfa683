"""Jobs without a result: what they say and where their log is."""

from __future__ import annotations

from posexp import page
from posexp.report.study import Part


def failures(part: Part) -> list[page.Content]:
    """A table of them, or the sentence that there are none."""
    if not part.failures:
        return ["Every job has a result and none reported an error."]
    table = page.Table(
        [
            page.Column("job", numeric=False),
            page.Column("setting", numeric=False),
            page.Column("outcome", numeric=False),
            page.Column("what it says", numeric=False, sortable=False),
            page.Column("log", numeric=False, sortable=False),
        ],
        [
            [
                failure.job,
                failure.label,
                page.Cell(failure.outcome, kind="error" if failure.outcome == "failed" else ""),
                failure.error or "nothing",
                str(failure.log) if failure.log else "none",
            ]
            for failure in part.failures
        ],
    )
    return [table]
