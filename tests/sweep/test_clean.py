import pytest

from posexp.files import write_json
from posexp.status import record
from posexp.sweep.clean import clean
from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.locks import sweep_lock
from posexp.sweep.record import new_record, write_record


@pytest.fixture
def sweep(tmp_path, job):
    """A job that completed and one that was interrupted, each with everything it could have."""
    directory = tmp_path / "s"
    jobs = [job(name=f"s/{i}_job") for i in range(2)]
    write_record(directory, new_record(directory, jobs, []))
    for one, status in zip(jobs, ("completed", "interrupted"), strict=True):
        for name in (
            "checkpoints/last.ckpt",
            "wandb/run-1/run-1.wandb",
            "wandb/offline-run-1/run-1.wandb",
            "wandb/offline-run-2/run-2.wandb",
            "wandb/offline-run-2/run-2.wandb.synced",
            ".result.json.partial",
            "result.json",
            "console.log",
        ):
            (one.directory / name).parent.mkdir(parents=True, exist_ok=True)
            (one.directory / name).write_text("x" * 1000)
        write_json(one.directory / "config.json", one.config)
        record(one.directory, status, 0)
    return directory


def everything(directory):
    return {p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file()}


def test_it_shows_first_and_deletes_what_no_result_needs(sweep, capsys):
    before = everything(sweep)
    clean(sweep)
    shown = capsys.readouterr().out
    assert everything(sweep) - {"sweep.lock"} == before
    clean(sweep, delete=True)
    gone = before - everything(sweep)
    assert gone == {
        "0_job/checkpoints/last.ckpt",
        "0_job/wandb/run-1/run-1.wandb",
        "0_job/wandb/offline-run-2/run-2.wandb",
        "0_job/wandb/offline-run-2/run-2.wandb.synced",
        "0_job/.result.json.partial",
        "1_job/wandb/offline-run-2/run-2.wandb",
        "1_job/wandb/offline-run-2/run-2.wandb.synced",
        "1_job/.result.json.partial",
    }
    assert "0_job/checkpoints" in shown
    assert "--yes" in shown
    assert clean(sweep) == []


def test_nothing_is_deleted_while_the_sweep_is_at_work(sweep):
    with sweep_lock(sweep), pytest.raises(DirectoryInUseError, match="another posexp"):
        clean(sweep, delete=True)
    assert "0_job/checkpoints/last.ckpt" in everything(sweep)
