"""A small transformer with any scheme, and its initial weights."""

import pytest
import torch

from posexp import PositionScheme
from posexp.model import ModelConfig, Transformer
from posexp.model.init import init_weights

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
