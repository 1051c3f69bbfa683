import pytest
import torch

from posexp import AttentionDims, build_scheme


def learned(context_length=16, **parameters):
    dims = AttentionDims(8, 2, context_length=context_length)
    scheme = build_scheme({"name": "learned", **parameters}, dims)
    with torch.no_grad():
        scheme.init_parameter("table", scheme.table, torch.Generator().manual_seed(0))
    return scheme


@pytest.mark.parametrize("positions", [[0, 1, 2, 3], [[3, 0, 15, 1], [0, 0, 0, 1]]])
def test_adds_the_rows(positions):
    scheme, x = learned(), torch.randn(2, 4, 8)
    found = scheme.embed(x, torch.tensor(positions))
    rows = positions if isinstance(positions[0], list) else [positions, positions]
    for b in range(2):
        for t in range(4):
            torch.testing.assert_close(found[b, t], x[b, t] + scheme.table[rows[b][t]])


def test_one_position_too_many():
    """P26."""
    scheme = learned(16)
    scheme.embed(torch.zeros(1, 16, 8), torch.arange(16))
    with pytest.raises(ValueError, match=r"17 tokens is longer than max_length=16"):
        scheme.embed(torch.zeros(1, 17, 8), torch.arange(17))
    with pytest.raises(ValueError, match=r"position 16 is outside the table of 16"):
        scheme.embed(torch.zeros(1, 1, 8), torch.tensor([16]))


def test_pads_before_a_full_sequence_are_no_positions():
    """19 columns, of which 3 are pads at position 0, are 16 tokens."""
    positions = torch.cat((torch.zeros(3, dtype=torch.long), torch.arange(16)))
    assert learned(16).embed(torch.zeros(1, 19, 8), positions).shape == (1, 19, 8)


def test_length_is_the_training_length_unless_given():
    assert learned(24).max_length == 24
    assert learned(24, max_length=32).table.shape == (32, 8)
    with pytest.raises(ValueError, match="max_length must be at least 1, got 0"):
        learned(max_length=0)


def test_initialisation():
    table = learned(4096).table
    assert table.std().item() == pytest.approx(0.02, rel=0.02)
    assert abs(table.mean().item()) < 1e-3


def test_gradient_reaches_the_rows_that_were_used():
    scheme = learned()
    scheme.embed(torch.zeros(1, 3, 8), torch.tensor([0, 2, 2])).sum().backward()
    assert scheme.table.grad[:4].sum(-1).tolist() == [8, 0, 16, 0]
