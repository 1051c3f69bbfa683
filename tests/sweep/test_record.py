import json

import pytest

from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.record import extended, new_record, read_record, read_sweep, write_record


def test_a_sweep_remembers_what_it_takes_to_go_on(tmp_path, job):
    directory = tmp_path / "s"
    identity = {"config_hash": "abc", "plugins": {"nope": "posexp 1"}}
    jobs = [
        job(name="s/0_a", overrides=["seed=0"], identity=identity),
        job(name="s/1_b", environment={"A": "1"}),
    ]
    write_record(directory, new_record(directory, jobs, ["posexp", "train", "-m"]))
    record = json.loads((directory / "sweep.json").read_text())
    assert record["jobs"] == ["0_a", "1_b"]
    assert record["command"] == ["posexp", "train", "-m"]
    assert record["created"].endswith("+00:00")
    assert read_sweep(directory) == jobs

    more = [job(name="s/2_c", seed=3)]
    write_record(directory, extended(read_record(directory), directory, more, ["again"]))
    assert read_sweep(directory) == jobs + more
    once_more = json.loads((directory / "sweep.json").read_text())["continued"]
    assert [(c["command"], c["added"]) for c in once_more] == [(["again"], ["2_c"])]


def test_a_sweep_that_an_older_posexp_began_can_be_read(tmp_path, job):
    one = job(name="s/0_a")
    columns = {"configs": [one.config], "overrides": [[]], "environments": [{}]}
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "sweep.json").write_text(
        json.dumps({"jobs": ["0_a"], "command": [], "created": "", **columns})
    )
    assert read_sweep(tmp_path / "s") == [one]
    assert read_record(tmp_path / "s")["launcher"]["name"] == "posexp"


def test_no_sweep_is_no_sweep(tmp_path):
    with pytest.raises(DirectoryInUseError, match=r"no sweep\.json"):
        read_record(tmp_path)
