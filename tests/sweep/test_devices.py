"""Jobs with several processes each, inside a multirun: the public command, and nothing stood in."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from posexp.training.checkpoints import model_weights, read_checkpoint

#: Python imports this at its start: every rank of a job leaves what it was started with.
SITECUSTOMIZE = """
import json, os, sys
if "LOCAL_RANK" in os.environ:
    seen = {"job": sys.orig_argv[-1], "rank": os.environ["RANK"], "world": os.environ["WORLD_SIZE"]}
    with open(os.path.join(os.environ["SEEN"], str(os.getpid())), "w") as file:
        json.dump(seen, file)
"""
TINY = [
    *("tracking=csv", "model.d_model=16", "model.n_heads=2", "model.n_layers=1", "data=text"),
    *("trainer.context_length=16", "trainer.max_steps=4", "trainer.batch_size=4"),
    *("trainer.val_every=2", "trainer.accelerator=cpu", "trainer.threads=1"),
    *("evaluation.targets=4", "evaluation.anchors=2", "evaluation.lengths=[16]"),
    *("evaluation.literature_windows=1", "evaluation.curve_windows=1"),
]


@pytest.fixture
def start(tmp_path, text):
    """`start("scheme=rope")`: the running command; what ranks leave is in tmp_path/seen."""
    (tmp_path / "seen").mkdir()
    (tmp_path / "sitecustomize.py").write_text(SITECUSTOMIZE)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "SEEN": str(tmp_path / "seen")}
    running = []

    def run(*arguments):
        given = {argument.partition("=")[0] for argument in arguments}
        tiny = [setting for setting in TINY if setting.partition("=")[0] not in given]
        command = [*arguments, *tiny, f"data.path={text}"]
        with (tmp_path / "output").open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "posexp.cli", "train", *command],
                cwd=tmp_path,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        running.append(process)
        return process

    def finished(process, code=0):
        output = tmp_path / "output"
        assert process.wait() == code, output.read_text()
        return output.read_text()

    run.finished = finished
    yield run
    for process in running:
        process.kill()
        process.wait()


def started(tmp_path):
    """{directory: [(rank, world size), ...]}."""
    found = {}
    for path in (tmp_path / "seen").iterdir():
        seen = json.loads(path.read_text())
        found.setdefault(seen["job"], []).append((int(seen["rank"]), int(seen["world"])))
    return {job: sorted(ranks) for job, ranks in found.items()}


def training(job):
    return json.loads((job / "result.json").read_text())["training"]


def test_two_processes_a_job_in_a_multirun(start, tmp_path):
    """P33: one sweep directory, two job directories, every rank the same one and its config."""
    start.finished(start("-m", "scheme=rope,alibi", "trainer.devices=2", "hydra.sweep.dir=s"))
    made = {p.name for p in tmp_path.iterdir() if p.is_dir()}
    assert made == {"s", "seen"}
    jobs = [tmp_path / "s" / name for name in ("0_rope_full_seed0", "1_alibi_full_seed0")]
    assert [p for p in sorted((tmp_path / "s").iterdir()) if (p / "config.json").exists()] == jobs
    assert started(tmp_path) == {str(job): [(0, 2), (1, 2)] for job in jobs}
    for job, scheme in zip(jobs, ("rope", "alibi"), strict=True):
        assert json.loads((job / "status.json").read_text())["status"] == "completed"
        config = read_checkpoint(job)["posexp"]["config"]
        assert config["scheme"]["name"] == scheme
        assert config["trainer"]["devices"] == 2
        assert (job / "console.log").read_text().count("(2 device(s), 1 thread(s))") == 2


@pytest.mark.slow
def test_one_and_two_devices_in_one_sweep_train_the_same(start, tmp_path):
    """A job of two processes after one of one, and before it: no job inherits another's group."""
    where = ["hydra.sweep.dir=s", "hydra.sweep.subdir=${seed}_${trainer.devices}"]
    where += ["trainer.precision=32-true"]  # other shapes round differently in bfloat16
    start.finished(start("-m", "scheme=t5", "seed=0,1", "trainer.devices=1,2", *where))
    ranks = {1: None, 2: [(0, 2), (1, 2)]}
    for seed in (0, 1):
        one, two = (tmp_path / "s" / f"{seed}_{n}" for n in (1, 2))
        assert [started(tmp_path).get(str(job)) for job in (one, two)] == list(ranks.values())
        for metric in ("train_loss", "val_bits_per_byte"):
            assert training(two)[metric] == pytest.approx(training(one)[metric], rel=1e-5)
        for name, weight in model_weights(read_checkpoint(one)).items():
            other = model_weights(read_checkpoint(two))[name]
            torch.testing.assert_close(other, weight, atol=1e-5, rtol=1e-3)


