"""Objectives are told apart: in comparisons, in the caption, and beside the n-grams."""

import json

import pytest
from rich.console import Console

from posexp.report import report
from posexp.report.caption import caption
from posexp.report.comparison import compare
from posexp.report.jobs import read_jobs

NEXT = {"name": "next_token", "rate": None, "replace": None}
MLM = {"name": "mlm", "rate": 0.15, "replace": "mask"}


@pytest.fixture
def both(sweep):
    """Next tokens before there was a choice and since, and masked ones at two rates."""
    sweep.write("rope", (2.0,) * 5)
    sweep.write("alibi", (2.1,) * 5, settings={"objective": NEXT})
    for scheme, rate, loss in (("rope", 0.15, 1.0), ("nope", 0.15, 3.0), ("rope", 0.4, 0.5)):
        settings = {"objective": MLM | {"rate": rate}, "model": {"causal": False}}
        path = sweep.write(scheme, (loss,) * 5, settings=settings) / "result.json"
        result = json.loads(path.read_text())
        result["evaluation"] |= {"masked": 5, "curve": [], "literature": []}
        path.write_text(json.dumps(result))
    return sweep.path


def test_objectives_are_never_ranked_together(both):
    found = [[job.name for job in c.jobs] for c in compare(read_jobs(both))]
    assert [[int(name[0]) for name in names] for names in found] == [[0, 1], [2, 3], [4]]
    for comparison in compare(read_jobs(both)):
        assert sorted(comparison.ranks().values()) == list(range(1, len(comparison.jobs) + 1))


def test_the_caption_names_the_objective_and_what_was_scored(both):
    plain, masked, _ = ("\n".join(caption(c)) for c in compare(read_jobs(both)))
    assert "objective" not in plain and "64 anchors x 32 targets" in plain
    assert "objective=mlm" in masked and "64 anchors x 5 masked targets" in masked


def test_each_row_says_its_objective_and_ngrams_stay_with_the_next_token(both, monkeypatch):
    monkeypatch.setattr("posexp.report.figures.draw", lambda comparisons: {})
    with open("/dev/null", "w") as nowhere:
        report(both, Console(file=nowhere))
    results = json.loads((both / "results.json").read_text())
    assert [row["objective"] for row in results["jobs"]] == ["next_token"] * 2 + ["mlm"] * 3
    assert [bool(c["ngram"]) for c in results["comparisons"]] == [True, False, False]
