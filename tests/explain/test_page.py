"""The page itself: everyone is on it, with nothing left out and nothing made up."""

import dataclasses
import html
import re
from pathlib import Path

import numpy as np
import pytest

from posexp.catalogue.measure import Panel
from posexp.cli import main
from posexp.explain.charts import Ranges, limits, numbers
from posexp.explain.page import page
from posexp.explain.pictures import MOTIFS, Curve
from posexp.local import only
from posexp.plugin_file import PluginFile
from posexp.registry import registry

PLUGINS = Path(__file__).parents[2] / "plugins"


def text_of(rendered):
    """The words of a page, without drawings, style and script."""
    kept = re.sub(r"<(style|script|svg).*?</\1>", "", rendered, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", kept)).split())


def test_every_registered_scheme_is_explained_without_a_conflict(study):
    names = registry().names
    patterns = [name for name in names if "pattern" in vars(registry().get(name).config())]
    studies = [study(name, sizes={"n_layers": 4 if name in patterns else 1}) for name in names]
    rendered = page(studies, "posexp explain ...").render()
    assert f"<h1>What {len(names)} schemes do</h1>" in rendered
    text = text_of(rendered)
    assert "could not be" not in text
    assert "CONFLICT" not in text
    assert "Nothing that was measured contradicts what is declared." in text
    for motif in MOTIFS:
        assert f'<section id="{motif.id}"' in rendered
    for name in names:
        assert rendered.count(f'data-key="{name}"') > 4


def test_the_worked_examples_get_all_of_it(study):
    files = ("example_fire/posexp_fire.py", "example_cope/posexp_cope.py")
    with only([PluginFile.read(PLUGINS / file) for file in files]):
        rendered = page([study("fire"), study("cope")], "posexp explain fire cope").render()
    text = text_of(rendered)
    assert "fire . It adds to the logits, and nothing else. It matters where a pair stands." in text
    assert "cope . It adds to the logits, and nothing else. Positions count by" in text
    assert "it needs a causal mask: cope counts from a key to a later query" in text
    assert "table: " in text
    assert "It depends on q and k: " in text
    assert "CONFLICT" not in text
    assert "could not be" not in text


def test_one_scheme_has_no_key(study):
    rendered = page([study("t5")], "posexp explain t5").render()
    assert rendered == page([study("t5")], "posexp explain t5").render()
    assert "What t5 does" in rendered
    assert 'id="key"' not in rendered


def test_a_conflict_stands_at_the_top_and_in_its_place(foreign):
    mine = foreign("def transform_query(self, q, positions):\n    return q * 1.0")
    text = text_of(page([mine], "posexp explain mine").render())
    short, facts = text.split("Measured, and declared", 2)[1:]
    assert "it says that it acts on transform_query, and changes no queries" in short
    assert "CONFLICT. unchanged declared: transform_query" in facts
    assert "contradicts" not in text


def test_names_are_text(foreign):
    mine = dataclasses.replace(foreign("shift_invariant = True"), label="<b>mine</b>")
    rendered = page([mine], "posexp explain '<script>'").render()
    assert "<b>mine" not in rendered
    assert "&lt;script&gt;" in rendered


def test_what_a_row_shares():
    one = Curve("a", np.arange(3), np.array([0.0, 1.0, np.nan]))
    two = Curve("b", np.arange(5), np.full(5, 2.0), np.full(5, -2.0), np.full(5, 3.0))
    ranges = Ranges.of([one, two], logarithmic=False, level=100)
    assert ranges.y == pytest.approx((-2.25, 3.75))  # more room above, for a name
    assert ranges.x == pytest.approx((-0.1, 4.1))
    log = Ranges.of([Curve("a", np.arange(2), np.array([10.0, 1000.0]))], True, level=1e5)
    assert log.y[0] < 10
    assert log.y[1] > 1e5
    assert numbers(one.y) == [0.0, 1.0, None]


def test_what_equal_matrices_share():
    import torch

    def panel(title, *values):
        ticks = torch.arange(len(values))
        return Panel(title, torch.tensor([values]), "row", "column", torch.arange(1), ticks)

    found = limits([panel("a", 0.0, 2.0), panel("a", 1.0, 5.0), panel("b", -1.0, 3.0)])
    assert found == {"a": (0.0, 5.0), "b": (-3.0, 3.0)}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rpoe"], "did you mean 'rope'"),
        (["nope", "x=1"], "has no"),
        (["nope", "--length", "3"], "--length must be at least 24"),
        (["alibi", "model.kernel=sdpa"], "model.kernel=sdpa cannot serve"),
        (["nope", "--out", "x.pdf"], "must end in .html"),
        (["x=1"], "no scheme stands before it"),
        (["nope", "--plugin", "missing.py"], "no plugin file"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", *words]) == 2
    told = capsys.readouterr().err
    assert told.startswith("posexp: error: ")
    assert told.count("\n") == 1
    assert said in told
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_a_page(tmp_path, monkeypatch, capsys, plugin):
    monkeypatch.chdir(tmp_path)
    command = ["explain", "mine", "strength=3", "nope", "--plugin", str(plugin), "--length", "24"]
    assert main(command) == 0
    assert capsys.readouterr().out == "written to explain_mine_nope.html\n"
    text = text_of((tmp_path / "explain_mine_nope.html").read_text())
    assert "mine strength=3 . It adds to the logits, and nothing else." in text
    assert f"posexp explain mine strength=3 nope --plugin {plugin} --length 24" in text


def test_a_page_of_somebody_else_is_left(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "explain_nope.html").write_text("mine")
    assert main(["explain", "nope"]) == 2
    assert "was not written by" in capsys.readouterr().err
    assert (tmp_path / "explain_nope.html").read_text() == "mine"
