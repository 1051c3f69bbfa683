import os

import pytest
import pytorch_lightning as pl
import torch
from torch import nn

from posexp.training.checkpoints import (
    LAST,
    Checkpoints,
    PlainFiles,
    newest_checkpoint,
    read_checkpoint,
)
from posexp.training.fit import quiet_lightning


class Training:
    """What `Checkpoints` asks of a Trainer; each checkpoint is a file, or a directory of shards."""

    is_global_zero = True
    max_steps = 100

    def __init__(self, sharded=False):
        self.global_step = 0
        self.saves = 0
        self.strategy = self
        self.sharded = sharded

    def barrier(self):
        pass

    def save_checkpoint(self, path):
        self.saves += 1
        if self.sharded:
            path.mkdir(parents=True)
            path /= "meta.pt"
        content = {"global_step": self.global_step, "posexp": {}, "state_dict": {}}
        PlainFiles().save_checkpoint(content, path)


@pytest.fixture(params=[False, True], ids=["file", "sharded"])
def training(request):
    return Training(request.param)


def run(training, checkpoints, steps):
    for step in steps:
        training.global_step = step
        checkpoints.on_train_batch_end(training, None, None, None, step - 1)


def kept(directory):
    return sorted(path.name for path in (directory / LAST).parent.iterdir())


def step_of(path):
    file = path / "meta.pt" if path.is_dir() else path
    return torch.load(file, weights_only=True)["global_step"]


@pytest.mark.parametrize(
    ("keep", "earlier"),
    [(1, []), (2, ["step-000000008.ckpt"]), (9, ["step-000000004.ckpt", "step-000000008.ckpt"])],
)
def test_the_last_checkpoint_and_as_many_before_it_as_asked(tmp_path, training, keep, earlier):
    run(training, Checkpoints(tmp_path, 4, keep), range(1, 15))
    assert kept(tmp_path) == ["last.ckpt", *earlier]
    assert step_of(tmp_path / LAST) == 12
    assert training.saves == 3
    for name in earlier:
        assert step_of((tmp_path / LAST).with_name(name)) == int(name[5:14])
    assert not any("=" in name for name in kept(tmp_path))


@pytest.mark.parametrize("keep", [1, 3])
def test_at_any_moment_there_is_at_most_one_more(tmp_path, training, keep, monkeypatch):
    """What the disk guard counts with."""
    counts = []

    def counted(function):
        def changed(*arguments):
            function(*arguments)
            counts.append(len(kept(tmp_path)))

        return changed

    monkeypatch.setattr(os, "replace", counted(os.replace))
    training.save_checkpoint = counted(training.save_checkpoint)
    run(training, Checkpoints(tmp_path, 1, keep), range(1, 8))
    assert max(counts) == keep + 1


def test_one_step_is_saved_once_by_whatever_asks(tmp_path, training):
    """A stop, the end and every n-th step can fall together; a resumed job's is there already."""
    checkpoints = Checkpoints(tmp_path, 4, keep=3)
    training.max_steps = 8
    run(training, checkpoints, range(1, 9))
    checkpoints.save(training)
    checkpoints.on_train_end(training, None)
    assert training.saves == 2
    again = Checkpoints(tmp_path, 4, keep=3)
    again.on_load_checkpoint(training, None, {"global_step": 8})
    again.on_train_end(training, None)
    assert training.saves == 2


def test_the_end_is_saved_if_it_is_no_nth_step(tmp_path, training):
    checkpoints = Checkpoints(tmp_path, 4)
    run(training, checkpoints, range(1, 7))
    checkpoints.on_train_end(training, None)
    assert step_of(tmp_path / LAST) == 4  # stopped early, which is another callback's to save
    training.max_steps = 6
    checkpoints.on_train_end(training, None)
    assert step_of(tmp_path / LAST) == 6


def test_a_kill_at_any_moment_leaves_a_checkpoint_to_go_on_from(tmp_path, training, monkeypatch):
    """Dies before and after every change of a name, and while the new checkpoint is written."""

    class Killed(BaseException):
        pass

    moments, found = iter(range(10**6)), []

    def dying(function, at):
        def changed(*arguments):
            if next(moments) == at:
                raise Killed
            function(*arguments)
            if next(moments) == at:
                raise Killed

        return changed

    real_replace, real_save = os.replace, training.save_checkpoint
    for at in range(10**6):
        directory = tmp_path / str(at)
        run(training, Checkpoints(directory, 1, keep=2), range(1, 4))
        moments = iter(range(10**6))
        monkeypatch.setattr(os, "replace", dying(real_replace, at))
        training.save_checkpoint = dying(real_save, at)
        try:
            run(training, Checkpoints(directory, 1, keep=2), [4])
            died = False
        except Killed:
            died = True
        monkeypatch.setattr(os, "replace", real_replace)
        training.save_checkpoint = real_save
        found.append(step_of(newest_checkpoint(directory)))
        # The next save clears up.
        run(training, Checkpoints(directory, 1, keep=2), [5])
        assert len(kept(directory)) == 2
        assert step_of(directory / LAST) == 5
        if not died:
            break
    assert found == [3, 3, 3, 3, 3, 4, 4]


def test_a_checkpoint_that_was_cut_off_is_not_gone_on_from(tmp_path):
    assert newest_checkpoint(tmp_path) is None
    run(Training(), Checkpoints(tmp_path, 1, keep=3), range(1, 4))
    last = tmp_path / LAST
    last.write_bytes(last.read_bytes()[:-20])
    assert newest_checkpoint(tmp_path).name == "step-000000002.ckpt"
    assert read_checkpoint(tmp_path)["global_step"] == 2
    with pytest.raises(ValueError, match="not a readable checkpoint"):
        read_checkpoint(last)


def test_a_file_is_written_where_it_is_asked_for_and_nowhere_else(tmp_path, monkeypatch):
    """Lightning's own writer goes through the system's temporary directory."""
    monkeypatch.setattr("tempfile.mkstemp", None)
    quiet_lightning()
    trainer = pl.Trainer(accelerator="cpu", logger=False, plugins=[PlainFiles()])
    trainer.strategy.connect(pl.LightningModule())
    trainer.strategy.save_checkpoint({"a": torch.ones(2)}, tmp_path / "new" / "a.ckpt")
    assert torch.load(tmp_path / "new" / "a.ckpt", weights_only=True)["a"].tolist() == [1, 1]


def test_what_is_not_a_checkpoint_is_said(tmp_path):
    with pytest.raises(ValueError, match="no checkpoint at .*last.ckpt"):
        read_checkpoint(tmp_path)
    garbage = tmp_path / "garbage.ckpt"
    garbage.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not a readable checkpoint"):
        read_checkpoint(garbage)
    foreign = tmp_path / "foreign.ckpt"
    torch.save({"state_dict": nn.Linear(1, 1).state_dict()}, foreign)
    with pytest.raises(ValueError, match="posexp did not write it"):
        read_checkpoint(foreign)
