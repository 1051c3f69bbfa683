"""Scores of given queries and keys at given places, against numbers worked out by hand."""

import numpy as np
import pytest
import torch

from posexp import AttentionDims, PositionScheme, build_scheme
from posexp.explain.meeting import Meeting, heads, standard_normal

ONE_HEAD = AttentionDims(d_model=8, n_heads=1, context_length=600, causal=False)


def score(scheme, dims, q, k, query, key):
    """q·k without 1/sqrt(d), for a query and a key at two positions."""
    positions = torch.tensor([query, key])
    x_query, x_key = (torch.as_tensor(x, dtype=torch.float32).expand(1, 2, -1) for x in (q, k))
    found = Meeting.of(scheme, scheme.for_layer(0), dims, x_query, x_key, positions, causal=False)
    return found.scores[0, 0, 0, 1].item() * dims.d_head**0.5


@pytest.mark.parametrize(
    ("layout", "ahead", "expected"),
    [
        ("interleaved", 4, -1.83359584),
        ("half", 4, -4.08262099),
        ("interleaved", -4, -1.30211533),
        ("half", -4, -2.69042840),
    ],
)
def test_rotated_scores_of_a_seed(layout, ahead, expected):
    """q and k of default_rng(0), the key `ahead` places after the query, wherever they stand."""
    random = np.random.default_rng(0)
    q, k = random.normal(size=8), random.normal(size=8)
    scheme = build_scheme({"name": "rope", "layout": layout}, ONE_HEAD)
    for query in (4, 50, 300):
        assert score(scheme, ONE_HEAD, q, k, query, query + ahead) == pytest.approx(
            expected, abs=2e-4
        )


def test_scores_that_decay_with_distance():
    random = np.random.default_rng(0)
    q, k = random.normal(size=8), random.normal(size=8)
    for name, expected in (("xpos", -1.94033705), ("rope", -2.58693118)):
        scheme = build_scheme({"name": name}, ONE_HEAD)
        assert score(scheme, ONE_HEAD, q, k, 512, 0) == pytest.approx(expected, abs=2e-4)


def test_a_turn_of_a_tenth_wherever_the_pair_stands(foreign):
    """theta = 0.1, q = (1, 0), k = (0, 1): the key 3 places on gives -sin 0.3, 3 back sin 0.3."""
    study = foreign(
        """
        def transform_query(self, q, positions):
            angles = self.config.rate * positions[..., None, :].float()
            cos, sin, a, b = angles.cos(), angles.sin(), q[..., 0], q[..., 1]
            return torch.stack((a * cos - b * sin, a * sin + b * cos), -1)

        def transform_key(self, k, positions):
            return self.transform_query(k, positions)
        """,
        sizes={"d_model": 2, "n_heads": 1, "causal": False},
    )
    for query in (0, 10, 101):
        for ahead, expected in ((3, -0.29552), (-3, 0.29552)):
            found = score(study.drawn, study.dims, [1, 0], [0, 1], query, query + ahead)
            assert found == pytest.approx(expected, abs=1e-5)


def test_the_order_of_tokens_without_a_mask_and_with_one():
    """Attention without positions: the permuted input gives the permuted output, unless masked."""
    dims = AttentionDims(d_model=16, n_heads=2)
    x, _ = standard_normal(dims, 2, 10)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(1))
    scheme = PositionScheme(dims=dims)
    off = {}
    for causal in (False, True):
        of = [
            Meeting.of(scheme, scheme, dims, y, y, torch.arange(10), causal=causal).out
            for y in (x, x[:, order])
        ]
        off[causal] = (of[0][:, :, order] - of[1]).abs().max().item()
    assert off[False] < 1e-6
    assert off[True] > 0.1


def test_one_query_gets_its_row_of_all():
    dims = AttentionDims(d_model=32, n_heads=4, n_kv_heads=2, context_length=12)
    scheme = build_scheme({"name": "shaw"}, dims)
    with torch.no_grad():
        for parameter in scheme.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(0))
    x = standard_normal(dims, 2, 12)
    whole = Meeting.of(scheme, scheme, dims, *x, torch.arange(12))
    row = Meeting.of(scheme, scheme, dims, *x, torch.arange(12), query=7)
    torch.testing.assert_close(row.scores[:, :, 0], whole.scores[:, :, 7, :8])
    torch.testing.assert_close(row.out[:, :, 0], whole.out[:, :, 7])
    assert (whole.scores[:, :, 7, 8:] == -torch.inf).all()


def test_a_key_head_has_the_columns_of_its_first_query_head():
    dims = AttentionDims(d_model=8, n_heads=4, n_kv_heads=2)
    x = torch.arange(8.0).expand(1, 1, 8)
    assert heads(x, 4, dims)[0, :, 0].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert heads(x, 2, dims)[0, :, 0].tolist() == [[0, 1], [4, 5]]
    wide = AttentionDims(d_model=6, n_heads=2, d_head=4)
    assert heads(x[..., :6], 2, wide)[0, :, 0].tolist() == [[0, 1, 2, 3], [4, 5, 0, 0]]
