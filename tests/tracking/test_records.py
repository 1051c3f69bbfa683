"""W&B's files read and written: the second source is W&B's own reader and writer."""

import pytest

from posexp.tracking.records import read_records, write_records


@pytest.fixture
def log(tmp_path):
    """A real file whose records are longer than a block of 32 KiB, and shorter."""
    import wandb

    run = wandb.init(mode="offline", dir=tmp_path, settings=wandb.Settings(silent=True))
    for step in range(40):
        run.log({"loss": step / 7, "text": "x" * (step * 2500)})
    run.finish(exit_code=3)
    wandb.teardown()  # the end of the file may wait for it
    (path,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    return path


def test_what_w_and_b_wrote_is_read_and_written_again(log, tmp_path):
    records = list(read_records(log))
    history = [r.history for r in records if r.HasField("history")]
    assert [h.step.num for h in history] == list(range(40))
    assert max(len(r.SerializeToString()) for r in records) > 2 * 32 * 1024
    assert records[-1].exit.exit_code == 3
    write_records(tmp_path / "copy.wandb", records)
    assert list(read_records(tmp_path / "copy.wandb")) == records


def test_w_and_b_reads_what_was_written(log, tmp_path, recorded):
    write_records(tmp_path / "copy.wandb", read_records(log))
    original, copy = recorded(log), recorded(tmp_path / "copy.wandb")
    assert [{**r, "num": 0} for r in copy.records] == [{**r, "num": 0} for r in original.records]
    assert [r["num"] for r in copy.records] == list(range(1, len(copy.records) + 1))


@pytest.mark.parametrize("left", [0.2, 0.5, 0.99])
def test_a_file_that_was_cut_off_is_read_up_to_there(log, left):
    whole = [r.SerializeToString() for r in read_records(log)]
    content = log.read_bytes()
    for tail in (b"", b"\0" * 100):  # a file system may have made room and written nothing
        log.write_bytes(content[: int(left * len(content))] + tail)
        found = [r.SerializeToString() for r in read_records(log)]
        assert 0 < len(found) < len(whole)
        assert found == whole[: len(found)]


def test_damage_and_other_files_are_errors(log, tmp_path):
    content = bytearray(log.read_bytes())
    content[200] ^= 1
    log.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged at byte"):
        list(read_records(log))
    (tmp_path / "other").write_text("something else")
    with pytest.raises(ValueError, match="not a file that W&B wrote"):
        list(read_records(tmp_path / "other"))
