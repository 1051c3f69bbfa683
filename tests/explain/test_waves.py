"""Frequencies that are found by calling a scheme, against the equations of the literature."""

import math

import numpy as np
import pytest

from posexp.explain.pictures.ladder import ladder, turns, waves
from posexp.explain.pictures.picture import Absent
from posexp.explain.pictures.waves import Waves


def found(study):
    (kind,) = study.kinds
    result = waves(study, kind)
    assert isinstance(result, Waves), result
    return result


def test_wavelengths_of_the_paper_by_hand(study):
    """d = 8: 2 pi 10000^(2k/8)."""
    eight = found(study("sinusoidal", sizes={"d_model": 8, "n_heads": 1}))
    np.testing.assert_allclose(eight.lengths, [6.2832, 62.832, 628.32, 6283.2], rtol=1e-4)
    assert eight.columns.tolist() == [2, 2, 2, 2]
    assert (eight.still, eight.unfinished(24), eight.unfinished(100)) == (0, 3, 2)


def test_the_other_exponent_by_hand(study):
    sizes = {"d_model": 8, "n_heads": 1}
    other = study("sinusoidal", sizes=sizes, layout="halves", exponent="tensor2tensor")
    np.testing.assert_allclose(found(other).angles, [1, 0.04641589, 0.00215443, 0.0001], rtol=1e-4)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_rotations_in_both_layouts(study, layout):
    wide = found(study("rope", sizes={"d_model": 64, "n_heads": 2}, layout=layout))
    np.testing.assert_allclose(wide.angles, 10000 ** (-np.arange(16) / 16), rtol=1e-6)
    assert (wide.still, wide.unfinished(128)) == (0, 10)
    np.testing.assert_allclose(wide.growth, 1, atol=1e-9)


def test_columns_that_do_not_turn(study):
    part = found(study("rope", sizes={"d_model": 64, "n_heads": 2}, fraction=0.25))
    np.testing.assert_allclose(part.angles, [1, 0.1, 0.01, 0.001], rtol=1e-6)
    assert part.still == 24


def test_stretched_frequencies_of_a_published_case(study):
    """d = 16, L = 512, s = 4: the ramp of the authors' code."""
    sizes = {"d_model": 16, "n_heads": 1}
    stretched = found(study("yarn", sizes=sizes, trained_length=512, factor=4.0))
    expected = [1, 0.25693506, 0.0625, 0.0138349648, 0.0025]
    np.testing.assert_allclose(stretched.angles[:5], expected, rtol=1e-6)


def test_a_pair_that_shrinks_as_it_turns(study):
    sizes = {"d_model": 8, "n_heads": 1}
    shrinking = found(study("xpos", sizes=sizes))
    z = np.array([0.28571429, 0.46428571, 0.64285714, 0.82142857])
    np.testing.assert_allclose(shrinking.growth, z ** (1 / 512), rtol=1e-6)
    np.testing.assert_allclose(shrinking.angles, [1, 0.1, 0.01, 0.001], rtol=1e-5)


def test_a_foreign_rotation_whose_pairs_are_no_columns(foreign, turning):
    mine = foreign(turning, sizes={"d_model": 16, "n_heads": 2})
    angles = found(mine)
    np.testing.assert_allclose(angles.angles, 0.1 / 4.0 ** np.arange(4), rtol=1e-5)
    np.testing.assert_allclose(angles.lengths[0], 62.8319, rtol=1e-5)
    picture = ladder(mine, mine.kinds[0])
    assert picture.sentence.startswith("4 frequencies, of 62.83 to 4021 tokens a turn. 4 of 4 ")
    np.testing.assert_allclose(picture.curves[0].y, angles.lengths)


def test_a_rotation_that_takes_float32_only(foreign, turning):
    only = turning.replace("(x.double() @ basis)", "(x @ basis.float()).double()")
    mine = foreign(only, sizes={"d_model": 16, "n_heads": 2})
    np.testing.assert_allclose(found(mine).angles, 0.1 / 4.0 ** np.arange(4), rtol=1e-3)


NOT_A_ROTATION = {
    "linear": """
        def transform_query(self, q, positions):
            return q / q.norm(dim=-1, keepdim=True)
        """,
    "repeated": """
        def transform_query(self, q, positions):
            angles = 0.1 * positions[..., None, :].to(q.dtype) ** 2
            a, b = q[..., 0], q[..., 1]
            turned = (a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos())
            return torch.cat((torch.stack(turned, -1), q[..., 2:]), -1)
        """,
    "turns nothing": "def transform_query(self, q, positions):\n    return 2 * q",
}


@pytest.mark.parametrize("why", NOT_A_ROTATION)
def test_what_is_no_rotation_is_told_so(foreign, why):
    mine = foreign(NOT_A_ROTATION[why])
    result = waves(mine, mine.kinds[0])
    assert isinstance(result, Absent)
    assert why in result.reason


@pytest.mark.parametrize("name", ["learned", "one_hot", "raw_index"])
def test_vectors_that_are_no_waves(study, name):
    no_wave = study(name)
    result = waves(no_wave, no_wave.kinds[0])
    assert isinstance(result, Absent)
    assert "no wave" in result.reason


@pytest.mark.parametrize("name", ["nope", "alibi"])
def test_what_neither_turns_nor_adds(study, name):
    still = study(name)
    assert "turns no queries" in waves(still, still.kinds[0]).reason


def test_turns_in_words():
    two = Waves(np.array([1.0, 0.01]), np.array([2, 2]), np.ones(2), 0)
    assert turns(two, 700) == "Each completes a turn within T = 700"
    assert turns(two, 600).startswith("1 of 2 never completed a turn within T = 600")
    assert turns(two, 6).startswith("2 of 2 never completed a turn")
    assert two.lengths[0] == 2 * math.pi
