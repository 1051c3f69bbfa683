import math

import pytest
import torch

from posexp import AttentionDims, build_scheme


def t5(causal=True, n_heads=4, **parameters):
    dims = AttentionDims(8 * n_heads, n_heads, causal=causal)
    return build_scheme({"name": "t5", **parameters}, dims)


def reference(n, buckets, max_distance, causal):
    """The definition in float64, by if and else."""
    if not causal:
        half = buckets // 2
        return (half if n < 0 else 0) + reference(abs(n), half, max_distance, True)
    n, exact = max(n, 0), buckets // 2
    if n < exact:
        return n
    share = math.log(n / exact) / math.log(max_distance / exact)
    return min(exact + math.trunc(share * (buckets - exact)), buckets - 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_buckets_by_hand(dtype):
    """P21, given as key - query."""
    n = -torch.tensor([-7, -8, -16, -64, -127, -1000, 1, 8, 1000])
    found = t5(causal=False).to(dtype).bucket(n).tolist()
    assert found == [7, 8, 10, 14, 15, 15, 17, 24, 31]
    assert t5(causal=True).to(dtype).bucket(n).tolist() == [7, 8, 16, 26, 31, 31, 0, 0, 0]


@pytest.mark.parametrize(
    ("causal", "edges"),
    [
        (True, [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]),
        (False, [8, 12, 16, 23, 32, 46, 64, 91]),
    ],
)
def test_first_distance_of_each_logarithmic_bucket(causal, edges):
    n = torch.arange(0, 1000)
    buckets = t5(causal=causal).bucket(n).tolist()
    exact = edges[0]
    assert buckets[:exact] == list(range(exact))
    assert [buckets.index(exact + step) for step in range(len(edges))] == edges
    assert buckets[-1] == exact + len(edges) - 1


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("sizes", [(32, 128), (32, 32), (8, 20), (64, 1000), (6, 17), (128, 4096)])
def test_against_the_definition(causal, sizes):
    buckets, max_distance = sizes
    found = t5(causal=causal, buckets=buckets, max_distance=max_distance).bucket(
        torch.arange(-1500, 1501)
    )
    for n, bucket in zip(range(-1500, 1501), found.tolist(), strict=True):
        expected = reference(n, buckets, max_distance, causal)
        # float64 logarithms may fall just short of a whole number: there the next one is right.
        near_edge = reference(n + (1 if n >= 0 else -1) * 1e-9, buckets, max_distance, causal)
        assert bucket in (expected, near_edge), n


@pytest.mark.parametrize("causal", [True, False])
def test_against_transformers(causal):
    from transformers.models.t5.modeling_t5 import T5Attention

    n = torch.arange(-1000, 1001)
    expected = T5Attention._relative_position_bucket(
        -n, bidirectional=not causal, num_buckets=32, max_distance=128
    )
    assert torch.equal(t5(causal=causal).bucket(n), expected)


def test_bias_is_a_row_of_the_table():
    scheme = t5(n_heads=2)
    with torch.no_grad():
        scheme.table.copy_(torch.arange(64.0).view(32, 2))
    bias = scheme.distance_bias(torch.tensor([0, 5, 18, 500]))
    assert bias.tolist() == [[0, 10, 32, 62], [1, 11, 33, 63]]
    dense = scheme.bias(torch.tensor([0, 500]), torch.tensor([0, 1]))
    assert dense[1].tolist() == [[1, 1], [63, 63]]


def test_bias_is_float32_in_a_bfloat16_model():
    assert t5().bfloat16().distance_bias(torch.arange(4)).dtype == torch.float32


def test_table_starts_at_zero():
    table = t5().table
    with torch.no_grad():
        table.fill_(1.0)
        t5().init_parameter("table", table, torch.Generator())
    assert table.abs().max() == 0


def test_logit_scale_is_the_models_unless_given():
    assert t5().logit_scale is None
    assert t5(logit_scale=1.0).logit_scale == 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"buckets": 129}, r"more buckets \(129\) than max_distance=128; at most 128"),
        ({"buckets": 1}, "at least 2, got 1"),
        ({"buckets": 31, "causal": False}, "even number from 4 on, got 31; nearest: 30"),
        ({"buckets": 2, "causal": False}, "even number from 4 on, got 2; nearest: 4"),
        ({"logit_scale": 0.0}, "logit_scale must be positive, got 0.0"),
    ],
)
def test_refusals(parameters, message):
    with pytest.raises(ValueError, match=message):
        t5(**parameters)
