import json

import pytest

from posexp.sweep.directory import (
    DirectoryInUseError,
    claim_job,
    claim_sweep,
    read_sweep,
    refuse_existing,
)


def test_new_and_empty_directories_are_free(tmp_path):
    refuse_existing(tmp_path)
    refuse_existing(tmp_path / "new")


@pytest.mark.parametrize(
    ("name", "said"), [("sweep.json", "a sweep"), ("config.json", "a job"), ("notes", "notes")]
)
def test_a_directory_that_holds_anything_is_refused_by_name(tmp_path, name, said):
    (tmp_path / name).touch()
    with pytest.raises(DirectoryInUseError, match=said) as caught:
        refuse_existing(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "--resume" in str(caught.value)


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(DirectoryInUseError, match="is a file"):
        refuse_existing(tmp_path / "x")


def test_a_sweep_remembers_what_it_takes_to_go_on(tmp_path, job):
    jobs = [job(name="s/0_a", overrides=["seed=0"]), job(name="s/1_b", environment={"A": "1"})]
    claim_sweep(tmp_path / "s", jobs, ["posexp", "train", "-m"])
    record = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert record["jobs"] == ["0_a", "1_b"]
    assert record["command"] == ["posexp", "train", "-m"]
    assert record["created"].endswith("+00:00")
    assert read_sweep(tmp_path / "s") == jobs
    with pytest.raises(DirectoryInUseError):
        claim_sweep(tmp_path / "s", jobs, [])


def test_a_job_is_claimed_once(job):
    one = job()
    claim_job(one)
    assert json.loads((one.directory / "config.json").read_text()) == one.config
    with pytest.raises(DirectoryInUseError, match="a job"):
        claim_job(one)
    claim_job(one, resume=True)


def test_a_single_run_is_read_as_one_job(job):
    one = job()
    claim_job(one)
    assert [(j.directory, j.config) for j in read_sweep(one.directory)] == [
        (one.directory, one.config)
    ]


def test_any_other_directory_cannot_be_gone_on_with(tmp_path):
    with pytest.raises(DirectoryInUseError, match=r"no sweep\.json and no config\.json"):
        read_sweep(tmp_path)
