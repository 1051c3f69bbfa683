from posexp.sweep.jobs import last_line, last_traceback, read_status

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
