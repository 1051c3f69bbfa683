import pytest

from posexp.data.kept import WHOLE, cache_directory, kept


def filling(times):
    def write(directory):
        times.append(directory)
        (directory / "a.bin").write_bytes(b"a")
        (directory / WHOLE).write_text("{}")

    return write


def test_it_is_made_once(tmp_path):
    times = []
    for _ in range(2):
        assert kept(tmp_path / "deep" / "place", filling(times)) == (tmp_path / "deep/place", None)
    assert len(times) == 1
    assert sorted(p.name for p in (tmp_path / "deep" / "place").iterdir()) == ["a.bin", WHOLE]


def test_what_is_not_whole_is_not_there(tmp_path):
    def fail(directory):
        (directory / "a.bin").write_bytes(b"a")
        raise ValueError("bad content")

    with pytest.raises(ValueError, match="bad content"):
        kept(tmp_path / "place", fail)
    assert list(tmp_path.iterdir()) == []


def test_the_first_of_two_processes_is_kept(tmp_path):
    times = []

    def late(directory):
        kept(tmp_path / "place", filling(times))  # another one meanwhile
        filling(times)(directory)

    assert kept(tmp_path / "place", late) == (tmp_path / "place", None)
    assert len(times) == 2 and [p.name for p in tmp_path.iterdir()] == ["place"]


@pytest.mark.parametrize("place", [None, "file/place"])
def test_without_a_place_it_is_temporary(tmp_path, place):
    (tmp_path / "file").write_text("in the way")
    path, temporary = kept(None if place is None else tmp_path / place, filling([]))
    assert (path / "a.bin").read_bytes() == b"a"
    del temporary
    assert not path.exists()


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("POSEXP_CACHE", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"
    monkeypatch.delenv("POSEXP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "posexp"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "posexp"
