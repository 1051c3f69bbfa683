import os
import signal
import subprocess
import sys

import pytest

#: Says how it was stopped, as a job that saves would.
CHILD = """
import signal, sys, time
from posexp import lifeline
signal.signal(signal.SIGTERM, lambda *_: (print("saved", flush=True), sys.exit(130)))
lifeline.hold()
print("ready", flush=True)
time.sleep(60)
"""
#: Starts one and waits to be killed.
LAUNCHER = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdin=subprocess.PIPE,
                         env=os.environ | {{"POSEXP_LIFELINE": "1"}})
time.sleep(60)
"""


def test_a_job_saves_and_stops_when_its_launcher_is_killed():
    launcher = subprocess.Popen([sys.executable, "-c", LAUNCHER], stdout=subprocess.PIPE, text=True)
    with launcher:
        assert launcher.stdout.readline() == "ready\n"
        os.kill(launcher.pid, signal.SIGKILL)
        # The pipe ends when the child has ended, too.
        assert launcher.stdout.read() == "saved\n"


@pytest.mark.parametrize("stdin", [subprocess.DEVNULL, None])
def test_without_a_launcher_stdin_says_nothing(stdin):
    code = CHILD.replace("time.sleep(60)", "time.sleep(0.3)")
    ran = subprocess.run([sys.executable, "-c", code], stdin=stdin, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "ready\n")
