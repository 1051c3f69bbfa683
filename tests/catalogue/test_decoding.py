import pytest

from posexp import AttentionDims
from posexp.catalogue.decoding import cache
from posexp.catalogue.exhibit import Exhibit

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


def test_what_depends_on_the_length():
    assert "beyond 24 tokens" in lines("dynamic_ntk")[-1]
    (only,) = lines("normalized_index")
    assert only.startswith("none: it depends on the length of the sequence and acts on embed")


def test_bidirectional():
    dims = AttentionDims(32, 4, causal=False)
    assert lines("nope", dims=dims) == ["none: bidirectional attention is not decoded"]
