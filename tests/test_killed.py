"""kill -9 at random steps, in real processes: the resumed weights equal an unbroken run's."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from posexp.training.checkpoints import LAST, model_weights, read_checkpoint

HARD = {
    "trainer": {"accumulate": 2, "precision": "bf16-mixed", "max_steps": 20, "checkpoint_every": 4},
    "model": {"dropout": 0.1},
}
#: Runs a job and kills its own process, as `kill -9` would, in the middle of a micro-batch.
KILLED = """
import os, signal, sys
from posexp.training.module import LanguageModule
at, step = int(sys.argv[2]), LanguageModule.training_step
calls = iter(range(10**9))
def killed(self, batch, batch_idx):
    loss = step(self, batch, batch_idx)
    if next(calls) == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return loss
LanguageModule.training_step = killed
from posexp.job import main
sys.exit(main([sys.argv[1]]))
"""


def run(directory, *code):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *code], env=environment, capture_output=True, text=True, cwd=directory
    )


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["rope", "t5"])
def test_killed_at_five_random_steps(make_config, tmp_path, scheme):
    config = make_config(scheme={"name": scheme}, **HARD)

    def start(name):
        directory = tmp_path / name
        directory.mkdir()
        (directory / "config.json").write_text(json.dumps(config))
        return directory

    whole = start("whole")
    assert run(whole, "-m", "posexp.job", str(whole)).returncode == 0
    expected = model_weights(read_checkpoint(whole))

    random = np.random.default_rng()
    # 40 micro-batches; a checkpoint after every 8th. Never right at one.
    spots = random.choice([n for n in range(40) if n % 8 not in (0, 7)], 5, replace=False)
    for spot in map(int, spots):
        directory = start(f"killed_{spot}")
        died = run(directory, "-c", KILLED, str(directory), str(spot))
        assert died.returncode == -signal.SIGKILL, died.stderr
        assert json.loads((directory / "status.json").read_text())["status"] == "running"
        if spot >= 8:
            assert read_checkpoint(directory)["global_step"] == spot // 8 * 4
        resumed = run(directory, "-m", "posexp.job", str(directory))
        assert resumed.returncode == 0, resumed.stderr
        got = model_weights(torch.load(directory / LAST, weights_only=True))
        assert got.keys() == expected.keys()
        for name, weight in expected.items():
            assert torch.equal(got[name], weight), f"killed at micro-batch {spot}: {name} differs"
