import pytest
import torch

from posexp import AttentionDims, Compose, PositionScheme, SlidingWindow, build_scheme, with_span

DIMS = AttentionDims(d_model=16, n_heads=2, n_layers=4)
POSITIONS = torch.arange(6)


def scheme(name, **parameters):
    return build_scheme({"name": name, **parameters}, DIMS)


def test_transforms_are_chained_and_biases_added():
    both = Compose(scheme("rope"), scheme("alibi"), scheme("alibi"))
    q = torch.randn(1, 2, 6, 8)
    torch.testing.assert_close(
        both.transform_query(q, POSITIONS), scheme("rope").transform_query(q, POSITIONS)
    )
    n = torch.arange(5)
    once = -torch.tensor([[1 / 16], [1 / 256]]) * n
    torch.testing.assert_close(both.distance_bias(n), 2 * once)
    torch.testing.assert_close(both.bias(POSITIONS, POSITIONS)[:, -1, 1:].flip(-1), 2 * once)
    assert both.acts_on == {"transform_query", "transform_key", "distance_slopes"}


def test_masks_are_anded_and_the_smallest_window_and_length_count():
    both = Compose(SlidingWindow(4), SlidingWindow(2), scheme("learned", max_length=9))
    assert both.window == 2
    assert both.max_length == 9
    assert not both.shift_invariant
    assert both.mask(POSITIONS, POSITIONS).sum() == 6 + 2 * 5
    assert Compose(scheme("nope")).mask(POSITIONS, POSITIONS) is None


def test_nope_is_the_identity():
    alone, composed = scheme("shaw"), Compose(scheme("nope"), scheme("shaw"))
    composed.load_state_dict({f"schemes.1.{k}": v for k, v in alone.state_dict().items()})
    n = torch.arange(-3, 4)
    assert torch.equal(composed.distance_keys(n), alone.distance_keys(n))
    assert torch.equal(composed.distance_values(n), alone.distance_values(n))
    assert composed.acts_on == alone.acts_on
    assert composed.for_layer(0) is composed


def test_logit_scales_that_differ_are_refused():
    assert Compose(scheme("t5", logit_scale=1.0), scheme("rope")).logit_scale == 1.0
    with pytest.raises(ValueError, match=r"different logit scales: \[0.5, 1.0\]"):
        Compose(scheme("t5", logit_scale=1.0), scheme("t5", logit_scale=0.5))


def test_layers_of_a_composed_scheme_are_composed():
    per_layer = Compose(scheme("hybrid", pattern="LG"), scheme("alibi"))
    local, global_ = per_layer.for_layer(0), per_layer.for_layer(1)
    assert local.window == 32
    assert global_.window is None
    assert "transform_query" in local.acts_on
    assert "transform_query" not in global_.acts_on


@pytest.mark.parametrize("window", [0, -4])
def test_a_window_without_the_token_itself_is_refused(window):
    """P16: W = -4."""
    with pytest.raises(ValueError, match=f"at least 1 key .*got {window}"):
        SlidingWindow(window)


def test_a_span_is_an_axis_of_its_own():
    rope = scheme("rope")
    assert with_span(rope, None) is rope
    assert with_span(rope, 3).window == 3
    with pytest.raises(ValueError, match="Hybrid sets a span for each layer itself"):
        with_span(scheme("hybrid", pattern="LG"), 3)


def test_a_span_in_chunks():
    spanned = with_span(scheme("rope"), chunk=3)
    assert (spanned.chunk, spanned.window, spanned.reach) == (3, None, 3)
    assert not spanned.shift_invariant
    assert spanned.acts_on == {"transform_query", "transform_key", "chunk"}
    assert spanned.mask(POSITIONS, POSITIONS).sum() == 2 * 9
    both = Compose(spanned, SlidingWindow(2))
    assert both.reach == 2
    assert both.mask(POSITIONS, POSITIONS).sum() == 2 * 7
    with pytest.raises(ValueError, match="a span is one of the two"):
        with_span(scheme("rope"), 4, 3)
    with pytest.raises(ValueError, match="Spanned sets a span for each layer itself .3, 3, 3, 3."):
        with_span(spanned, chunk=2)


def test_one_bias_has_one_form():
    with pytest.raises(TypeError, match="distance_bias and bias: they are forms of one bias"):

        class Both(PositionScheme):
            def distance_bias(self, n):
                return n

            def bias(self, q_positions, k_positions):
                return q_positions
