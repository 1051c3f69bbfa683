import pytest

from posexp import AttentionDims
from posexp.model import ModelConfig


def make(**changes):
    return ModelConfig(**{"n_layers": 2, "d_model": 64, "n_heads": 4} | changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"norm": "layernom"}, "did you mean 'layernorm'"),
        ({"activation": "mish"}, "valid: gelu, gelu_tanh, relu, swiglu, geglu, geglu_tanh"),
        ({"residual": "paralel"}, "did you mean 'parallel'"),
        ({"norm": "rmsnorm", "norm_bias": True}, "RMSNorm has none"),
        ({"norm_eps": 0.0}, "model.norm_eps must be positive"),
        ({"vocabulary": 0}, "model.vocabulary must be at least 1"),
        ({"attention": "lattent"}, "did you mean 'latent'.*valid: softmax, latent, linear"),
        ({"latent_width": 8}, "latent_width=8 goes with model.attention=latent only"),
        ({"rotary_width": 0, "attention": "latent"}, "rotary_width must be at least 1, got 0"),
        ({"n_kv_heads": 1, "attention": "latent"}, "n_kv_heads=1 does not go with"),
        ({"qk_norm": "befor"}, "did you mean 'before'"),
        ({"qk_norm_affine": False}, "needs model.qk_norm=before or after"),
        ({"dropout": 1.0}, "in \\[0, 1\\), got 1.0"),
        ({"attention_dropout": -0.1}, "model.attention_dropout"),
    ],
)
def test_a_bad_value_is_named_with_the_valid_ones(changes, words):
    with pytest.raises(ValueError, match=words):
        make(**changes)


def test_feed_forward_widths_have_about_equal_parameters():
    # GELU has two matrices D x 4D; SwiGLU three of D x 8/3 D, here rounded up to 192.
    assert make().feed_forward_width == 256
    assert make(activation="swiglu").feed_forward_width == 192
    assert make(d_ff=100, activation="swiglu").feed_forward_width == 100


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"d_model": 10, "n_heads": 4}, "nearest valid d_model: 8"),
        ({"d_model": 16, "n_heads": 4, "n_kv_heads": 3}, "valid: 1, 2, 4"),
        ({"d_model": 16, "n_heads": 0}, "n_heads must be at least 1"),
        ({"d_model": 16, "n_heads": 4, "d_head": 0}, "d_head must be at least 1"),
    ],
)
def test_sizes_that_do_not_divide_are_refused(sizes, words):
    """P25's second half: 4 query heads on 3 key/value heads."""
    with pytest.raises(ValueError, match=words):
        AttentionDims(**sizes)
