"""A small transformer with any scheme, and its initial weights."""

import pytest
import torch

from posexp import PositionScheme, build_scheme
from posexp.model import Layout, ModelConfig, Transformer
from posexp.model.init import init_weights
from posexp.model.variants import attentions

VOCABULARY = 23


@pytest.fixture
def make_model():
    def make(
        scheme=None, *, seed=0, n_layers=2, d_model=16, n_heads=4, context_length=16, **config
    ):
        sizes = ModelConfig(n_layers=n_layers, d_model=d_model, n_heads=n_heads, **config)
        dims = sizes.dims(context_length)
        built = PositionScheme(None, dims) if scheme is None else scheme(dims)
        model = Transformer(sizes, built, VOCABULARY, context_length)
        init_weights(model, seed)
        return model.eval()

    return make


@pytest.fixture
def tokens():
    return torch.randint(VOCABULARY, (2, 10), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def make_layer():
    """`make_layer({"name": "rope"}, attention="latent")`: a layer, and a call of it with x."""

    def make(scheme, *, number=0, n_layers=4, d_model=32, n_heads=4, **config):
        sizes = ModelConfig(n_layers=n_layers, d_model=d_model, n_heads=n_heads, **config)
        dims = sizes.dims(16)
        whole = build_scheme(scheme, dims)
        module, own = attentions(sizes, dims, whole)[number], whole.for_layer(number)
        generator = torch.Generator().manual_seed(0)
        for parameter in module.parameters():
            # Norms are not all ones either, so that they cannot be left out.
            drawn = torch.randn(parameter.shape, generator=generator)
            parameter.data = 1 + 0.2 * drawn if parameter.ndim == 1 else 0.3 * drawn

        def call(x, **layout):
            laid_out = Layout.of_tokens(x[..., 0], causal=sizes.causal, **layout)
            *_, most_general = module.legal_kernels(sizes, own)
            return module(x, own, laid_out, most_general, most_general.prepare(own, laid_out))

        return module, call

    return make
