"""Decoding from a cache against one pass over the whole, for every registered scheme."""

import pytest
import torch

from posexp import Compose, PositionScheme, SlidingWindow, build_scheme, with_span
from posexp.model import Cache, ModelConfig, Transformer
from posexp.model.cache import bytes_per_token
from posexp.model.init import init_weights
from posexp.registry import registry

TOKEN_BY_TOKEN = [1] * 10
CHUNKS = [4, 3, 1, 1, 1]
#: Where the defaults would hide something: a window of 32 is none for 24 tokens.
EXAMPLES = {
    "hybrid": [
        {"name": "hybrid", "local_window": 4},
        {"name": "hybrid", "local_window": 4, "local": {"name": "t5"}, "pattern": "GLLL"},
    ]
}
CONFIGS = [c for name in registry().names for c in EXAMPLES.get(name, [{"name": name}])]
#: Every token of these changes with each that is added, at the input of the first layer.
REFUSED = {"normalized_index"}
every_scheme = pytest.mark.parametrize("config", CONFIGS, ids=str)


def model_with(make_scheme, n_layers=4, kernel="auto", causal=True):
    sizes = ModelConfig(
        n_layers=n_layers, d_model=32, n_heads=4, n_kv_heads=2, kernel=kernel, causal=causal
    )
    scheme = make_scheme(sizes.dims(24))
    model = Transformer(sizes, scheme, 29, 24)
    init_weights(model, 0)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.scheme.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return model.eval()


def model_of(config, window=None, **sizes):
    return model_with(lambda dims: with_span(build_scheme(config, dims), window), **sizes)


def some_tokens(rows, length):
    return torch.randint(29, (rows, length), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def decoded(model, tokens, chunks, real=None, **options):
    """The logits of all tokens, chunk by chunk; `real` goes with the first chunk alone."""
    cache, found, start = Cache(**options), [], 0
    for size in chunks:
        piece = tokens[:, start : start + size]
        found.append(model(piece, cache=cache, real=real if start == 0 else None))
        start += size
    assert start == tokens.shape[1] == cache.length
    return torch.cat(found, dim=1)


def same(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@every_scheme
@pytest.mark.parametrize("chunks", [TOKEN_BY_TOKEN, CHUNKS], ids=str)
@torch.no_grad()
def test_any_chunking_equals_the_full_pass(config, chunks):
    """P12 and P13."""
    model, tokens = model_of(config), some_tokens(2, 10)
    if config["name"] in REFUSED:
        with pytest.raises(ValueError, match="nothing can be cached"):
            decoded(model, tokens, chunks)
        return
    same(decoded(model, tokens, chunks), model(tokens))


@every_scheme
@torch.no_grad()
def test_left_padding_then_cached_steps(config):
    """P11: rows of 6 and 9 tokens, each as if it stood alone."""
    if config["name"] in REFUSED:
        return
    model, tokens = model_of(config), some_tokens(2, 14)
    real = torch.ones(2, 9, dtype=torch.bool)
    real[0, :3] = False
    found = decoded(model, tokens, [9, 1, 3, 1], real)
    for row, pads in ((0, 3), (1, 0)):
        same(found[row, pads:], model(tokens[row : row + 1, pads:])[0])


@torch.no_grad()
def test_padding_over_several_chunks():
    model, tokens = model_of({"name": "rope"}, window=4), some_tokens(2, 14)
    real = torch.ones(2, 14, dtype=torch.bool)
    real[0, :6] = False
    cache, found = Cache(), []
    for start, stop in ((0, 2), (2, 5), (5, 9), (9, 14)):
        found.append(model(tokens[:, start:stop], real=real[:, start:stop], cache=cache))
    found = torch.cat(found, dim=1)
    same(found[0, 6:], model(tokens[:1, 6:])[0])
    same(found[1], model(tokens[1:])[0])


@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "shaw", "learned"])
@pytest.mark.parametrize("window", [1, 2, 5])
@torch.no_grad()
def test_windows_are_kept_and_nothing_more(name, window):
    model, tokens = model_of({"name": name}, window), some_tokens(2, 24)
    cache, found = Cache(), []
    for start, size in ((0, 9), (9, 1), (10, 1), (11, 6), (17, 7)):
        found.append(model(tokens[:, start : start + size], cache=cache))
        assert {layer.length for layer in cache.layers.values()} == {window - 1}
    same(torch.cat(found, dim=1), model(tokens))
    assert cache.nbytes == 4 * 2 * (window - 1) * bytes_per_token(model.dims)


