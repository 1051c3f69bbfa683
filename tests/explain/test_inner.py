"""Vectors added to the input: their inner products, and the four terms of a score with them."""

import numpy as np
import pytest

from posexp.explain.meeting import standard_normal
from posexp.explain.pictures.distances import distances, looking_back
from posexp.explain.pictures.inner import TERMS, four_terms, products, terms
from posexp.explain.pictures.picture import Absent


def test_inner_products_by_hand(study):
    """PE(0)·PE(r), d = 8, r = 0 ... 5: not monotone."""
    eight = study("sinusoidal", sizes={"d_model": 8, "n_heads": 1})
    picture = products(eight, eight.kinds[0])
    expected = [4, 3.53525597, 2.56371775, 1.96488953, 2.26660948, 3.15998251]
    np.testing.assert_allclose(picture.curves[0].y[:6], expected, atol=1e-5)
    assert picture.curves[0].low is None
    assert picture.sentence.startswith("4 with itself, 3.54 with its neighbour")
    assert picture.sentence.endswith("It depends on distance alone.")


def test_no_notion_of_near(study):
    apart = study("one_hot")
    picture = products(apart, apart.kinds[0])
    assert picture.curves[0].y[:3].tolist() == [1, 0, 0]
    assert "a neighbour is hardly closer" in picture.sentence


def test_products_that_depend_on_the_place(study):
    """p·p = m n: the band at distance n is that of m (m - n)."""
    index = study("raw_index")
    curve = products(index, index.kinds[0]).curves[0]
    at = np.array(looking_back(index))
    assert curve.low[1] == pytest.approx((at * (at - 1)).min())
    assert curve.high[1] == pytest.approx((at * (at - 1)).max())
    assert curve.y[1] == pytest.approx((at * (at - 1)).mean())


def test_the_four_terms_add_up(study):
    """(q + p_m)·(k + p_n) / sqrt(D), in numpy from the equation of the vectors."""
    waves = study("sinusoidal")
    split = four_terms(waves)
    q, k = (x.double().numpy() for x in standard_normal(waves.dims, len(split[0]), 48))
    w = 10000.0 ** (-np.arange(16) / 16)
    angles = np.arange(48)[:, None] * w
    p = np.stack((np.sin(angles), np.cos(angles)), -1).reshape(48, 32)
    n = distances(waves)
    for number, m in enumerate(looking_back(waves)):
        expected = np.einsum("bd,bsd->bs", q[:, m] + p[m], (k + p)[:, : m + 1]) / np.sqrt(32)
        total = sum(term[:, number] for term in split)
        assert n.tolist() == list(range(48))
        np.testing.assert_allclose(total[:, m::-1], expected, atol=1e-5)
        content = np.einsum("bd,bsd->bs", q[:, m], k[:, : m + 1]) / np.sqrt(32)
        np.testing.assert_allclose(split[0][:, number, m::-1], content, atol=1e-5)


def test_what_the_terms_say(study):
    waves = study("sinusoidal")
    picture = terms(waves, waves.kinds[0])
    assert [curve.name for curve in picture.curves] == list(TERMS)
    assert "is a function of distance alone" in picture.sentence
    assert "rms of 0.5" in picture.sentence
    index = study("raw_index")
    assert "is no function of distance alone" in terms(index, index.kinds[0]).sentence
    bias = study("alibi")
    assert isinstance(terms(bias, bias.kinds[0]), Absent)


def test_vectors_that_depend_on_the_input_are_not_split(foreign):
    mine = foreign(
        """
        shift_invariant = False

        def embed(self, x, positions):
            return x * (1 + positions[..., None])
        """
    )
    assert "depends on the input" in terms(mine, mine.kinds[0]).reason
