import pytest

from posexp import AttentionDims
from posexp.catalogue.decoding import cache
from posexp.catalogue.exhibit import Exhibit
from posexp.catalogue.settings import model_of

#: 4 heads of width 8 on 2 key/value heads: 16 numbers each in its key and its value.
DIMS = AttentionDims(d_model=32, n_heads=4, n_layers=4, context_length=24, n_kv_heads=2)


def lines(name, *words, dims=DIMS):
    return cache(Exhibit.of(name, words, dims))


@pytest.mark.parametrize("name", ["nope", "rope", "shaw", "learned"])
def test_bytes(name):
    assert lines(name) == [
        "bytes per token and layer: 128 (float32) or 64 (bfloat16)",
        "every token is held",
    ]


def test_windows_bound_what_is_held():
    assert lines("hybrid", "local_window=6")[1:] == [
        "layers 0-2: the last 5 tokens are held: a window of 6",
        "layer 3: every token is held",
    ]


def test_chunks_bound_what_is_held():
    assert lines("hybrid", "local_window=null", "local_chunk=6")[1:] == [
        "layers 0-2: the last 5 tokens are held: chunks of 6",
        "layer 3: every token is held",
    ]


def in_model(name, *settings):
    model = model_of(DIMS, settings)
    return cache(Exhibit.of(name, [], model.dims(24), model))


def test_other_kinds_of_attention():
    """A latent of 24 and a key of 6: 30 numbers of a token. Sums of 2 heads: 2 (8 x 8 + 8)."""
    with pytest.raises(ValueError, match="n_kv_heads=2 does not go with"):
        in_model("rope", "model.attention=latent")
    widths = ("model.latent_width=24", "model.rotary_width=6", "model.n_kv_heads=null")
    assert in_model("rope", "model.attention=latent", *widths) == [
        "bytes per token and layer: 120 (float32) or 60 (bfloat16)",
        "every token is held",
    ]
    assert in_model("rope", "model.attention=linear") == [
        "bytes per layer, whatever the number of tokens: 576 (float32) or 576 (bfloat16)"
    ]
    assert in_model("dynamic_ntk", "model.attention=linear")[1:] == [
        "refused beyond 24 tokens: sums are not transformed again"
    ]
    assert in_model("alibi", "model.attention=linear") == ["none: linear attention cannot serve it"]


def test_what_depends_on_the_length():
    assert "beyond 24 tokens" in lines("dynamic_ntk")[-1]
    (only,) = lines("normalized_index")
    assert only.startswith("none: it depends on the length of the sequence and acts on embed")


def test_bidirectional():
    dims = AttentionDims(32, 4, causal=False)
    assert lines("nope", dims=dims) == ["none: bidirectional attention is not decoded"]
