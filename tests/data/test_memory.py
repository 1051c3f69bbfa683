"""Ten times the tokens take no more memory."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def synthetic(path, tokens):
    spec = importlib.util.spec_from_file_location("synthetic", HERE / "synthetic.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.make(path, tokens)


def measured(path):
    command = [sys.executable, str(HERE / "measure_memory.py"), str(path)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_memory_does_not_grow_with_tokens(tmp_path):
    """1 and 10 GB of tokens: the table is made by the first process and found by the second."""
    found = {}
    for gigabytes in (1, 10):
        synthetic(tmp_path / str(gigabytes), gigabytes * 10**9 // 2)
        found[gigabytes] = [measured(tmp_path / str(gigabytes)) for _ in range(2)]
        print(gigabytes, *found[gigabytes], sep="\n")
    for small, large in zip(found[1], found[10], strict=True):
        assert large["documents"] > 9 * small["documents"]
        # A list of Python integers for the documents alone would be 100 MiB more.
        assert large["most"] < small["most"] + 24
        assert large["anonymous"] < small["anonymous"] + 16


@pytest.mark.slow
def test_a_small_one_of_the_same_kind_is_whole(tmp_path):
    synthetic(tmp_path / "tiny", 5 * 10**6)
    found = measured(tmp_path / "tiny")
    assert found["documents"] > 2500
