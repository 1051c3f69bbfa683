"""A job ends with the launcher that started it, whatever becomes of that.

The launcher holds the other end of the job's stdin and writes nothing. Where the launcher dies, by
kill -9 too, every process of the job reads the end of it: they save after the step, as for SIGTERM.
"""

from __future__ import annotations

import os
import signal
import threading
import time

#: Set by the launcher for processes whose stdin is the lifeline.
VARIABLE = "POSEXP_LIFELINE"
#: Seconds to save and stop in, then the process is killed: one that hangs would keep its directory.
GRACE = 600


def hold() -> None:
    """Stop this process when its launcher is gone; without a launcher, do nothing."""
    if os.environ.pop(VARIABLE, None) is not None:
        threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os.kill(os.getpid(), signal.SIGKILL)
