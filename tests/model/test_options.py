"""The options that released models differ in, against numpy in float64."""

import math

import numpy as np
import pytest
import torch

N_HEADS, D_HEAD, LENGTH = 3, 6, 7

#: Each option away from its default, alone and with those it goes with.
OPTIONS = {
    "biases": {"qkv_bias": True, "out_bias": True, "feed_forward_bias": True, "norm_bias": True},
    "head_bias": {"head_bias": True, "tie_embeddings": False},
    "head_bias-tied": {"head_bias": True},
    "norm_eps": {"norm_eps": 0.3},
    "rmsnorm": {"norm": "rmsnorm", "norm_eps": 0.3, "post_norm": True},
    "embedding_norm": {"embedding_norm": True, "norm_bias": True},
    "parallel": {"residual": "parallel"},
    "shared": {"residual": "shared"},
    "post_norm": {"post_norm": True},
    "shared-post_norm": {"residual": "shared", "post_norm": True},
    "gelu_tanh": {"activation": "gelu_tanh"},
    "relu": {"activation": "relu", "feed_forward_bias": True},
    "geglu": {"activation": "geglu", "feed_forward_bias": True},
    "geglu_tanh": {"activation": "geglu_tanh"},
}


def erf(x):
    return np.vectorize(math.erf)(x)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FUNCTIONS = {
    "gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": gelu_tanh,
    "relu": lambda x: np.maximum(x, 0),
    "geglu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "geglu_tanh": gelu_tanh,
}


class Derived:
    """The forward pass of a model without positions, from its state dict."""

    def __init__(self, model):
        self.config = model.config
        self.weights = {n: p.detach().double().numpy() for n, p in model.state_dict().items()}

    def linear(self, name, x):
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0.0)

    def norm(self, name, x):
        if f"{name}.weight" not in self.weights:
            return x
        if self.config.norm == "layernorm":
            x = x - x.mean(-1, keepdims=True)
        eps = self.config.norm_eps or 1e-5
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
        return x * self.weights[f"{name}.weight"] + self.weights.get(f"{name}.bias", 0.0)

    def attention(self, at, x):
        q, k, v = (
            self.linear(f"{at}.{name}", x).reshape(LENGTH, N_HEADS, D_HEAD)
            for name in ("query", "key", "value")
        )
        scores = np.einsum("ihd,jhd->hij", q, k) / math.sqrt(D_HEAD)
        scores = np.where(np.tri(LENGTH, dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return self.linear(f"{at}.out", np.einsum("hij,jhd->ihd", weights, v).reshape(LENGTH, -1))

    def feed_forward(self, at, x):
        function = FUNCTIONS[self.config.activation]
        up = self.linear(f"{at}.up", x)
        if self.config.activation.startswith("geglu"):
            return self.linear(f"{at}.down", function(self.linear(f"{at}.gate", x)) * up)
        return self.linear(f"{at}.down", function(up))

    def block(self, at, x):
        normed = self.norm(f"{at}.attention_norm", x)
        attended = self.norm(f"{at}.attention_post_norm", self.attention(f"{at}.attention", normed))
        if self.config.residual == "sequential":
            normed = self.norm(f"{at}.feed_forward_norm", x + attended)
        elif self.config.residual == "parallel":
            normed = self.norm(f"{at}.feed_forward_norm", x)
        fed = self.feed_forward(f"{at}.feed_forward", normed)
        return x + attended + self.norm(f"{at}.feed_forward_post_norm", fed)

    def __call__(self, tokens):
        x = self.weights["embedding.weight"][tokens] * self.config.input_scale
        x = self.norm("embedding_norm", x)
        for i in range(self.config.n_layers):
            x = self.block(f"blocks.{i}", x)
        head = self.weights.get("head.weight", self.weights["embedding.weight"])
        return self.norm("norm", x) @ head.T + self.weights.get("head_bias", 0.0)


@pytest.fixture
def drawn(make_model):
    """A model with every parameter drawn: biases start at 0 and norms at 1, which hides them."""

    def make(**config):
        model = make_model(n_heads=N_HEADS, d_head=D_HEAD, embedding_scale=2.0, **config)
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.2)
        return model

    return make


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_equals_numpy(drawn, option):
    """With 3 heads of width 6 in a model of width 16, which no division gives."""
    model = drawn(**OPTIONS[option])
    tokens = torch.randint(23, (LENGTH,), generator=torch.Generator().manual_seed(0))
    expected = Derived(model)(tokens.numpy())
    found = model(tokens[None])[0].detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    model(tokens[None]).square().mean().backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_biases_start_at_0_and_the_rest_as_without_them(make_model):
    plain = dict(make_model().named_parameters())
    biased = dict(make_model(**OPTIONS["biases"], head_bias=True).named_parameters())
    added = biased.keys() - plain.keys()
    # 4 of attention, 2 of the feed-forward, 2 of norms in each block; the last norm and the head.
    assert len(added) == 2 * 8 + 2
    assert not any(biased[name].any() for name in added)
    assert all(torch.equal(biased[name], plain[name]) for name in plain)


def test_the_vocabulary_may_be_larger_than_the_tokenizers(make_model):
    model = make_model(vocabulary=40, tie_embeddings=False)
    assert model.embedding.num_embeddings == model.head.out_features == 40
