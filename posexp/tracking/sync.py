"""`posexp wandb sync DIR` uploads what was recorded offline: one run a job, however often resumed.

W&B's own `wandb sync` uploads a job's files one after the other, each with all its steps: those
that were trained twice would be in the history twice. So the files are joined into one first.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from posexp.sweep.jobs import is_at_work
from posexp.sweep.record import read_sweep
from posexp.tracking.mode import logged_in
from posexp.tracking.parts import Part, join_parts, parts_of


def sync(directory: Path) -> int:
    """Upload every run of a sweep, or of one job, that was recorded offline.

    Gives 0, or 1 if a run could not be uploaded; those are tried again the next time. Jobs that
    are still running are left out. Raises `ValueError` if `directory` is neither a sweep nor a
    job, or if nobody is logged in.
    """
    jobs = [(job, parts_of(job.directory)) for job in read_sweep(directory.absolute())]
    recorded = [(job, parts) for job, parts in jobs if any(part.offline for part in parts)]
    left = [(job, parts) for job, parts in recorded if not all(part.uploaded for part in parts)]
    if not left:
        print(f"posexp: {len(recorded)} offline runs in {directory}, and nothing left to upload")
        return 0
    if not logged_in():
        raise ValueError("nobody is logged in to W&B: wandb login, or set WANDB_API_KEY")
    done = failed = 0
    for number, (job, parts) in enumerate(left, start=1):
        what = f"[{number}/{len(left)}] {job.name}"
        if is_at_work(job.directory):
            print(f"{what} is running: left out", flush=True)
            continue
        print(f"{what}: {len(parts)} file(s) into run {parts[0].run.run_id}", flush=True)
        if upload(parts):
            done += 1
        else:
            failed += 1
            print(f"{what} was not uploaded: see above", file=sys.stderr, flush=True)
    print(f"posexp: {done} of {len(left)} runs uploaded")
    return 1 if failed else 0


def upload(parts: Sequence[Part]) -> bool:
    """Upload the parts of one run as a whole and mark them; whether that succeeded."""
    with tempfile.TemporaryDirectory(prefix="posexp-wandb-") as scratch:
        path = join_parts(parts, Path(scratch))
        subprocess.run(
            [sys.executable, "-m", "wandb", "sync", "--include-online", "--include-synced", path],
            cwd=scratch,
        )
        # W&B's client reports a failure in words and leaves this mark only where it succeeded.
        done = Part(path).synced
    if done:
        for part in parts:
            part.mark_synced()
    return done
