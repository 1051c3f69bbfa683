import signal
import subprocess
import sys

import numpy as np
import pytest

from posexp.bench.candidates import candidates
from posexp.bench.memory import peak_memory
from posexp.bench.memory_child import peak_bytes

MEGABYTE = 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak cannot be started again")
def test_the_peak_is_counted_even_where_it_is_given_back():
    def call():
        np.ones(40 * MEGABYTE, dtype=np.uint8)

    assert 35 * MEGABYTE < peak_bytes(call, "cpu") < 60 * MEGABYTE
    assert peak_bytes(lambda: None, "cpu") < 5 * MEGABYTE


def test_a_fresh_process_sees_the_dense_scores(tiny):
    """Two heads of 1024 x 1024 scores in float32 are 8 MB, and they are kept for the backward."""
    (found,) = candidates(tiny(schemes=("nope model.kernel=eager",)))
    point = {"config": found.config, "layer": 0, "length": 1024, "precision": "float32"}
    assert peak_memory(point | {"device": "cpu", "threads": 1}) > 2 * 2 * 1024 * 1024 * 4


def ended(monkeypatch, code, stderr):
    done = subprocess.CompletedProcess([], code, "", stderr)
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: done)


def test_a_child_that_fails_says_why(monkeypatch):
    ended(monkeypatch, 1, "Traceback:\n  somewhere\nValueError: odd width\n")
    with pytest.raises(RuntimeError, match=r"^ValueError: odd width$"):
        peak_memory({})
    ended(monkeypatch, 3, "")
    with pytest.raises(RuntimeError, match="exit code 3"):
        peak_memory({})


def test_a_child_that_is_killed_is_out_of_memory(monkeypatch):
    ended(monkeypatch, -signal.SIGKILL, "")
    with pytest.raises(MemoryError, match="out of memory"):
        peak_memory({})
