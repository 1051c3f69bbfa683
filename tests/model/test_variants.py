"""Every registered scheme with every kind of attention: it is refused by name, or all holds."""

import pytest
import torch

from posexp import PositionScheme, build_scheme, with_span
from posexp.catalogue.decoding import cache as page
from posexp.catalogue.exhibit import Exhibit
from posexp.model import Cache, ModelConfig, Transformer, chunkwise
from posexp.model.config import ATTENTIONS
from posexp.model.init import init_weights
from posexp.model.variants import KINDS, IllegalAttentionError
from posexp.registry import registry
from posexp.scheme import ACTIONS

LATENT = {"attention": "latent", "latent_width": 12, "rotary_width": 8}
VARIANTS = {
    "latent": LATENT,
    "linear": {"attention": "linear", "n_kv_heads": 2},
    "norm before": {"qk_norm": "before", "n_kv_heads": 2},
    "norm after": {"qk_norm": "after", "n_kv_heads": 2},
    "chunks": {"chunk": 5, "n_kv_heads": 2},
}
#: Where the defaults would leave nothing to see, or nothing that is legal.
EXAMPLES = {
    "hybrid": {"name": "hybrid", "local_window": None, "pattern": "LG"},
    "scaled_nope": {"name": "scaled_nope", "interval": 3},
}
#: What a cache refuses, whatever the attention.
UNCACHED = {"normalized_index"}
SCHEMES = [EXAMPLES.get(name, {"name": name}) for name in registry().names]
#: What each may not act on.
FORBIDDEN = {
    "latent": {"distance_keys", "distance_values", "adjust_scores", "adjust_output"},
    "linear": set(ACTIONS) - {"remap_positions", "embed", "transform_query", "transform_key"},
}


def model_of(scheme, chunk=None, **config):
    sizes = ModelConfig(**{"n_layers": 2, "d_model": 32, "n_heads": 4} | config)
    dims = sizes.dims(24)
    model = Transformer(sizes, with_span(build_scheme(scheme, dims), chunk=chunk), 29, 24)
    init_weights(model, 0)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.scheme.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return model.eval()


def some_tokens(length, rows=2):
    return torch.randint(29, (rows, length), generator=torch.Generator().manual_seed(1))


def same(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def decoded(model, tokens, chunks, real=None):
    cache, found, start = Cache(), [], 0
    for size in chunks:
        piece = tokens[:, start : start + size]
        found.append(model(piece, cache=cache, real=real if start == 0 else None))
        start += size
    return torch.cat(found, dim=1)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme["name"])
def test_every_scheme_is_served_or_refused(monkeypatch, scheme, variant):
    monkeypatch.setattr(chunkwise, "CHUNK", 4)
    try:
        model = model_of(scheme, **VARIANTS[variant])
    except IllegalAttentionError as refusal:
        _is_due(str(refusal), scheme, variant)
        return
    parts = [model.scheme.for_layer(i) for i in range(2)]
    assert not any(part.acts_on & FORBIDDEN.get(variant, set()) for part in parts)
    _rows_stand_alone(model)
    if scheme["name"] not in UNCACHED:
        _cached_equals_full(model)
    _trains_and_rounds(model)


def _is_due(message, scheme, variant):
    """It names what forbids it, and every scheme that is refused acts on something forbidden."""
    parts = [model_of(scheme).scheme.for_layer(i) for i in range(2)]
    if variant == "norm after":
        assert not any("transform_key" in part.acts_on for part in parts)
        assert "transform_key" in message
        return
    forbidden = [part.acts_on & FORBIDDEN[variant] for part in parts]
    named = next(methods for methods in forbidden if methods)
    assert f"model.attention={variant} cannot serve" in message
    assert all(method in message for method in named)


@torch.no_grad()
def _rows_stand_alone(model):
    """Left padding and packed documents against each sequence alone."""
    tokens = some_tokens(14)
    real = torch.ones(2, 14, dtype=torch.bool)
    real[0, :3] = False
    padded = model(tokens, real=real)
    same(padded[:1, 3:], model(tokens[:1, 3:]))
    same(padded[1:], model(tokens[1:]))
    documents = torch.tensor([0] * 6 + [1] * 8).repeat(2, 1)
    positions = torch.tensor([*range(6), *range(8)]).repeat(2, 1)
    if "remap_positions" in model.scheme.acts_on or model.scheme.length_dependent:
        return
    packed = model(tokens, documents=documents, positions=positions)
    same(packed[:, :6], model(tokens[:, :6]))
    same(packed[:, 6:], model(tokens[:, 6:]))


