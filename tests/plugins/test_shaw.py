import math

import pytest
import torch

from posexp import AttentionDims, build_scheme


def shaw(clip=2, causal=True, n_heads=2):
    dims = AttentionDims(4 * n_heads, n_heads, causal=causal)
    scheme = build_scheme({"name": "shaw", "clip": clip}, dims)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in scheme.named_parameters():
            scheme.init_parameter(name, parameter, generator)
    return scheme.double()


def test_rows_by_hand():
    positions = torch.arange(5)
    rows = shaw(2).row(positions[:, None] - positions[None, :])
    assert rows[0].tolist() == [2, 3, 4, 4, 4]
    assert rows[2].tolist() == [0, 1, 2, 3, 4]
    assert rows[4].tolist() == [0, 0, 0, 1, 2]


def test_shapes_are_shared_over_heads():
    scheme = shaw(3)
    assert scheme.key_vectors.shape == scheme.value_vectors.shape == (7, 4)
    assert scheme.distance_keys(torch.arange(6)).shape == (1, 6, 4)
    assert not torch.equal(
        scheme.distance_keys(torch.arange(6)), scheme.distance_values(torch.arange(6))
    )


@pytest.mark.parametrize("causal", [True, False])
def test_attention_against_the_papers_loops(causal):
    """Equations 3 to 5 of the paper, one query at a time, for one head."""
    scheme, length, width, clip = shaw(2, causal), 7, 4, 2
    q, k, v = torch.randn(3, length, width, dtype=torch.float64).unbind()
    a_key, a_value = scheme.key_vectors, scheme.value_vectors

    expected = []
    for i in range(length):
        visible = range(i + 1) if causal else range(length)
        row = [max(-clip, min(clip, j - i)) + clip for j in visible]
        logits = [q[i] @ (k[j] + a_key[r]) / math.sqrt(width) for j, r in zip(visible, row)]  # noqa: B905
        weights = torch.stack(logits).softmax(0)
        terms = zip(weights, visible, row, strict=True)
        expected.append(sum(w * (v[j] + a_value[r]) for w, j, r in terms))

    positions = torch.arange(length)
    n = positions[:, None] - positions[None, :]
    keys = k + scheme.distance_keys(n.flatten())[0].view(length, length, width)
    values = v + scheme.distance_values(n.flatten())[0].view(length, length, width)
    scores = torch.einsum("id,ijd->ij", q / math.sqrt(width), keys)
    scores = scores.masked_fill(n < 0, -math.inf) if causal else scores
    found = torch.einsum("ij,ijd->id", scores.softmax(-1), values)
    torch.testing.assert_close(found, torch.stack(expected))


def test_clip_must_be_positive():
    with pytest.raises(ValueError, match="clip must be at least 1, got 0"):
        shaw(0)
