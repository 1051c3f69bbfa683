"""A preparation that is stopped anywhere goes on and ends with the same bytes."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time

import pytest

import posexp.data.prepare
from posexp.data.load import load_corpus
from posexp.data.prepare import prepare
from posexp.data.prepared import verify


@pytest.fixture
def source(write, tmp_path):
    lines = "\n".join(f'{{"text": "text number {n} of many, {n * n}"}}' for n in range(200))
    write("src/a.jsonl", lines)
    return tmp_path / "src"


@pytest.fixture
def whole(source, tmp_path):
    """What an undisturbed run writes."""
    prepare([source], tmp_path / "undisturbed", shard=500)
    return contents(tmp_path / "undisturbed")


def contents(path):
    return {p.name: p.read_bytes() for p in path.iterdir() if p.is_file()}


def stop_after(monkeypatch, count, error):
    """Reading ends with `error` after so many documents."""
    read = posexp.data.prepare.stream_splits

    def stopping(documents):
        for n, document in enumerate(read(documents)):
            if n == count:
                raise error
            yield document

    monkeypatch.setattr(posexp.data.prepare, "stream_splits", stopping)


@pytest.mark.parametrize("count", [0, 19, 20, 150, 199])
def test_an_interrupted_run_goes_on_after_its_last_whole_shard(
    source, whole, tmp_path, monkeypatch, capsys, count
):
    out, building = tmp_path / "out", tmp_path / ".out.partial"
    monkeypatch.setattr("posexp.data.encode.BATCH", 1)
    with monkeypatch.context() as patch:
        stop_after(patch, count, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            prepare([source], out, shard=500)
    assert not out.exists()
    told = capsys.readouterr().err
    if building.exists():
        assert "documents are kept in" in told and "the same command goes on" in told
        assert not list(building.glob("*.partial"))
    else:
        assert told == "" and count < 30
    prepare([source], out, shard=500)
    assert contents(out) == whole and not building.exists()


def test_shards_that_are_whole_are_not_written_again(source, whole, tmp_path, monkeypatch):
    building = tmp_path / ".out.partial"
    monkeypatch.setattr("posexp.data.encode.BATCH", 1)
    with monkeypatch.context() as patch:
        stop_after(patch, 150, RuntimeError("stopped"))
        with pytest.raises(RuntimeError, match="stopped"):
            prepare([source], tmp_path / "out", shard=500)
    before = {p.name: p.stat().st_ino for p in building.glob("tokens-*.bin")}
    assert len(before) > 3
    prepare([source], tmp_path / "out", shard=500)
    after = {p.name: p.stat().st_ino for p in (tmp_path / "out").glob("tokens-*.bin")}
    assert before.items() <= after.items() and len(after) > len(before)


@pytest.mark.parametrize("step", ["_assign", "_write_split", "fingerprint", "write_whole"])
def test_a_run_that_is_stopped_while_it_finishes_goes_on(
    source, whole, tmp_path, monkeypatch, step
):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"posexp.data.finish.{step}", stop)
        with pytest.raises(KeyboardInterrupt):
            prepare([source], tmp_path / "out", shard=500)
    prepare([source], tmp_path / "out", shard=500)
    assert contents(tmp_path / "out") == whole


@pytest.mark.parametrize("step", ["clean", "os.replace"])
def test_a_run_that_was_stopped_after_its_manifest_is_only_renamed(
    source, whole, tmp_path, monkeypatch, step
):
    replace = os.replace

    def stop(*given):
        if step == "os.replace" and given[0].name != ".out.partial":
            return replace(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"posexp.data.prepare.{step}", stop)
        with pytest.raises(KeyboardInterrupt):
            prepare([source], tmp_path / "out", shard=500)
    monkeypatch.setattr("posexp.data.prepare.encoded", None)
    prepare([source], tmp_path / "out", shard=500)
    assert contents(tmp_path / "out") == whole


def test_other_text_or_settings_begin_anew_and_say_so(source, whole, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("posexp.data.encode.BATCH", 1)
    with monkeypatch.context() as patch:
        stop_after(patch, 150, RuntimeError("stopped"))
        with pytest.raises(RuntimeError):
            prepare([source], tmp_path / "out", shard=400)
    capsys.readouterr()
    prepare([source], tmp_path / "out", shard=500)
    assert "was begun from other text or settings: anew" in capsys.readouterr().err
    assert contents(tmp_path / "out") == whole


def test_only_one_process_prepares_a_directory(source, tmp_path):
    building = tmp_path / ".out.partial"
    building.mkdir()
    held = os.open(building, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(ValueError, match="another posexp prepare is writing"):
        prepare([source], tmp_path / "out")
    os.close(held)
    prepare([source], tmp_path / "out")


def command(source, out, before=""):
    code = f"""
{before}
from posexp.data.prepare import prepare
prepare([{str(source)!r}], {str(out)!r}, shard=500)
"""
    return [sys.executable, "-W", "error", "-c", code]


LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"
SLOWLY = """
import time, posexp.data.encode
posexp.data.encode.BATCH = 1
encode = posexp.data.encode._encode
posexp.data.encode._encode = lambda *given: time.sleep(0.01) or encode(*given)
"""


# 900 bytes do not hold a shard; the index of all documents needs 10,600.
@pytest.mark.parametrize(("limit", "kept"), [(900, False), (9000, True)])
def test_a_full_disk_is_one_error_and_nothing_is_lost(source, whole, tmp_path, limit, kept):
    out, building = tmp_path / "out", tmp_path / ".out.partial"
    ran = subprocess.run(command(source, out, LIMIT.format(limit)), capture_output=True, text=True)
    assert ran.returncode == 1
    error = ran.stderr.strip().splitlines()[-1]
    assert error.startswith("ValueError: the disk is full, or files may not grow further")
    assert "make room" in error
    assert ("200 documents are kept" in error) == kept
    assert not out.exists() and building.exists() == kept
    prepare([source], out, shard=500)
    assert contents(out) == whole


def test_a_disk_that_is_full_at_once_is_one_error(source, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("posexp.data.prepare.write_whole", full)
    with pytest.raises(ValueError, match="the disk is full.*No space left.*nothing was kept"):
        prepare([source], tmp_path / "out")
    assert os.listdir(tmp_path) == ["src"]


def test_a_killed_run_goes_on(source, whole, tmp_path):
    out, building = tmp_path / "out", tmp_path / ".out.partial"
    process = subprocess.Popen(command(source, out, SLOWLY))
    deadline = time.monotonic() + 60
    while not list(building.glob("shard-*.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not out.exists() and list(building.glob("shard-*.json"))
    prepare([source], out, shard=500)
    assert contents(out) == whole
    verify(out)
    assert len(load_corpus({"name": "text", "path": out}).documents) == 200