@torch.no_grad()
def _cached_equals_full(model):
    tokens = some_tokens(16)
    full = model(tokens)
    for chunks in ([1] * 16, [4, 3, 1, 1, 7]):
        same(decoded(model, tokens, chunks), full)
    real = torch.ones(2, 9, dtype=torch.bool)
    real[0, :3] = False
    found = decoded(model, tokens, [9, 1, 3, 1], real)
    same(found[0, 3:], model(tokens[:1, 3:14])[0])
    same(found[1], full[1, :14])


def _trains_and_rounds(model):
    """Every parameter gets a finite gradient, and bfloat16 autocast changes the last digits."""
    tokens = some_tokens(14)
    real = torch.ones(2, 14, dtype=torch.bool)
    real[0, :3] = False
    logits = model(tokens, real=real)
    logits.logsumexp(-1)[real].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        rounded = model(tokens, real=real)
    torch.testing.assert_close(rounded[real], logits.detach()[real], atol=0.15, rtol=0)


@pytest.mark.parametrize("variant", ["latent", "linear", "norm before", "norm after", "chunks"])
@torch.no_grad()
def test_bidirectional(monkeypatch, variant):
    """Padding is invisible, and every token sees the ones after it (in its chunk)."""
    monkeypatch.setattr(chunkwise, "CHUNK", 4)
    model, tokens = model_of({"name": "rope"}, causal=False, **VARIANTS[variant]), some_tokens(13)
    real = torch.ones(2, 13, dtype=torch.bool)
    real[0, :3] = False
    padded = model(tokens, real=real)
    same(padded[:1, 3:], model(tokens[:1, 3:]))
    changed = tokens.clone()
    changed[:, 3] = (tokens[:, 3] + 1) % 29
    assert (model(changed) - model(tokens))[:, 0].abs().max() > 1e-4


@pytest.mark.parametrize(
    "config", [{}, {"n_kv_heads": 1}, LATENT, {"attention": "latent"}, {"attention": "linear"}]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.no_grad()
def test_the_bytes_that_are_told_are_held(config, dtype):
    """On the page of a scheme and in the class, against what a cache of 3 rows and 7 tokens has."""
    model, cache = model_of({"name": "rope"}, **config), Cache()
    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        model(some_tokens(7, rows=3), cache=cache)
    by_token, fixed = KINDS[model.config.attention].bytes_held(model.config, dtype)
    assert cache.nbytes == 2 * 3 * (7 * by_token + fixed)
    told = page(Exhibit.of("rope", [], model.dims, model.config))[0]
    size = by_token or fixed
    assert f"{size} ({str(dtype).removeprefix('torch.')})" in told
    assert ("whatever the number of tokens" in told) == (by_token == 0)


def test_the_scale_of_the_logits():
    """Heads of 8, and with a shared key of 8 they are 16 wide; without logits there is none."""
    scales = {}
    for name in ("latent", "linear", "chunks"):
        model = model_of({"name": "nope"}, **VARIANTS[name])
        scales[name] = model.blocks[0].attention.logit_scale(model.config, model.scheme)
    assert scales == {"latent": 16**-0.5, "linear": None, "chunks": 8**-0.5}


def test_the_choices_and_the_kinds_are_one_list():
    assert tuple(KINDS) == ATTENTIONS


def test_a_refusal_says_what_can_serve():
    class Scores(PositionScheme):
        def adjust_scores(self, scores, q, k, q_positions, k_positions):
            return 2 * scores

    for attention in ("latent", "linear"):
        sizes = ModelConfig(n_layers=1, d_model=32, n_heads=4, attention=attention)
        words = f"{attention} cannot serve Scores: it acts on adjust_scores.*attention=softmax$"
        with pytest.raises(IllegalAttentionError, match=words):
            Transformer(sizes, Scores(None, sizes.dims(24)), 29, 24)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_one_graph(variant):
    """torch.compile takes each kind whole, and gives the same logits and gradients."""
    config, tokens = VARIANTS[variant], some_tokens(12)
    plain, compiled = (model_of({"name": "rope"}, **config) for _ in range(2))
    torch.compiler.reset()
    compiled.compile(backend="aot_eager", fullgraph=True)
    found = []
    for model in (plain, compiled):
        logits = model(tokens)
        logits.square().sum().backward()
        found.append([logits.detach(), *(p.grad for p in model.parameters())])
    for expected, other in zip(*found, strict=True):
        torch.testing.assert_close(other, expected, atol=1e-4, rtol=1e-4)
