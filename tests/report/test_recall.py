"""A sweep of which some jobs have a task: what the table, the CSV and the caption say of it."""

import csv
import io
import json

import pytest
from rich.console import Console

from posexp.report.caption import caption
from posexp.report.comparison import compare
from posexp.report.jobs import read_jobs
from posexp.report.records import all_records, to_csv
from posexp.report.table import results_table

LOSSES = (2.0, 2.1, 2.2, 2.3, 2.4)


def give_task(job, accuracies, name="needle"):
    """Add a task's results to a job: accuracy at 64, 128, ... or the status that says why not."""
    path = job / "result.json"
    result = json.loads(path.read_text())

    def entry(value):
        number = None if isinstance(value, str) else value
        status = value if isinstance(value, str) else "ok"
        return {"status": status, "accuracy": number, "low": number, "high": number}

    lengths = [64 * 2**k for k in range(len(accuracies))]
    result["evaluation"]["task"] = {
        "name": name,
        "chance": 1 / 26,
        "windows": 128,
        "lengths": [{"length": n, **entry(a)} for n, a in zip(lengths, accuracies, strict=True)],
        "rows": [
            {"length": n, "distance": n // 2, **entry(a)}
            for n, a in zip(lengths, accuracies, strict=True)
        ],
    }
    path.write_text(json.dumps(result))


def shown(sweep):
    (comparison,) = compare(read_jobs(sweep.path))
    console = Console(width=300)
    with console.capture() as capture:
        console.print(results_table(comparison))
    return capture.get(), "\n".join(caption(comparison)), all_records([comparison])


def row(text, word):
    return next(line for line in text.splitlines() if word in line).split()


@pytest.fixture
def with_tasks(sweep):
    give_task(sweep.write("rope", LOSSES), (0.99, 0.97, 0.4, 0.1, 0.042))
    give_task(sweep.write("learned", LOSSES), (0.5, 0.4, *["undefined"] * 3))
    give_task(sweep.write("t5", LOSSES), ("diverged",) * 5)
    sweep.write("alibi", LOSSES)
    return sweep


def test_recall_stands_beside_the_loss_at_t_and_at_the_longest_length(with_tasks):
    table, _, _ = shown(with_tasks)
    assert row(table, " rope ")[-3:] == ["0.97", "0.04", "completed"]
    assert row(table, " learned ")[-3:] == ["0.40", "n/a", "completed"]
    assert row(table, " t5 ")[-3:] == ["-", "-", "completed"]
    assert "0.97" not in row(table, " alibi ")
    assert table.count("needle") == 2
    assert row(table, "0.5 T")[-6:] == ["T", "=", "T", "8", "T", "status"]


def test_without_a_task_there_is_no_column_and_no_cell(sweep):
    sweep.write("rope", LOSSES)
    table, text, records = shown(sweep)
    assert "needle" not in table + text
    assert not any("task" in key for key in records[0])


def test_the_caption_names_the_task_and_its_chance(with_tasks):
    text = shown(with_tasks)[1]
    assert "needle: accuracy" in text and "128 windows a distance, chance 0.04; not ranked" in text


def test_the_csv_has_every_length_and_distance(with_tasks):
    rows = {r["scheme"]: r for r in csv.DictReader(io.StringIO(to_csv(shown(with_tasks)[2])))}
    rope = rows["rope"]
    assert (rope["task_accuracy_256"], rope["task_status_256"]) == ("0.4", "ok")
    assert rope["task_accuracy_1024_at_512"] == "0.042"
    assert rows["learned"]["task_status_256"] == "undefined"
    assert rows["learned"]["task_accuracy_256"] == rows["alibi"]["task_accuracy_256"] == ""


def test_seeds_are_averaged(sweep):
    for seed, accuracy in enumerate((0.9, 0.8, 0.4)):
        give_task(sweep.write("rope", LOSSES, seed=seed), (0.1, accuracy))
    table, _, _ = shown(sweep)
    assert row(table, " mean ")[-5:] == ["0.70", "3", "of", "3", "seeds"]


def test_two_tasks_have_their_own_columns(sweep):
    give_task(sweep.write("rope", LOSSES), (0.1, 0.2))
    give_task(sweep.write("alibi", LOSSES), (0.3, 0.45), "echo")
    table, text, _ = shown(sweep)
    assert row(table, " rope ")[-2:] == ["0.20", "completed"]
    assert row(table, " alibi ")[-2:] == ["0.45", "completed"]
    assert "needle:" in text and "echo:" in text
