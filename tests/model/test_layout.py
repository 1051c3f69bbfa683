import pytest
import torch

from posexp.model import Layout

EVERY = torch.zeros(1, 8, dtype=torch.long)


def as_rows(mask):
    return ["".join(str(int(x)) for x in row) for row in mask]


def test_two_queries_on_five_keys_align_at_the_end():
    """P14: torch's own is_causal aligns at the beginning instead."""
    layout = Layout(torch.tensor([3, 4]), torch.arange(5))
    assert as_rows(layout.visible()) == ["11110", "11111"]


def test_left_padding_counts_real_tokens_and_hides_pads():
    real = torch.tensor([[False, False, True, True], [True, True, True, True]])
    layout = Layout.of_tokens(torch.zeros(2, 4), real=real)
    assert layout.q_positions.tolist() == [[0, 0, 0, 1], [0, 1, 2, 3]]
    visible = layout.visible()
    assert as_rows(visible[0, 0]) == ["0000", "0000", "0010", "0011"]
    assert as_rows(visible[1, 0]) == ["1000", "1100", "1110", "1111"]


def test_documents_do_not_see_one_another():
    documents = torch.tensor([[0, 0, 1, 1]])
    layout = Layout.of_tokens(
        torch.zeros(1, 4), documents=documents, positions=torch.tensor([[0, 1, 0, 1]])
    )
    assert as_rows(layout.visible()[0, 0]) == ["1000", "1100", "0010", "0011"]
    assert layout.consecutive
    assert not layout.is_plain


def test_packed_documents_need_their_positions():
    with pytest.raises(ValueError, match="need their positions"):
        Layout.of_tokens(torch.zeros(1, 4), documents=torch.zeros(1, 4))


def test_given_positions_are_not_taken_for_consecutive():
    layout = Layout.of_tokens(torch.zeros(1, 3), positions=torch.tensor([0, 4, 9]))
    assert not layout.consecutive
    assert not layout.is_plain
    assert layout.distance().tolist() == [[0, -4, -9], [4, 0, -5], [9, 5, 0]]


def test_without_causality_everything_is_visible():
    assert Layout.of_tokens(EVERY, causal=False).visible() is None
