import pytest
import torch

from posexp import Compose, PositionScheme, SlidingWindow
from posexp.model import Layout
from posexp.model.kernels import KERNELS, IllegalKernelError, kernel_for, legal_kernels


class Slopes(PositionScheme):
    def distance_slopes(self, device):
        return torch.tensor([0.5, 0.25, 0.125, 0.1], device=device)


class Scores(PositionScheme):
    def adjust_scores(self, scores, q, k, q_positions, k_positions):
        return scores * 2


def choose(scheme, requested="auto", causal=True, dropout=0.0):
    return legal_kernels(requested, scheme, causal, dropout)[0].name


def test_auto_takes_the_fastest_that_is_legal():
    assert choose(PositionScheme()) == "sdpa"
    assert choose(SlidingWindow(3)) == "folded"
    assert choose(SlidingWindow(3), causal=False) == "sdpa_mask"
    assert choose(Slopes()) == "key_side"
    assert choose(Scores()) == "tiled"
    assert choose(Slopes(), causal=False) == "by_distance"
    assert choose(Compose(Slopes(), SlidingWindow(3))) == "by_distance"
    assert choose(PositionScheme(), dropout=0.1) == "eager"


@pytest.mark.parametrize(
    ("scheme", "requested", "dropout", "words"),
    [
        (Scores(), "sdpa", 0.0, "acts on adjust_scores, which sdpa does not.*use tiled or eager"),
        (
            Slopes(),
            "sdpa",
            0.0,
            "acts on distance_slopes.*use key_side or by_distance or tiled or eager",
        ),
        (PositionScheme(), "key_side", 0.0, "no distance_slopes"),
        (PositionScheme(), "sdpa", 0.1, "dropout on attention weights exists only in the eager"),
        (PositionScheme(), "spda", 0.0, "did you mean 'sdpa'.*valid: auto, sdpa"),
    ],
)
def test_an_illegal_request_names_the_method_and_the_way_out(scheme, requested, dropout, words):
    with pytest.raises(IllegalKernelError, match=words):
        choose(scheme, requested, dropout=dropout)


def test_a_request_is_not_left_for_another_kernel_silently():
    padded = Layout.of_tokens(torch.zeros(1, 4), real=torch.tensor([[False, True, True, True]]))
    legal = legal_kernels("auto", Slopes(), True, 0.0)
    assert kernel_for(Layout.of_tokens(torch.zeros(1, 4)), legal).name == "key_side"
    assert kernel_for(padded, legal).name == "tiled"
    with pytest.raises(
        IllegalKernelError, match="key_side does not serve.*padding.*use kernel=auto"
    ):
        kernel_for(padded, [KERNELS["key_side"]])
