"""P34 with nothing stood in: the public command, several processes a job, real files."""

import json
import os
import subprocess
import sys

import pytest

TINY = [
    *("model.d_model=16", "model.n_heads=2", "model.n_layers=1", "data=text", "scheme=nope"),
    *("trainer.context_length=16", "trainer.max_steps=4", "trainer.batch_size=4"),
    *("trainer.val_every=2", "trainer.accelerator=cpu", "trainer.threads=1"),
    *("trainer.log_every=1", "evaluation.targets=4", "evaluation.anchors=2"),
    *("evaluation.lengths=[16]", "evaluation.literature_windows=1", "evaluation.curve_windows=1"),
    "hydra.sweep.dir=out",
]


@pytest.mark.slow
def test_three_jobs_of_two_ranks_are_three_runs_one_after_the_other(tmp_path, text, recorded):
    command = ["-m", "posexp.cli", "train", "-m", "seed=0,1,2", "trainer.devices=2"]
    done = subprocess.run(
        [sys.executable, *command, *TINY, f"data.path={text}"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = [tmp_path / "out" / name for name in json.loads(
        (tmp_path / "out" / "sweep.json").read_text())["jobs"]]  # fmt: skip
    found = [part for job in jobs for part in recorded(job)]
    assert [part.run["display_name"] for part in found] == [f"nope-seed{n}" for n in range(3)]
    assert len({part.run["run_id"] for part in found}) == 3
    for part in found:
        assert part.run["run_group"] == "out"
        assert part.exit_codes == [0]
        assert part.steps == sorted(set(part.steps))
        assert {row["_step"] for row in part.history if "train/loss" in row} == {0, 1, 2, 3}
    begun = [part.history[0]["_timestamp"] for part in found]
    ended = [part.history[-1]["_timestamp"] for part in found]
    assert all(end < begin for end, begin in zip(ended[:-1], begun[1:], strict=True))
    assert done.stdout.count("W&B: offline") == 3  # said by the first rank alone
    assert "anonymous" not in done.stdout + done.stderr