def short_documents():
    """Training documents of 1 to 15 letters, so that windows differ in the number of targets."""
    random = np.random.default_rng(1)
    sizes = [("train", n) for n in random.integers(1, 16, 60)] + [("val", 300), ("test", 600)]
    return "\n".join(
        json.dumps({"split": split, "text": "".join(random.choice(list("abcdefgh "), n))})
        for split, n in sizes
    )


def logged(job, metric):
    with (job / "metrics.csv").open(newline="") as lines:
        return [float(row[metric]) for row in csv.DictReader(lines) if row[metric]]


@pytest.mark.slow
def test_ddp_and_fsdp2_in_a_multirun_train_as_one_process_on_the_joined_batch(
    start, tmp_path, text
):
    """Right directories, right world size, the same losses at every step; ranks share unequally."""
    text.write_text(short_documents())
    line = ["-m", "scheme=t5", "trainer.log_every=1", "trainer.precision=32-true"]
    # A large eps: else Adam's first steps divide rounding errors by themselves.
    line += ["optimizer.eps=1e-3", "hydra.sweep.subdir=${trainer.strategy}"]
    start.finished(start(*line, "hydra.sweep.dir=one"))
    two = ["trainer.devices=2", "trainer.strategy=ddp,fsdp2", "hydra.sweep.dir=two"]
    start.finished(start(*line, *two))
    assert {p.name for p in tmp_path.iterdir() if p.is_dir()} == {"one", "two", "seen"}
    one, jobs = tmp_path / "one" / "auto", [tmp_path / "two" / name for name in ("ddp", "fsdp2")]
    for sweep, inside in (("one", [one]), ("two", jobs)):
        assert sorted(path.parent for path in (tmp_path / sweep).rglob("config.json")) == inside
    assert started(tmp_path) == {str(job): [(0, 2), (1, 2)] for job in jobs}
    expected = model_weights(read_checkpoint(one))
    for job in jobs:
        trainer = read_checkpoint(job)["posexp"]["config"]["trainer"]
        assert (trainer["devices"], trainer["strategy"]) == (2, job.name)
        for metric, count in (("train/loss", 4), ("val/bits_per_byte", 2)):
            assert len(logged(job, metric)) == count
            assert logged(job, metric) == pytest.approx(logged(one, metric), rel=1e-5)
        got = model_weights(read_checkpoint(job))
        assert got.keys() == expected.keys()
        for name, weight in expected.items():
            torch.testing.assert_close(got[name], weight, atol=1e-5, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["ddp", "fsdp2"])
def test_ctrl_c_saves_a_job_of_two_processes_and_it_goes_on(start, tmp_path, strategy):
    """Each process gets the signal twice, from the launcher and from torchrun."""
    settings = ["scheme=t5", "trainer.devices=2", f"trainer.strategy={strategy}"]
    long = [*settings, "trainer.max_steps=400", "trainer.checkpoint_every=10000"]
    long += ["trainer.val_every=null"]
    job = tmp_path / "job"
    running = start(*long, f"hydra.run.dir={job}")
    while "step 40/" not in (tmp_path / "output").read_text():
        assert running.poll() is None
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    assert "posexp train --resume" in start.finished(running, 130)
    assert json.loads((job / "status.json").read_text())["status"] == "interrupted"
    assert read_checkpoint(job)["global_step"] >= 40
    subprocess.run([sys.executable, "-m", "posexp.cli", "train", "--resume", str(job)], check=True)
    assert training(job)["resumed"] is True
    start.finished(start(*long, "hydra.run.dir=whole"))
    expected = model_weights(read_checkpoint(tmp_path / "whole"))
    for name, weight in model_weights(read_checkpoint(job)).items():
        assert torch.equal(weight, expected[name]), name
