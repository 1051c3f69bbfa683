import json
import os
import signal
import threading
import time

import pytest

from posexp.sweep import run as run_module
from posexp.sweep.jobs import read_status
from posexp.sweep.outcome import failure_summary
from posexp.sweep.run import JobRunner


def test_a_failed_job_does_not_stop_the_others(job, capsys):
    """P43: jobs 1 and 2 of 0..3 raise; each traceback is in its own log and in the summary."""
    whats = ["complete", "raise", "raise", "complete"]
    jobs = [job(what, f"{i}_job", seed=i) for i, what in enumerate(whats)]
    assert JobRunner().run(jobs) == ["completed", "failed", "failed", "completed"]
    summary = failure_summary(jobs)
    for i in (1, 2):
        mine, other = f"missing in seed {i}", f"missing in seed {3 - i}"
        log = jobs[i].log.read_text()
        assert "Traceback (most recent call last)" in log
        assert mine in log
        assert other not in log
        assert f"{i}_job failed" in summary
        assert f"KeyError: '{mine}'" in summary
        assert str(jobs[i].log) in summary
        assert json.loads((jobs[i].directory / "status.json").read_text())["returncode"] == 1
    assert summary.count("Traceback") == 2
    assert "0_job" not in summary
    assert "Traceback" not in jobs[0].log.read_text()
    assert "[4/4] 3_job completed" in capsys.readouterr().out


def test_no_two_jobs_share_a_process(job):
    jobs = [job(name=f"{i}_job", seed=i) for i in range(3)]
    JobRunner().run(jobs)
    pids = {json.loads((j.directory / "seen.json").read_text())["pid"] for j in jobs}
    assert len(pids) == 3
    assert os.getpid() not in pids


def test_an_existing_job_directory_is_left_alone(job, capsys):
    one = job()
    one.directory.mkdir()
    (one.directory / "result.json").write_text("precious")
    assert JobRunner().run([one]) == ["failed"]
    assert (one.directory / "result.json").read_text() == "precious"
    assert [p.name for p in one.directory.iterdir()] == ["result.json"]
    assert "already holds" in capsys.readouterr().out


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_reaches_the_running_job_and_stops_the_rest(job, signal_number):
    jobs = [job("wait", "0_job"), job("complete", "1_job", seed=1)]
    before = signal.getsignal(signal_number)

    def interrupt():
        while not (jobs[0].directory / "waiting").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal_number)

    thread = threading.Thread(target=interrupt)
    thread.start()
    statuses = JobRunner().run(jobs)
    thread.join()
    assert statuses == ["interrupted", "not started"]
    assert "saved" in jobs[0].log.read_text()
    assert not jobs[1].directory.exists()
    assert read_status(jobs[1].directory)["status"] == "not started"
    assert signal.getsignal(signal_number) is before


def test_jobs_share_the_gpus_one_each(job, monkeypatch):
    jobs = [job(name=f"{i}_job", seed=i) for i in range(4)]
    slots = [{"CUDA_VISIBLE_DEVICES": "3"}, {"CUDA_VISIBLE_DEVICES": "7"}]
    monkeypatch.setattr(run_module, "places", lambda jobs, n_jobs: slots)
    assert JobRunner().run(jobs) == ["completed"] * 4
    devices = [
        json.loads((j.directory / "seen.json").read_text())["env"]["CUDA_VISIBLE_DEVICES"]
        for j in jobs
    ]
    assert set(devices) == {"3", "7"}
