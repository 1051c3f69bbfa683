import json
import os
import time

from posexp import status
from posexp.status import (
    begin,
    failed_rank,
    last_sign,
    read_status,
    record,
    record_rank,
    signs_of_life,
)


def test_attempts_are_counted_and_facts_stay(tmp_path):
    assert read_status(tmp_path)["status"] == "not started"
    assert begin(tmp_path, config_hash="abc") == 1
    record(tmp_path, "running", None)
    record(tmp_path, "failed", 1, "KeyError: 'x'")
    first = read_status(tmp_path)
    assert (first["status"], first["returncode"], first["error"]) == ("failed", 1, "KeyError: 'x'")
    assert first["config_hash"] == "abc"
    assert first["seconds"] >= 0
    assert first["started"] <= first["ended"]
    assert begin(tmp_path) == 2
    again = read_status(tmp_path)
    assert (again["status"], again["error"], again["ended"]) == ("running", None, None)


def test_a_status_without_a_start_and_half_a_file_are_no_trouble(tmp_path):
    record(tmp_path, "failed", 1, "no config")
    assert read_status(tmp_path)["seconds"] is None
    (tmp_path / "status.json").write_text('{"status": "comp')
    assert read_status(tmp_path)["status"] == "not started"
    record(tmp_path, "completed", 0)
    assert json.loads((tmp_path / "status.json").read_text())["status"] == "completed"


def test_the_rank_that_failed_first_is_the_cause(tmp_path):
    begin(tmp_path)
    record_rank(tmp_path, 1, "RuntimeError: boom")
    record_rank(tmp_path, 2, "the connection broke")
    assert failed_rank(tmp_path) == "rank 1: RuntimeError: boom"
    assert failed_rank(tmp_path) is None
    record(tmp_path, "failed", 1, "rank 0 was first")
    record_rank(tmp_path, 1, "the connection broke")
    assert failed_rank(tmp_path) is None


def test_a_job_gives_signs_of_life_as_long_as_it_lives(tmp_path, monkeypatch):
    monkeypatch.setattr(status, "BEAT", 0.01)
    begin(tmp_path)
    path = tmp_path / "status.json"
    with signs_of_life(tmp_path):
        for _ in range(2):
            os.utime(path, (1, 1))
            while path.stat().st_mtime == 1:
                time.sleep(0.01)
    os.utime(path, (1, 1))
    time.sleep(0.1)
    assert path.stat().st_mtime == 1


def test_the_last_sign_is_of_a_job_that_runs_on_another_machine(tmp_path, monkeypatch):
    assert last_sign(tmp_path) is None
    begin(tmp_path)
    assert last_sign(tmp_path) is None  # of this machine
    monkeypatch.setattr(status.socket, "gethostname", lambda: "node7")
    begin(tmp_path)
    monkeypatch.undo()
    os.utime(tmp_path / "status.json", (0, time.time() - 40))
    host, seconds = last_sign(tmp_path)
    assert host == "node7"
    assert seconds >= 40
    record(tmp_path, "interrupted", 130)
    assert last_sign(tmp_path) is None
