import pytest

from posexp.sweep.clean import clean
from posexp.sweep.directory import claim_job
from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.jobs import job_state, last_line, last_traceback, read_status
from posexp.sweep.locks import lock

LOG = """\
step 1
Traceback (most recent call last):
  File "a.py", line 1, in f
KeyError: 'first'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 2, in g
    raise ValueError
ValueError: second
bye
"""


def test_the_last_traceback_ends_with_its_exception(tmp_path):
    log = tmp_path / "console.log"
    log.write_text(LOG)
    assert last_traceback(log).splitlines() == [
        "Traceback (most recent call last):",
        '  File "a.py", line 2, in g',
        "    raise ValueError",
        "ValueError: second",
    ]
    assert last_line(log) == "bye"


def test_a_long_traceback_keeps_its_end(tmp_path):
    log = tmp_path / "console.log"
    frames = "".join(f"  frame {i}\n" for i in range(500))
    log.write_text(f"Traceback (most recent call last):\n{frames}RecursionError: deep\n")
    lines = last_traceback(log).splitlines()
    assert len(lines) == 30
    assert lines[-2:] == ["  frame 499", "RecursionError: deep"]


def test_no_log_and_no_status_are_said_plainly(tmp_path):
    assert last_traceback(tmp_path / "none") is None
    assert last_line(tmp_path / "none") is None
    assert read_status(tmp_path)["status"] == "not started"


def test_a_job_of_another_machine_lives_as_long_as_it_gives_signs(job, on_node7):
    """Where no lock reaches from there to here."""
    one = job()
    claim_job(one)
    on_node7(one, 40)
    state = job_state(one.directory)
    assert (state["status"], state["host"]) == ("running", "node7")
    assert state["last_sign"] >= 40
    with pytest.raises(DirectoryInUseError, match="0_job is still at work"):
        clean(one.directory)
    on_node7(one, 200)
    state = job_state(one.directory)
    assert (state["status"], state["last_sign"]) == ("interrupted", None)
    assert state["error"].startswith("no sign of it on node7 for ")
    assert clean(one.directory) == []
    with one.log.open("ab") as log:  # where one does reach, it is what counts
        lock(log, "")
        assert job_state(one.directory)["status"] == "running"
