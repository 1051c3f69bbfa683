import json

import pytest

from posexp.sweep.directory import claim_job, claimed_sweep, refuse_existing
from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.record import new_record, read_sweep, write_record


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


def test_of_two_sweeps_in_one_directory_the_second_is_refused(tmp_path, job):
    directory = tmp_path / "s"
    with claimed_sweep(directory) as claimed:
        assert claimed == directory
        said = "another posexp.*sweep status"
        with pytest.raises(DirectoryInUseError, match=said), claimed_sweep(directory):
            pass
        write_record(directory, new_record(directory, [job(name="s/0_a")], []))
    with pytest.raises(DirectoryInUseError, match="a sweep"), claimed_sweep(directory):
        pass


def test_two_sweeps_of_the_same_second_get_a_directory_each(tmp_path):
    with (
        claimed_sweep(tmp_path / "s", dated=True) as first,
        claimed_sweep(tmp_path / "s", dated=True) as second,
        claimed_sweep(tmp_path / "s", dated=True) as third,
    ):
        assert [p.name for p in (first, second, third)] == ["s", "s_2", "s_3"]


def test_what_a_start_left_that_was_killed_at_once_is_taken_over(tmp_path, job):
    with claimed_sweep(tmp_path / "s"):
        (tmp_path / "s" / ".sweep.json.partial").write_text("{")
    with claimed_sweep(tmp_path / "s"):
        pass
    one = job(name="s/0_a")
    one.directory.mkdir()
    (one.directory / ".config.json.partial").write_text("{")
    claim_job(one, resume=True)
    assert json.loads((one.directory / "config.json").read_text()) == one.config


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