@torch.no_grad()
def test_layers_with_and_without_a_window():
    model, tokens = model_of({"name": "hybrid", "local_window": 4}), some_tokens(1, 20)
    cache = Cache()
    for start in range(0, 20, 5):
        model(tokens[:, start : start + 5], cache=cache)
    assert [cache.layers[i].length for i in range(4)] == [3, 3, 3, 20]


def test_bytes_per_token():
    """2 key/value heads of width 8, keys and values: 32 numbers."""
    model = model_of({"name": "nope"})
    assert bytes_per_token(model.dims) == 2 * 2 * 8 * 4
    assert bytes_per_token(model.dims, torch.bfloat16) == 2 * 2 * 8 * 2
    cache = Cache()
    model(some_tokens(3, 7), cache=cache)
    assert cache.nbytes == 4 * 3 * 7 * bytes_per_token(model.dims)


class Paired(PositionScheme):
    """Two neighbours share a position, and distances are those of pairs."""

    def remap_positions(self, positions):
        return positions // 2

    def distance_bias(self, n):
        return -0.3 * n.abs().float().expand(4, -1)


@pytest.mark.parametrize("window", [None, 2])
@torch.no_grad()
def test_remapped_positions(window):
    """A window is one of positions: here 2 of them are 3 or 4 keys."""
    model = model_with(lambda dims: with_span(Paired(None, dims), window))
    tokens = some_tokens(2, 15)
    for chunks in ([1] * 15, [5, 7, 3]):
        same(decoded(model, tokens, chunks), model(tokens))


@torch.no_grad()
def test_composed_schemes():
    def make(dims):
        parts = [build_scheme({"name": name}, dims) for name in ("sinusoidal", "rope", "alibi")]
        return Compose(*parts, SlidingWindow(5, dims))

    model, tokens = model_with(make), some_tokens(2, 10)
    same(decoded(model, tokens, CHUNKS), model(tokens))


@pytest.mark.parametrize("kernel", ["sdpa_mask", "tiled", "eager"])
@torch.no_grad()
def test_a_kernel_that_was_asked_for(kernel):
    model, tokens = model_of({"name": "rope"}, kernel=kernel), some_tokens(2, 10)
    same(decoded(model, tokens, CHUNKS), model(tokens))


@torch.no_grad()
def test_autocast_holds_what_it_computes():
    model, tokens = model_of({"name": "alibi"}), some_tokens(1, 20)
    with torch.autocast("cpu", torch.bfloat16):
        found, expected = decoded(model, tokens, [12, 1, 1, 6]), model(tokens)
        cache = Cache()
        model(tokens, cache=cache)
    torch.testing.assert_close(found, expected, atol=0.05, rtol=0)
    assert cache.nbytes == 4 * 20 * bytes_per_token(model.dims, torch.bfloat16)


@torch.no_grad()
def test_beyond_the_positions_that_are_defined():
    """P26 with a cache: a table of 16, with padding that is no position."""
    model, tokens = model_of({"name": "learned", "max_length": 16}), some_tokens(2, 20)
    cache = Cache()
    model(tokens[:, :15], cache=cache)
    with pytest.raises(ValueError, match="17 positions .* defines 16"):
        model(tokens[:, 15:17], cache=cache)
    model(tokens[:, 15:16], cache=cache)  # what raised was not held
    assert cache.length == 16
    real = torch.ones(2, 15, dtype=torch.bool)
    real[:, :3] = False
    found = decoded(model, tokens[:, :19], [15, 1, 3], real)
    same(found[:, 3:], model(tokens[:, 3:19]))


@torch.no_grad()
def test_the_frequencies_of_the_current_length():
    """P08 in a model: after a long sequence a short one is what it was."""
    model = model_of({"name": "dynamic_ntk", "trained_length": 8, "factor": 2.0})
    tokens = some_tokens(1, 20)
    first = model(tokens[:, :6])
    assert not torch.allclose(model(tokens)[:, :6], first, atol=1e-4)
    assert torch.equal(model(tokens[:, :6]), first)


