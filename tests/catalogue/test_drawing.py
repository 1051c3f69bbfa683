"""The drawing as text, and which panels a scheme gets."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from posexp import AttentionDims, PluginError, PositionScheme
from posexp.catalogue.drawing import CELLS, SHADES, drawing, shaded
from posexp.catalogue.exhibit import Exhibit
from posexp.catalogue.gallery import Gallery
from posexp.catalogue.measure import Panel

DIMS = AttentionDims(d_model=32, n_heads=4, n_layers=4, context_length=16)


@dataclass
class Config:
    start: float = 0.0


class Gathered(PositionScheme):
    """Owns a table that starts constant."""

    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.table = nn.Parameter(torch.full((64, dims.n_heads), config.start))


class Table(Gathered):
    """A learned bias by distance."""

    def distance_bias(self, n):
        return self.table[n.clamp(min=0)].mT * (1 + n)


def test_blocks_from_light_to_dark_and_blanks():
    nan = float("nan")
    values = torch.tensor([[0.0, nan, nan], [1.0, 2.0, nan], [2.0, 3.0, 4.0]])
    ticks = torch.tensor([0, 10, 20])
    panel = Panel("bias", values, "query", "key", ticks, ticks, "remarkable")
    assert shaded(panel) == [
        " 0  ··",
        "10  ░░▒▒",
        "20  ▒▒▓▓██",
        "query down, key 0 to 20 across; · 0, █ 4",
        "remarkable",
    ]


def test_wide_panels_are_thinned_and_even_ones_are_dark():
    panel = Panel("x", torch.ones(2, 100), "r", "c", torch.arange(2), torch.arange(100))
    lines = shaded(panel)
    assert lines[0] == "0  " + 2 * CELLS * SHADES[-1]
    assert lines[-1] == "r down, c 0 to 99 across; 1 everywhere"


def test_rounding_is_not_drawn():
    values = torch.tensor([[1.3, 1.3 + 2e-7], [1.3 - 2e-7, 1.3]])
    panel = Panel("x", values, "r", "c", torch.arange(2), torch.arange(2))
    assert panel.is_flat
    assert shaded(panel)[:2] == ["0  ████", "1  ████"]


def test_nothing_to_see_is_no_error():
    empty = torch.full((2, 2), float("nan"))
    assert shaded(Panel("x", empty, "r", "c", torch.arange(2), torch.arange(2)))[0] == "0"


def test_one_head_stands_for_all_in_the_text():
    lines = drawing(Exhibit.of("alibi", [], DIMS))
    assert [line for line in lines if "head" in line] == ["bias, head 0 (every layer)"]
    assert lines[0] == "fixed: nothing in it is trained"
    first = lines.index("bias, head 0 (every layer)") + 1
    matrix = lines[first : first + 16]
    assert matrix[-1] == "15  " + "".join(2 * SHADES[min(4, j // 3)] for j in range(16))


def test_a_bias_that_starts_flat_is_drawn_with_other_values(exhibit):
    flat = Gallery.of(exhibit(Table, Config(0.0)), 8)
    assert flat.note == "parameters drawn at random, as it starts out flat"
    assert not any(panel.is_flat for _, panels in flat.rows for panel in panels)
    sloped = exhibit(Table, Config(2.0))
    assert Gallery.of(sloped, 8).note == "as training starts with seed 0"
    ((_, (panel, *_)),) = Gallery.of(sloped, 8).rows
    assert panel.values[7, 0] == 16.0
    assert (sloped.scheme.table == 2.0).all()  # drawing changes nothing


def test_what_acts_on_nothing_is_drawn_as_what_is_visible():
    ((where, (panel,)),) = Gallery.of(Exhibit.of("nope", [], DIMS), 8).rows
    assert (where, panel.title) == ("every layer", "visible")


def test_layers_that_differ_have_rows_of_their_own():
    rows = Gallery.of(Exhibit.of("hybrid", ["local_window=4"], DIMS), 8).rows
    assert [where for where, _ in rows] == ["layers 0-2", "layer 3"]
    assert [panel.title for panel in rows[1][1]] == ["visible"]
    assert "rotation angle (rad)" in [panel.title for panel in rows[0][1]]


def test_what_is_added_and_what_layers_do_are_both_there(exhibit):
    class Both(Table):
        def embed(self, x, positions):
            return x + positions[..., None]

    rows = Gallery.of(exhibit(Both, Config(1.0)), 8).rows
    assert [where for where, _ in rows] == ["before the first layer", "every layer"]


def test_remapped_positions_reach_the_layers(exhibit):
    class Remapped(Table):
        def remap_positions(self, positions):
            return positions // 2

    rows = dict(Gallery.of(exhibit(Remapped, Config(1.0)), 8).rows)
    assert rows["every layer"][0].values[7, 0] == 4.0


def test_vectors_of_another_shape_are_told_so(exhibit):
    class Misshapen(Gathered):
        def distance_keys(self, n):
            return self.table[None, : len(n) + 1]

    message = r"added to keys, head 0 has the shape \(9, 2\), and \(8, 2\) was expected"
    with pytest.raises(PluginError, match=message):
        Gallery.of(exhibit(Misshapen, Config(1.0)), 8)


def test_a_scheme_that_raises_is_named(exhibit):
    class Raising(PositionScheme):
        def embed(self, x, positions):
            raise RuntimeError("a\nb")

    with pytest.raises(PluginError, match="mine .* cannot be drawn: RuntimeError: a b; "):
        Gallery.of(exhibit(Raising, Config()), 8)
