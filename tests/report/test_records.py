import csv
import io
import json
import math

from posexp.report.comparison import compare
from posexp.report.jobs import read_jobs
from posexp.report.records import all_records, to_csv, to_json


def records(sweep):
    comparisons = compare(read_jobs(sweep.path))
    return comparisons, all_records(comparisons)


def test_one_row_a_job_with_every_fact_and_loss(messy_sweep):
    _, found = records(messy_sweep)
    rows = list(csv.DictReader(io.StringIO(to_csv(found))))
    assert len(rows) == 13
    assert all(len(row) == len(rows[0]) and None not in row for row in rows)
    rope = rows[0]
    assert (rope["job"], rope["scheme"], rope["rank"]) == ("0_rope_full_seed0", "rope", "1")
    assert rope["corpus_fingerprint"] == "a1b2" and rope["tokens_seen"] == "1024000"
    assert float(rope["loss_1024"]) == 4.364
    assert float(rope["foreign_1024"]) - float(rope["loss_1024"]) < 0.0501
    assert rope["literature_sliding_64"] == "2.226"
    assert rows[-1]["status"] == "not started"


def test_csv_and_json_hold_no_nan(messy_sweep):
    """P44: every cell is text, a finite number or empty; NaN is empty plus "diverged"."""
    comparisons, found = records(messy_sweep)
    json.dumps(to_json(comparisons, found), allow_nan=False)
    rows = {row["scheme"]: row for row in csv.DictReader(io.StringIO(to_csv(found)))}
    for row in rows.values():
        for cell in row.values():
            assert cell.lower() not in ("nan", "inf", "-inf", "none")
    diverged = rows["raw_index"]
    assert diverged["status"] == diverged["loss_128_status"] == "diverged"
    assert diverged["loss_128"] == diverged["loss_at_t"] == ""
    assert rows["learned"]["loss_256_status"] == "undefined"


def test_text_with_commas_quotes_and_newlines_comes_back(sweep):
    message = 'RuntimeError: "a", b\nNaN'
    sweep.write("kaput", status="failed", error=message)
    (row,) = csv.DictReader(io.StringIO(to_csv(records(sweep)[1])))
    assert row["error"] == message


def test_a_fact_cannot_stand_in_for_a_result(sweep):
    sweep.write("rope", (math.nan,) * 5, status="completed", job="other", layers=[1, 2])
    _, found = records(sweep)
    assert found[0]["job"] == "0_rope_full_seed0"
    assert next(csv.DictReader(io.StringIO(to_csv(found))))["layers"] == "[1, 2]"


def test_json_keeps_every_seed_and_their_spread(sweep):
    for seed, loss in enumerate([2.0, 2.1, 2.3]):
        sweep.write("rope", (loss,) * 5, seed=seed)
    comparisons, found = records(sweep)
    (setting,) = to_json(comparisons, found)["comparisons"][0]["settings"]
    at_t = setting["lengths"][1]
    assert len(setting["jobs"]) == 3 and at_t["seeds"] == 3
    assert math.isclose(at_t["mean"], 6.4 / 3)
    assert math.isclose(
        at_t["t_interval_half_width"], 4.3026527 * at_t["seed_spread"] / 3**0.5, rel_tol=1e-6
    )
