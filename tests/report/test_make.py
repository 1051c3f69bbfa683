import json

import pytest
from rich.console import Console

from posexp.report import report


def run(path, width=120):
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    try:
        return report(path, console), console.export_text()
    finally:
        console.file.close()


def test_table_results_and_figures_from_the_directory_alone(messy_sweep):
    written, shown = run(messy_sweep.path)
    assert sorted(str(path.relative_to(messy_sweep.path)) for path in written) == [
        *("report.html", "report/differences.pdf", "report/differences.png"),
        *("report/intervals.csv", "report/loss_by_length.pdf", "report/loss_by_length.png"),
        *("report/loss_by_position.pdf", "report/loss_by_position.png", "report/table.tex"),
        *("results.csv", "results.json"),
    ]
    assert all(path.is_file() and str(path) in shown for path in written)
    assert "order-5 n-gram" in shown and "2.034" in shown and "1.02M tokens seen" in shown
    assert "[Errno 28] no space left" in shown
    assert str(messy_sweep.path / "10_kaput_full_seed0" / "console.log") in shown
    results = json.loads((messy_sweep.path / "results.json").read_text())
    assert len(results["jobs"]) == 13 and results["ngram"]["order_5"] == 2.034


def test_making_it_again_changes_nothing(sweep):
    sweep.write("rope", (2.0, 2.1, 2.2, 2.3, 2.4))
    written, _ = run(sweep.path)
    before = [path.read_bytes() for path in written]
    run(sweep.path)
    assert [path.read_bytes() for path in written] == before


def test_a_narrow_terminal_cuts_no_digits(sweep, monkeypatch):
    monkeypatch.setattr("posexp.report.figures.draw", lambda comparisons: {})
    sweep.write("rope", (2.0, 2.1, 2.2, 2.3, 2.4))
    sweep.write("alibi", (2.5, 2.6, 2.7, 2.8, 2.9))
    _, shown = run(sweep.path, width=40)
    assert "+0.500 ±" in shown and "2.500  2.600  2.700  2.800  2.900" in shown
    assert "…" not in shown


def test_a_single_run(sweep, monkeypatch):
    monkeypatch.setattr("posexp.report.figures.draw", lambda comparisons: {})
    job = sweep.write("rope", (2.0, 2.1, 2.2, 2.3, 2.4))
    (job / "ngram.json").write_text((sweep.path / "ngram.json").read_text())
    written, shown = run(job)
    assert job / "results.csv" in written and "2.100" in shown


def test_a_sweep_that_has_not_begun_has_a_table_and_no_figures(sweep):
    sweep.plan("0_rope", "1_alibi")
    written, shown = run(sweep.path)
    assert [path.name for path in written] == [
        *("results.csv", "report.html", "intervals.csv", "table.tex", "results.json"),
    ]
    assert shown.count("not started") >= 2


def test_the_users_own_file_stops_it(messy_sweep):
    (messy_sweep.path / "results.csv").write_text("mine")
    with pytest.raises(FileExistsError, match=r"results\.csv"):
        run(messy_sweep.path)
    assert (messy_sweep.path / "results.csv").read_text() == "mine"
