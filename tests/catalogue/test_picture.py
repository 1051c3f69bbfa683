import matplotlib
import numpy as np
import pytest

from posexp import AttentionDims
from posexp.catalogue.exhibit import Exhibit
from posexp.catalogue.picture import check_picture, draw, write_picture
from posexp.cli import main

DIMS = AttentionDims(d_model=32, n_heads=4, n_layers=4, context_length=16)


def panels(figure):
    return [axes for axes in figure.axes if axes.images and axes.get_title()]


@pytest.mark.parametrize(
    ("suffix", "start"),
    [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")],
)
def test_a_picture_of_each_kind_is_the_same_each_time(tmp_path, suffix, start):
    before = dict(matplotlib.rcParams)
    exhibit = Exhibit.of("one_hot", [], DIMS)
    contents = []
    for name in ("one", "two"):
        write_picture(tmp_path / f"{name}.{suffix}", exhibit)
        contents.append((tmp_path / f"{name}.{suffix}").read_bytes())
    assert contents[0].startswith(start)
    assert contents[0] == contents[1]
    assert dict(matplotlib.rcParams) == before


def test_the_panels_hold_what_was_measured():
    drawn = panels(draw(Exhibit.of("alibi", [], DIMS)))
    assert [axes.get_title() for axes in drawn] == [
        f"bias, head {head}\nevery layer" for head in range(4)
    ]
    values = drawn[0].images[0].get_array()
    assert values[15, 0] == -0.25 * 15
    assert np.ma.getmaskarray(values)[0, 15]
    assert drawn[0].get_ylim() == (15.5, -0.5)
    assert (drawn[0].get_xlabel(), drawn[0].get_ylabel()) == ("key position", "query position")


def test_rows_for_layers_that_differ():
    drawn = panels(draw(Exhibit.of("hybrid", ["local_window=4"], DIMS)))
    assert [axes.get_title().split("\n")[1] for axes in drawn] == 3 * ["layers 0-2"] + ["layer 3"]


def test_nothing_is_overwritten_and_every_mistake_is_told_before(tmp_path):
    (tmp_path / "there.png").write_text("mine")
    with pytest.raises(FileExistsError, match=r"there\.png exists"):
        check_picture(tmp_path / "there.png")
    with pytest.raises(ValueError, match=r"\.png, \.pdf, \.svg"):
        check_picture(tmp_path / "x.jpg")
    with pytest.raises(FileNotFoundError, match="no directory"):
        check_picture(tmp_path / "nowhere" / "x.png")
    assert (tmp_path / "there.png").read_text() == "mine"


def test_the_command_draws_where_it_is_asked_to(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    size = ["--d-model", "16", "--heads", "2", "--layers", "1", "--length", "8"]
    assert main(["schemes", "show", "alibi", *size]) == 0
    assert "--picture FILE.png" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert main(["schemes", "show", "alibi", *size, "--picture", "a.png"]) == 0
    assert (tmp_path / "a.png").stat().st_size > 5000
    assert main(["schemes", "show", "alibi", *size, "--picture", "a.png"]) == 2
    assert capsys.readouterr().err == "posexp: error: a.png exists: choose another name\n"
