import subprocess
import sys
import time

import pytest

from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.locks import is_held, lock, sweep_is_running, sweep_lock


def test_a_lock_is_held_by_one_and_ends_with_it(tmp_path):
    path = tmp_path / "file"
    assert not is_held(path)
    with path.open("ab") as first, path.open("ab") as second:
        lock(first, "mine")
        assert is_held(path)
        with pytest.raises(DirectoryInUseError, match="^theirs$"):
            lock(second, "theirs")
    assert not is_held(path)


def test_a_lock_can_be_waited_for(tmp_path):
    path = tmp_path / "file"
    code = f"import fcntl, time; f = open({str(path)!r}, 'ab'); fcntl.flock(f, fcntl.LOCK_EX)"
    other = subprocess.Popen([sys.executable, "-c", f"{code}; time.sleep(1)"])
    try:
        while not is_held(path):
            time.sleep(0.01)
        with path.open("ab") as file:
            lock(file, "never", waiting=lambda: True)
            assert other.wait(timeout=5) == 0
    finally:
        other.kill()


def test_whether_a_sweep_runs(tmp_path):
    assert not sweep_is_running(tmp_path)
    with sweep_lock(tmp_path):
        assert sweep_is_running(tmp_path)
    assert not sweep_is_running(tmp_path)
