import shutil
from types import SimpleNamespace

import pytest

from posexp.job import check_job, run_job
from posexp.sweep.disk import DiskSpaceError, check_disk
from posexp.sweep.jobs import Job
from posexp.sweep.prepare import needs
from posexp.training.checkpoints import LAST, Checkpoints


def test_room_is_asked_for_where_the_sweep_will_be(tmp_path, monkeypatch):
    asked = []

    def usage(path):
        asked.append(path)
        return SimpleNamespace(free=5_000_000_000)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    check_disk(tmp_path / "not" / "yet", [2_000_000_000] * 2)
    assert asked == [tmp_path]
    with pytest.raises(DiskSpaceError, match=r"about 6.0 GB.* has 5.0 GB free.*--ignore-disk"):
        check_disk(tmp_path, [2_000_000_000] * 3)


def bytes_in(directory):
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("keep", [1, 3])
def test_what_is_asked_for_is_what_a_run_holds_at_its_peak(
    make_config, tmp_path, monkeypatch, keep
):
    """The next checkpoint is written before the oldest one is deleted."""
    trainer = {"max_steps": 5, "checkpoint_every": 1, "keep_checkpoints": keep, "val_every": None}
    config = make_config(model={"d_model": 64, "n_layers": 4}, trainer=trainer)
    directory, held = tmp_path / "job", []
    publish = Checkpoints._publish

    def watched(checkpoints, partial, step):
        held.append((bytes_in(directory), bytes_in(partial.parent)))
        publish(checkpoints, partial, step)

    monkeypatch.setattr(Checkpoints, "_publish", watched)
    assert run_job(directory, config) == 0
    plan = check_job(config)
    everything, checkpoints = map(max, zip(*held, strict=True))
    assert checkpoints == pytest.approx((keep + 1) * plan.checkpoint_bytes, rel=0.05)
    assert max(everything, bytes_in(directory)) < needs(Job(directory, config), plan)
    left = bytes_in((directory / LAST).parent)
    assert left == pytest.approx(keep * plan.checkpoint_bytes, rel=0.05)
