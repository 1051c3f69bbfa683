"""P35, P36: a job that is resumed is one run, whose steps never go back."""

import json

import pytest

from posexp.tracking.parts import join_parts, parts_of

TIMES = ("_timestamp", "_runtime", "train/tokens_per_second", "train/peak_memory_gib")


def history(found):
    """A file's history without what differs from one run of the same job to the next."""
    plain = []
    for row in found.history:
        values = {k: v for k, v in row.items() if k not in TIMES and "artifact" not in k}
        plain.append(values)
    return plain


@pytest.fixture
def joined(tmp_path, recorded):
    def join(job):
        directory = tmp_path / "joined"
        directory.mkdir()
        return recorded(join_parts(parts_of(job), directory))

    return join


def test_a_resumed_job_becomes_the_run_that_an_unbroken_one_is(
    tracked, tmp_path, run, recorded, joined, die_at
):
    """Checkpoints at 2 and 4: it dies at step 3, and again at step 5, when 3 is there twice."""
    config = tracked(trainer={"log_every": 1, "val_every": 2})
    assert run(tmp_path / "whole", config) == 0
    job = tmp_path / "job"
    die_at(3)
    assert run(job, config) == 1
    die_at(3)
    assert run(job) == 1
    assert run(job) == 0
    parts = recorded(job)
    run_id = json.loads((job / "provenance.json").read_text())["run_id"]
    assert [part.run["run_id"] for part in parts] == [run_id] * 3
    assert [part.exit_codes for part in parts] == [[1], [1], [0]]
    assert parts[1].steps[0] <= parts[0].steps[-1]  # the trap: they overlap

    found = joined(job)
    assert found.steps == sorted(set(found.steps))
    (unbroken,) = recorded(tmp_path / "whole")
    assert history(found) == history(unbroken)
    assert found.exit_codes == [0]
    assert found.run["run_id"] == run_id
    assert found.summary["outcome/status"] == "completed"
    assert found.summary["outcome/error"] is None
    assert found.config | {"_wandb": 0} == unbroken.config | {"_wandb": 0}
    runtimes = [row["_runtime"] for row in found.history]
    assert runtimes == sorted(runtimes)
    assert len(found.of("header")) == 1
    # Tables lie beside the file, under the names that it has for them.
    for files in found.of("files"):
        for file in files["files"]:
            assert (tmp_path / "joined" / "files" / file["path"]).is_file(), file


def test_a_part_that_was_cut_off_has_no_end_and_does_not_hide_steps(
    tracked, tmp_path, run, joined, die_at
):
    """As after kill -9: the last rows were never written."""
    job = tmp_path / "job"
    die_at(3)
    run(job, tracked(trainer={"log_every": 1}))
    (part,) = parts_of(job)
    part.path.write_bytes(part.path.read_bytes()[:-400])
    found = joined(job)
    assert found.exit_codes == []  # W&B uploads such a run as failed
    assert found.steps
    (tmp_path / "joined" / part.path.name).unlink()
    (tmp_path / "joined").rename(tmp_path / "before")
    assert run(job) == 0
    found = joined(job)
    assert found.exit_codes == [0]
    assert [n for n in found.steps if n <= 6] == list(range(7))[found.steps[0] :]


def test_an_empty_file_is_no_part(tmp_path):
    empty = tmp_path / "wandb" / "offline-run-1" / "run-x.wandb"
    empty.parent.mkdir(parents=True)
    empty.write_bytes(b":W&B\xe1\xbe\x00")
    assert parts_of(tmp_path) == []
