import json
import math

import pytest

from posexp.report.jobs import read_jobs


def test_jobs_in_planned_order_whatever_state_they_are_in(messy_sweep):
    jobs = {job.name.split("_", 1)[1]: job for job in read_jobs(messy_sweep.path)}
    assert [j.name for j in read_jobs(messy_sweep.path)] == [
        *messy_sweep.names,
        "12_waiting_full_seed0",
    ]
    assert jobs["rope_full_seed0"].loss(1024) == 4.364
    assert jobs["learned_full_seed0"].loss(256) is None
    assert jobs["waiting_full_seed0"].status == "not started"
    assert jobs["kaput_full_seed0"].facts["scheme"] == "kaput"
    assert jobs["late_full_seed0"].anchors is None


def test_nan_in_a_result_is_null_and_diverged(sweep):
    """P44, for a result that some other tool wrote."""
    sweep.write("rope", (2.2, math.nan, math.inf, 3.0, None))
    (job,) = read_jobs(sweep.path)
    assert job.outcome == "diverged"
    assert [job.losses()[n]["status"] for n in (64, 128, 256, 512, 1024)] == [
        *("ok", "diverged", "diverged", "ok", "undefined")
    ]
    assert job.loss(128) is None and job.loss(256) is None


def test_half_a_result_makes_a_failed_job_not_a_failed_report(sweep):
    path = sweep.write("rope", (2.0,) * 5) / "result.json"
    path.write_text(path.read_text()[:100])
    (job,) = read_jobs(sweep.path)
    assert job.status == "failed"
    assert "result.json" in job.error


def test_damaged_anchors_are_no_anchors(sweep):
    path = sweep.write("rope", (2.0,) * 5) / "anchors.npz"
    path.write_bytes(path.read_bytes()[:50])
    assert read_jobs(sweep.path)[0].anchors is None


def test_a_sweep_without_its_plan_is_ordered_by_job_number(sweep):
    for _ in range(11):
        sweep.write("rope")
    (sweep.path / "sweep.json").unlink()
    assert [job.name for job in read_jobs(sweep.path)] == sweep.names


def test_a_single_run_is_a_sweep_of_one(sweep):
    path = sweep.write("rope", (2.0,) * 5)
    assert [job.name for job in read_jobs(path)] == [path.name]


def test_a_misspelt_directory_is_answered_with_the_nearest(sweep):
    with pytest.raises(ValueError, match=r"no directory .*sweeep; did you mean .*/sweep\?"):
        read_jobs(sweep.path.parent / "sweeep")


def test_a_directory_of_sweeps_names_the_last(sweep):
    sweep.plan("0_rope")
    with pytest.raises(ValueError, match=r"neither a sweep .* nor a job .*the last is .*/sweep$"):
        read_jobs(sweep.path.parent)


def test_a_completed_job_reports_its_config_where_it_recorded_no_facts(sweep):
    path = sweep.write("rope", (2.0,) * 5) / "result.json"
    result = json.loads(path.read_text())
    del result["facts"]
    path.write_text(json.dumps(result))
    (job,) = read_jobs(sweep.path)
    assert job.facts["corpus"] == "austen" and job.context_length == 128
