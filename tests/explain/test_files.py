"""A page may replace a page, and nothing else."""

from pathlib import Path

import pytest

from posexp.explain.files import check_path, default_path, write_page


def test_names():
    assert default_path(["rope", "alibi"]) == Path("explain_rope_alibi.html")
    assert default_path(["../a b"]) == Path("explain_.._a_b.html")
    assert default_path(["learned"] * 20) == Path("explain_20_schemes.html")


def test_a_page_is_written_again_until_somebody_changes_it(tmp_path):
    path = tmp_path / "page.html"
    write_page(path, "<!doctype html>\none\n")
    first = path.read_bytes()
    assert first.startswith(b"<!doctype html>\none\n<!-- written by posexp explain, sha256 ")
    write_page(path, "<!doctype html>\ntwo\n")
    assert b"two" in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(b"two", b"mine"))
    with pytest.raises(FileExistsError, match="was changed since"):
        write_page(path, "three")
    assert b"mine" in path.read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_what_is_no_page_of_ours(tmp_path):
    (tmp_path / "notes.html").write_text("mine")
    (tmp_path / "there.html").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "nowhere")
    for name in ("notes.html", "there.html", "link.html"):
        with pytest.raises(FileExistsError, match=name):
            check_path(tmp_path / name)
    with pytest.raises(ValueError, match=r"must end in \.html"):
        check_path(tmp_path / "page.pdf")
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        check_path(tmp_path / "nowhere" / "page.html")
    check_path(tmp_path / "new.html")
