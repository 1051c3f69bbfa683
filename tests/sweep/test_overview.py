import io

import pytest
from rich.console import Console

from posexp.cli import main
from posexp.status import begin, record
from posexp.sweep.directory import claim_job
from posexp.sweep.locks import lock, sweep_lock
from posexp.sweep.overview import look, print_overview
from posexp.sweep.record import new_record, write_record


@pytest.fixture
def sweep(tmp_path, job):
    directory = tmp_path / "s"
    jobs = [job(name=f"s/{i}_job", seed=i) for i in range(4)]
    for one in jobs:
        one.config["trainer"]["max_steps"] = 20
    write_record(directory, new_record(directory, jobs, []))
    for one in jobs[:3]:
        claim_job(one)
        begin(one.directory, config_hash="abc")
        one.log.write_text("step 5/20  loss 3.250  9 tokens/s  1 s left\n")
    record(jobs[0].directory, "failed", 1, "KeyError: 'x'")
    return directory, jobs


def test_every_state_is_told_from_the_disk(sweep):
    directory, jobs = sweep
    with sweep_lock(directory), jobs[1].log.open("ab") as log:
        lock(log, "")
        overview = look(directory)
        assert overview["running"]
        states = [row["state"] for row in overview["jobs"]]
        assert states == ["failed", "running", "interrupted", "queued"]
    overview = look(directory)
    assert not overview["running"]
    rows = overview["jobs"]
    assert [row["state"] for row in rows[1:]] == ["interrupted", "interrupted", "not started"]
    assert (rows[1]["step"], rows[1]["percent"], rows[1]["loss"]) == (5, 25.0, 3.25)
    assert "vanished" in rows[1]["cause"]
    assert (rows[0]["cause"], rows[0]["returncode"]) == ("KeyError: 'x'", 1)
    assert rows[0]["log"] == str(jobs[0].log)
    assert rows[0]["config_hash"] == "abc"
    assert (rows[0]["attempts"], rows[3]["attempts"]) == (1, 0)


def test_the_table_says_it_and_how_to_go_on(sweep, capsys):
    directory, _ = sweep
    out = io.StringIO()
    print_overview(look(directory), Console(file=out, width=120))
    text = out.getvalue()
    for part in ("3_job", "not started", "25 %", "3.250", "0_job failed: KeyError: 'x'"):
        assert part in text
    assert f"go on: posexp sweep resume {directory}" in text
    assert main(["sweep", "status", str(directory)]) == 0
    assert "1 failed, 2 interrupted, 1 not started" in capsys.readouterr().out


def test_where_a_job_runs_that_no_lock_tells_of(sweep, on_node7, capsys):
    directory, jobs = sweep
    on_node7(jobs[1], 40)
    assert main(["sweep", "status", str(directory)]) == 0
    assert "1_job runs on node7, last sign " in capsys.readouterr().out
    rows = look(directory)["jobs"]
    assert (rows[1]["state"], rows[1]["host"]) == ("running", "node7")
    assert rows[2]["last_sign"] is None


def test_a_single_run_is_a_sweep_of_one_and_nothing_is_an_error(tmp_path, job, capsys):
    one = job()
    claim_job(one)
    assert [row["state"] for row in look(one.directory)["jobs"]] == ["not started"]
    assert main(["sweep", "status", str(tmp_path / "none")]) == 2
    assert "not the directory of a sweep" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["sweep", "statsu", "x"])
    assert "did you mean 'status'" in capsys.readouterr().err
