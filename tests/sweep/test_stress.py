"""A sweep in which everything goes wrong, its launcher too; the same command until it is done.

POSEXP_STRESS_KILLS says how many times the launcher is killed, 2 by default, and POSEXP_STRESS_SEED
at which moments; what they were is printed (`pytest -s`).
"""

import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time

import pytest
import torch

from posexp.training.checkpoints import model_weights, read_checkpoint

KILLS = int(os.environ.get("POSEXP_STRESS_KILLS", "2"))
SEED = int(os.environ.get("POSEXP_STRESS_SEED", secrets.randbelow(10**6)))
#: What the last rank of a job does in training; `_once` is done in the first attempt only.
DEEDS = ("none", "raise_once", "kill_once", "exit", "memory", "raise")
CAN_SUCCEED = ("none", "raise_once", "kill_once")
CAUSES = {"exit": "sys.exit(3)", "memory": "allocate memory", "raise": "RuntimeError: the deed"}

UNRULY = """\
import os, resource, signal, sys
from dataclasses import dataclass
from pathlib import Path

import torch

from posexp import PositionScheme, SchemeSpec, hookimpl

# Two layers: a step asks for two transformed queries.
AT = {"raise_once": 12, "kill_once": 12, "exit": 4, "memory": 4, "raise": 4}


@dataclass
class UnrulyConfig:
    deed: str = "none"


class Unruly(PositionScheme):
    calls = 0

    def transform_query(self, q, positions):
        if Path(sys.argv[0]).name == "job.py" and q.requires_grad and torch.is_grad_enabled():
            if self.calls == 0:
                with (Path(sys.argv[1]) / "starts").open("a") as starts:
                    starts.write("started\\n")
            self.calls += 1
            if self.calls == AT.get(self.config.deed):
                self.do(self.config.deed)
        return q

    def do(self, deed):
        if os.environ.get("RANK", "0") != str(int(os.environ.get("WORLD_SIZE", "1")) - 1):
            return
        done = Path(sys.argv[1]) / "done"
        if deed.endswith("_once"):
            if done.exists():
                return
            done.touch()
        if deed.startswith("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        if deed.startswith("raise"):
            raise RuntimeError("the deed")
        if deed == "exit":
            sys.exit(3)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**27, used + 2**27))
        torch.ones(2**30)


@hookimpl
def posexp_schemes():
    return [SchemeSpec("unruly", UnrulyConfig, Unruly)]
"""
TINY = [
    *("tracking=csv", "model.d_model=16", "model.n_heads=2", "model.n_layers=2", "data=text"),
    *("trainer.context_length=16", "trainer.max_steps=20", "trainer.batch_size=2"),
    *("trainer.val_every=null", "trainer.accelerator=cpu", "trainer.threads=1"),
    *("trainer.checkpoint_every=4", "evaluation.targets=4", "evaluation.anchors=2"),
    *("evaluation.lengths=[16]", "evaluation.literature_windows=1", "evaluation.curve_windows=1"),
    *("scheme=unruly", "model.dropout=0.1", "trainer.precision=32-true"),
]


def launch(directory, text, plugin, deeds):
    words = ["train", "--plugin", str(plugin), "-m", *TINY, f"data.path={text}"]
    swept = [
        f"scheme.deed={','.join(deeds)}",
        "trainer.devices=1,2",
        f"hydra.sweep.dir={directory}",
    ]
    with (directory.parent / f"{directory.name}.log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "posexp.cli", *words, *swept, "hydra.launcher.n_jobs=2"],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def states(directory):
    command = [sys.executable, "-m", "posexp.cli", "sweep", "status", str(directory), "--json"]
    ran = subprocess.run(command, capture_output=True, text=True)
    return json.loads(ran.stdout)["jobs"] if ran.returncode == 0 else []


def kind(directory, row):
    config = json.loads((directory / row["job"] / "config.json").read_text())
    return config["scheme"]["deed"], config["trainer"]["devices"]


@pytest.mark.slow
def test_nothing_is_lost_at_any_kill_point(text, tmp_path):
    plugin = tmp_path / "unruly.py"
    plugin.write_text(UNRULY)
    calm, wild = tmp_path / "calm", tmp_path / "wild"
    assert launch(calm, text, plugin, ["none"]).wait() == 0
    expected = {
        kind(calm, row)[1]: model_weights(read_checkpoint(calm / row["job"]))
        for row in states(calm)
    }

    done, told = {}, []

    def note_what_is_done():
        for row in states(wild):
            if row["state"] == "completed":
                starts = (wild / row["job"] / "starts").read_text()
                result = (wild / row["job"] / "result.json").stat().st_mtime_ns
                # No job runs twice after success.
                assert done.setdefault(row["job"], (starts, result)) == (starts, result), told

    moments = random.Random(SEED)
    print(f"\nPOSEXP_STRESS_SEED={SEED}")
    for _ in range(KILLS):
        launcher, log = launch(wild, text, plugin, DEEDS), tmp_path / "wild.log"
        # In the middle of some job, or before the first.
        starts, seconds = moments.randint(0, 5), moments.uniform(0, 15)
        awaited = log.read_text().count(" starts\n") + starts
        while log.read_text().count(" starts\n") < awaited and launcher.poll() is None:
            time.sleep(0.05)
        time.sleep(seconds)
        died_before = launcher.poll()
        os.kill(launcher.pid, signal.SIGKILL)
        launcher.wait()
        at = f"killed {seconds:.1f} s after {starts} starts"
        told.append((at, died_before, [row["state"] for row in states(wild)]))
        note_what_is_done()
    for _ in range(3):  # the deeds that are done once make up to two starts fail
        code = launch(wild, text, plugin, DEEDS).wait()
        told.append((code, [row["state"] for row in states(wild)]))
        note_what_is_done()
        if len(done) == len(CAN_SUCCEED) * 2:
            break
    print(*told, sep="\n")

    log = (tmp_path / "wild.log").read_text()
    assert code == 1, log
    rows = states(wild)
    assert len(rows) == len(DEEDS) * 2
    for row in rows:
        deed, devices = kind(wild, row)
        if deed in CAN_SUCCEED:
            assert row["state"] == "completed", (row, told)
            got = model_weights(read_checkpoint(wild / row["job"]))
            assert got.keys() == expected[devices].keys()
            for name, weight in expected[devices].items():
                assert torch.equal(got[name], weight), (row["job"], name, told)
        else:
            assert row["state"] == "failed", (row, told)
            assert CAUSES[deed] in row["cause"], row
            assert f"{row['job']} failed: {row['cause']}" in log
            assert row["log"] in log
