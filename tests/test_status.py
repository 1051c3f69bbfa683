import json

from posexp.status import begin, failed_rank, read_status, record, record_rank


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