@torch.no_grad()
def test_length_dependence_raises_where_it_begins():
    model, tokens = model_of({"name": "dynamic_ntk", "trained_length": 8}), some_tokens(2, 12)
    same(decoded(model, tokens[:, :8], [4, 3, 1]), model(tokens[:, :8]))
    same(decoded(model, tokens, [12]), model(tokens))  # one pass is one pass
    for chunks in ([8, 4], [4, 8], [9, 3]):
        with pytest.raises(ValueError, match="beyond 8 tokens.*12.*stale=True"):
            decoded(model, tokens, chunks)
    real = torch.ones(2, 10, dtype=torch.bool)
    real[:, :4] = False
    same(decoded(model, tokens, [10, 2], real)[:, 4:], model(tokens[:, 4:]))


@torch.no_grad()
def test_stale_values_are_those_of_the_full_pass_in_one_layer():
    """No layer stands on another's earlier results: the newest token is exact at every length."""
    config = {"name": "dynamic_ntk", "trained_length": 8, "factor": 2.0}
    tokens = some_tokens(2, 14)
    real = torch.ones(2, 9, dtype=torch.bool)
    real[0, :2] = False
    for n_layers, exact in ((1, True), (3, False)):
        model = model_of(config, n_layers=n_layers)
        cache = Cache(stale=True)
        model(tokens[:, :9], real=real, cache=cache)
        gap = 0.0
        for t in range(9, 14):
            found = model(tokens[:, t : t + 1], cache=cache)
            for row, pads in ((0, 2), (1, 0)):
                expected = model(tokens[row : row + 1, pads : t + 1])[:, -1]
                gap = max(gap, (found[row] - expected).abs().max().item())
        assert (gap < 1e-5) == exact


@torch.no_grad()
def test_a_part_that_depends_on_the_length():
    """In some layers, and composed: the smallest of the lengths up to which all stays the same."""
    hybrid = {
        "name": "hybrid",
        "local": {"name": "dynamic_ntk", "trained_length": 12},
        "global_": {"name": "dynamic_ntk", "trained_length": 9},
        "local_window": 4,
    }
    tokens = some_tokens(2, 14)
    for model in (
        model_of(hybrid),
        model_with(
            lambda dims: Compose(
                build_scheme({"name": "dynamic_ntk", "trained_length": 9}, dims),
                build_scheme({"name": "alibi"}, dims),
            )
        ),
    ):
        assert model.scheme.steady_until == 9
        same(decoded(model, tokens[:, :9], [4, 1, 4]), model(tokens[:, :9]))
        with pytest.raises(ValueError, match="beyond 9 tokens"):
            decoded(model, tokens[:, :10], [9, 1])
        decoded(model, tokens, [9, 5], stale=True)


@pytest.mark.parametrize("name", ["normalized_index"])
def test_stale_is_no_way_round_the_input(name):
    with pytest.raises(ValueError, match="acts on embed"):
        decoded(model_of({"name": name}), some_tokens(1, 4), [2, 2], stale=True)


def test_what_a_cache_does_not_take():
    model, tokens = model_of({"name": "nope"}), some_tokens(2, 6)
    cache = Cache()
    with pytest.raises(ValueError, match="documents"):
        model(tokens, documents=torch.zeros(2, 6), positions=torch.arange(6), cache=cache)
    with pytest.raises(ValueError, match="positions="):
        model(tokens, positions=torch.arange(6), cache=cache)
    model(tokens, cache=cache)
    with pytest.raises(ValueError, match="holds 2 rows, and 3"):
        model(some_tokens(3, 1), cache=cache)
    bidirectional = model_of({"name": "nope"}, causal=False)
    with pytest.raises(ValueError, match="causal"):
        bidirectional(tokens, cache=Cache())


def test_padding_on_the_right_is_refused():
    """The next token would stand beside the padding, not beside the last token."""
    model, tokens = model_of({"name": "alibi"}), some_tokens(2, 6)
    real = torch.ones(2, 6, dtype=torch.bool)
    real[1, 4:] = False
    with pytest.raises(ValueError, match="row 1 has padding behind a token"):
        model(tokens, real=real, cache=Cache())
    cache = Cache()
    model(tokens, cache=cache)
    real[1, :2], real[1, 2:] = False, True
    with pytest.raises(ValueError, match="row 1 has padding behind a token"):
        model(tokens, real=real, cache=cache)
