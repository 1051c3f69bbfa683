import json

import pytest

from posexp.report.files import write_report


def test_writing_again_replaces_what_the_report_wrote(tmp_path):
    write_report(tmp_path, {"results.csv": b"a", "report/x.png": b"b"}, {"jobs": []})
    write_report(tmp_path, {"results.csv": b"c"}, {"jobs": [1]})
    assert (tmp_path / "results.csv").read_bytes() == b"c"
    assert json.loads((tmp_path / "results.json").read_text())["jobs"] == [1]
    # Left out once, and still known to be its own.
    write_report(tmp_path, {"report/x.png": b"d"}, {"jobs": []})
    assert (tmp_path / "report/x.png").read_bytes() == b"d"
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.parametrize("name", ["results.csv", "report/x.png", "results.json"])
def test_a_file_of_the_users_is_never_overwritten(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")
    with pytest.raises(FileExistsError, match=rf"{name} was not written by .* move or rename it"):
        write_report(tmp_path, {"results.csv": b"a", "report/x.png": b"b"}, {})
    assert path.read_text() == "{}"
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [path]


def test_a_table_that_the_user_edited_is_theirs(tmp_path):
    write_report(tmp_path, {"results.csv": b"a"}, {})
    (tmp_path / "results.csv").write_bytes(b"a, with my notes")
    with pytest.raises(FileExistsError, match=r"results\.csv .* was changed since"):
        write_report(tmp_path, {"results.csv": b"a"}, {})
