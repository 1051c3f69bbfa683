"""What is measured is held to the equations, written again in numpy."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from posexp import AttentionDims, PositionScheme, build_scheme
from posexp.catalogue.measure import before_layers, in_layer, nothing, positions_up_to

DIMS = AttentionDims(d_model=32, n_heads=4, n_layers=1, context_length=12, n_kv_heads=2)
POSITIONS = torch.arange(12)


def panels_of(config, positions=POSITIONS):
    scheme = build_scheme(config, DIMS)
    found = before_layers(scheme, DIMS, positions) + in_layer(scheme.for_layer(0), DIMS, positions)
    return {panel.title: dataclasses.replace(panel, values=panel.values.numpy()) for panel in found}


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_the_angles_of_rotations_by_distance_and_column(layout):
    found = panels_of({"name": "rope", "theta": 100.0, "layout": layout}, POSITIONS + 30)
    frequencies = 100.0 ** (-np.arange(4) / 4)
    turns = np.arange(12)[:, None] * frequencies
    by_column = np.repeat(turns, 2, axis=1) if layout == "interleaved" else np.tile(turns, 2)
    angle = found["rotation angle (rad)"]
    np.testing.assert_allclose(np.cos(angle.values), np.cos(by_column), atol=1e-5)
    np.testing.assert_allclose(np.abs(np.sin(angle.values)), np.abs(np.sin(by_column)), atol=1e-5)
    own = found["q . k of a column with itself"]
    np.testing.assert_allclose(own.values, np.cos(by_column), atol=1e-5)
    # The two columns of a pair turn in opposite senses.
    first, second = (0, 1) if layout == "interleaved" else (0, 4)
    np.testing.assert_allclose(angle.values[:3, first], -angle.values[:3, second], atol=1e-5)
    assert angle.remark == (
        f"8 of 8 columns turn; a step turns columns 0 and {second} by 1 rad, the slowest by "
        f"{100**-0.75:.3g}"
    )
    assert set(found) == {angle.title, own.title}


def test_columns_that_do_not_turn_are_counted():
    found = panels_of({"name": "rope", "fraction": 0.5})
    assert found["rotation angle (rad)"].remark.startswith("4 of 8 columns turn")
    assert (found["q . k of a column with itself"].values[:, 4:] == 1).all()


def test_a_transform_that_scales_is_seen_to_scale():
    class Fading(PositionScheme):
        def transform_query(self, q, positions):
            return q * 0.9 ** positions[..., None, :, None]

        def transform_key(self, k, positions):
            return k / 0.9 ** positions[..., None, :, None]

    (own, length) = in_layer(Fading(None, DIMS), DIMS, POSITIONS)
    assert length.title == "length of a column's q . k"
    expected = np.repeat(0.9 ** np.arange(12.0)[:, None], 8, axis=1)
    np.testing.assert_allclose(length.values, expected, rtol=1e-5)
    np.testing.assert_allclose(own.values, expected, rtol=1e-5)


def test_the_bias_of_some_heads_with_the_future_left_out():
    found = panels_of({"name": "alibi"})
    assert list(found) == [f"bias, head {head}" for head in range(4)]
    n = np.subtract.outer(np.arange(12), np.arange(12))
    for head in range(4):
        expected = np.where(n < 0, np.nan, -(2.0 ** (-2 * (head + 1))) * n)
        np.testing.assert_allclose(found[f"bias, head {head}"].values, expected)


def test_of_many_heads_the_first_and_the_last_are_among_those_shown():
    dims = AttentionDims(d_model=24, n_heads=12)
    panels = in_layer(build_scheme({"name": "alibi"}, dims), dims, POSITIONS)
    assert [panel.title for panel in panels] == [f"bias, head {h}" for h in (0, 4, 7, 11)]


def test_both_directions_are_seen_where_attention_has_both():
    dims = AttentionDims(d_model=32, n_heads=4, causal=False)
    (first, *_) = in_layer(build_scheme({"name": "alibi"}, dims), dims, POSITIONS)
    assert torch.equal(first.values, first.values.mT)


def test_what_is_added_to_the_input():
    one_hot = panels_of({"name": "one_hot"})["added to an input of ones"]
    np.testing.assert_array_equal(one_hot.values, np.eye(12, 32))
    added = panels_of({"name": "sinusoidal"})["added to an input of ones"]
    p, k = np.arange(12)[:, None], np.arange(16)
    np.testing.assert_allclose(added.values[:, ::2], np.sin(p / 10000 ** (k / 16)), atol=1e-6)


def test_what_a_window_lets_a_query_see():
    scheme = PositionScheme(None, DIMS)
    scheme.window = 3
    (panel,) = in_layer(scheme, DIMS, POSITIONS)
    expected = np.tril(np.ones((12, 12))) - np.tril(np.ones((12, 12)), -3)
    np.testing.assert_array_equal(panel.values, expected)
    np.testing.assert_array_equal(nothing(DIMS, POSITIONS).values, np.tril(np.ones((12, 12))))


def test_vectors_of_distance():
    class Keys(PositionScheme):
        def distance_keys(self, n):
            return (n[:, None] * torch.arange(8.0))[None]

    (panel,) = in_layer(Keys(None, DIMS), DIMS, POSITIONS + 5)
    np.testing.assert_array_equal(panel.values, np.outer(np.arange(12), np.arange(8)))
    assert (panel.rows, panel.columns) == ("distance", "column")


def test_functions_of_scores_are_measured_as_a_change():
    class Halved(PositionScheme):
        def adjust_scores(self, scores, q, k, q_positions, k_positions):
            return scores - math.log(2)

        def adjust_output(self, out, weights, q_positions, k_positions):
            return out + 1

    *logits, output = in_layer(Halved(None, DIMS), DIMS, POSITIONS)
    assert len(logits) == 4
    below = torch.ones(12, 12).tril().bool()
    assert torch.allclose(logits[0].values[below], torch.tensor(-math.log(2)), atol=1e-5)
    assert logits[0].values[~below].isnan().all()
    assert torch.allclose(output.values, torch.ones(12, 8), atol=1e-5)


def test_remapped_positions_are_a_matrix_of_distances():
    class Halving(PositionScheme):
        def remap_positions(self, positions):
            return positions // 2

    (panel,) = before_layers(Halving(None, DIMS), DIMS, POSITIONS)
    assert panel.values[11].tolist() == [5.0 - j // 2 for j in range(12)]


def test_positions_are_spread_and_stay_where_the_scheme_is_defined():
    assert positions_up_to(128, None, 3).tolist() == [0, 64, 127]
    assert positions_up_to(128, 5, 16).tolist() == [0, 1, 2, 3, 4]
    assert positions_up_to(1, None, 16).tolist() == [0]
