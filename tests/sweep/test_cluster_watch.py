"""What is said of jobs of a cluster, with shell scripts in the place of its commands."""

import json

import pytest

import posexp.report
from posexp.files import write_json
from posexp.sweep import cluster_watch
from posexp.sweep.cluster_watch import ClusterSilentError
from posexp.sweep.jobs import read_status
from posexp.sweep.train import resume, train

LINE = [
    *("trainer.accelerator=cpu", "trainer.threads=1", "trainer.precision=32-true", "tracking=csv"),
    *("trainer.context_length=64", "evaluation.targets=16"),
]
UNREACHABLE = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"


def place(number):
    return type("Place", (), {"job_id": number})()


def test_a_cluster_that_has_vanished_is_not_waited_for_for_ever(job, monkeypatch, commands, capsys):
    """What the jobs themselves say is believed meanwhile; an interrupted one may be requeued."""
    monkeypatch.setattr(cluster_watch, "EVERY", 0.01)
    monkeypatch.setattr(cluster_watch, "SILENCE", 0.2)
    failing = f"echo >&2; echo '{UNREACHABLE}' >&2; exit 1"
    commands(squeue=failing, sacct=failing)
    said = ("completed", "failed", "interrupted", "running")
    jobs = [job(name=f"{number}_job") for number in range(4)]
    for one, status in zip(jobs, said, strict=True):
        write_json(one.directory / "status.json", {"status": status})
    places = {one.name: place(str(number)) for number, one in enumerate(jobs)}
    with pytest.raises(ClusterSilentError, match=r"^squeue: .*\(connect failure\), for \d\S* s$"):
        cluster_watch.watch(jobs, places)
    told = [f"posexp: the cluster does not answer, asking again: squeue: {UNREACHABLE}"]
    assert capsys.readouterr().out.splitlines() == [
        *told, "0_job completed (0)", "1_job failed (1)"
    ]  # fmt: skip
    assert [read_status(one.directory)["status"] for one in jobs] == list(said)
    cluster_watch.watch(jobs[:2], places)  # nothing is left to ask for


def test_a_cluster_that_answers_again_is_watched_on(job, monkeypatch, commands, capsys, tmp_path):
    monkeypatch.setattr(cluster_watch, "EVERY", 0)
    monkeypatch.setattr(cluster_watch, "PATIENCE", 1)
    one = job()
    one.directory.mkdir()
    commands(squeue=f"cd {tmp_path}; if [ -e asked ]; then exit 0; fi; touch asked; exit 3")
    cluster_watch.watch([one], {one.name: place("7")})
    assert capsys.readouterr().out.splitlines() == [
        "posexp: the cluster does not answer, asking again: squeue: exit code 3",
        "posexp: the cluster answers again",
        "0_job interrupted (7)",
    ]


def test_a_sweep_whose_cluster_vanished_is_gone_on_with(tmp_path, monkeypatch, commands, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(posexp.report, "report", lambda directory, console: None)
    monkeypatch.setattr(cluster_watch, "EVERY", 0.05)
    monkeypatch.setattr(cluster_watch, "SILENCE", 0.1)
    asked, job = tmp_path / "asked", tmp_path / "s" / "0_rope_full_seed0"
    commands(
        srun="",
        sbatch=f"echo once >> {tmp_path}/submitted; echo Submitted batch job 7",
        squeue=f"echo '{UNREACHABLE}' >&2; exit 1",
    )
    line = ["hydra/launcher=slurm", "hydra.sweep.dir=s", *LINE]
    again = f"posexp sweep resume {tmp_path}/s"
    for start in (lambda: train(line, multirun=True), lambda: resume(tmp_path / "s")):
        with pytest.raises(ValueError, match=f"the cluster does not answer .*{again} finds them"):
            start()
        assert json.loads((job / "cluster.json").read_text()) == {"slurm": "7"}
    write_json(tmp_path / "done.json", {"status": "completed"})
    done = f"touch {asked}; cp {tmp_path}/done.json {job}/status.json"
    commands(squeue=f"if [ -e {asked} ]; then echo 7 COMPLETED; else {done}; echo 7 RUNNING; fi")
    assert resume(tmp_path / "s") == 0
    assert (tmp_path / "submitted").read_text() == "once\n"
    assert f"{job.name} completed (7)" in capsys.readouterr().out


def test_a_job_that_left_without_a_word_is_given_up_and_can_be_gone_on_with(job, monkeypatch):
    monkeypatch.setattr(cluster_watch, "EVERY", 0)
    states = iter([{"7": "PENDING"}, {"7": "RUNNING"}, {"7": "COMPLETING"}])
    monkeypatch.setattr(cluster_watch, "squeue", lambda: next(states, {"7": "CANCELLED"}))
    one = job()
    write_json(one.directory / "status.json", {"status": "running"})
    cluster_watch.watch([one], {one.name: place("7")})
    status = read_status(one.directory)
    assert status["status"] == "interrupted"
    assert "CANCELLED" in status["error"]
