import torch

from posexp import AttentionDims, build_scheme


def test_identity():
    scheme = build_scheme({"name": "nope"}, AttentionDims(8, 2))
    positions, x, q = torch.arange(3), torch.randn(1, 3, 8), torch.randn(1, 2, 3, 4)
    assert scheme.acts_on == frozenset()
    assert scheme.embed(x, positions) is x
    assert scheme.transform_query(q, positions) is q
    assert scheme.transform_key(q, positions) is q
    assert scheme.bias(positions, positions) is None
    assert scheme.mask(positions, positions) is None
    assert list(scheme.parameters()) == []
