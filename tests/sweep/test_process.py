import json
import os
import signal
import threading
import time

import pytest

from posexp.sweep import process
from posexp.sweep.directory import claim_job
from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.jobs import read_status
from posexp.sweep.process import JobProcess, hold


def run(job, show=lambda line: None, **keywords):
    claim_job(job)
    return JobProcess(job, **keywords).run(show)


def wait_for(path):
    for _ in range(1000):
        if path.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} never came")


def test_a_job_runs_in_another_process_and_its_output_is_kept_and_shown(job):
    shown = []
    assert run(job("complete"), shown.append) == "completed"
    one = job()
    assert json.loads((one.directory / "seen.json").read_text())["pid"] != os.getpid()
    assert one.log.read_text() == "this is 0_job\n"
    assert shown == ["this is 0_job"]


def test_what_an_outer_job_left_in_the_environment_does_not_reach_the_job(job, monkeypatch):
    outer = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PL_GLOBAL_SEED"]
    for name in [*outer, "TORCHELASTIC_RUN_ID", "WANDB_RUN_ID"]:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("KEEP_ME", "1")
    one = job(environment={"OMP_NUM_THREADS": "3"})
    run(one, environment={"CUDA_VISIBLE_DEVICES": "5"})
    seen = json.loads((one.directory / "seen.json").read_text())["env"]
    assert not {*outer, "TORCHELASTIC_RUN_ID", "WANDB_RUN_ID"} & seen.keys()
    assert seen["KEEP_ME"] == "1"
    assert (seen["OMP_NUM_THREADS"], seen["CUDA_VISIBLE_DEVICES"]) == ("3", "5")


def test_a_killed_job_is_recorded_as_failed_with_the_signal(job):
    one = job("kill")
    assert run(one) == "failed"
    status = read_status(one.directory)
    assert (status["status"], status["returncode"]) == ("failed", -signal.SIGKILL)
    assert "SIGKILL" in status["error"]


def test_exit_code_0_without_a_result_is_a_failure(job):
    one = job("silent")
    assert run(one) == "failed"
    assert read_status(one.directory)["status"] == "failed"


def test_diverged_is_an_end_like_another(job):
    assert run(job("diverge")) == "diverged"


def test_a_child_that_outlives_its_job_does_not_hold_up_the_sweep(job):
    assert run(job("orphan")) == "completed"


def test_only_the_last_state_of_a_progress_bar_is_shown(job):
    shown = []
    run(job("bar"), shown.append)
    assert shown[-1] == "100%"


@pytest.mark.parametrize(("what", "stop"), [("wait", "interrupt"), ("deaf", "kill")])
def test_interrupt_lets_the_job_save_and_kill_does_not_wait(job, what, stop):
    one = job(what)
    claim_job(one)
    running = JobProcess(one)
    found = []
    thread = threading.Thread(target=lambda: found.append(running.run(lambda line: None)))
    thread.start()
    wait_for(one.directory / "waiting")
    getattr(running, stop)()
    thread.join(timeout=20)
    assert found == ["interrupted"]
    assert ("saved" in one.log.read_text()) == (stop == "interrupt")
    assert read_status(one.directory)["status"] == "interrupted"


def test_two_processes_never_train_in_one_directory(job):
    one = job()
    claim_job(one)
    with one.log.open("ab") as log:
        hold(log, one)
        with pytest.raises(DirectoryInUseError, match="another process"):
            JobProcess(one).run(lambda line: None)
    assert JobProcess(one).run(lambda line: None) == "completed"


def test_a_job_that_lives_on_another_machine_is_waited_for(job, on_node7, monkeypatch):
    one, shown = job(), []
    claim_job(one)
    on_node7(one, 40)
    with pytest.raises(
        DirectoryInUseError, match=r"is training in it on node7, last sign \d+ s ago"
    ):
        JobProcess(one).run(shown.append)
    assert read_status(one.directory)["host"] == "node7"
    answers = iter(["on node7, last sign 90 s ago"] * 2)
    monkeypatch.setattr(process, "works_elsewhere", lambda directory: next(answers, None))
    assert JobProcess(one, wait=True).run(shown.append) == "completed"
    assert shown[0] == "running on node7, last sign 90 s ago: waiting for it"
    assert list(answers) == []
    assert read_status(one.directory)["attempts"] == 2


def test_several_devices_are_a_process_each_under_torchrun(job):
    command = process._command(job(devices=2))
    assert command[1:5] == ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    assert command[5:] == ["-m", "stand_in_job", str(job().directory)]
