import math

import numpy as np
import pytest
import torch

from posexp import PositionScheme, SlidingWindow
from posexp.model import Layout


class AddPosition(PositionScheme):
    """Adds the position to every coordinate."""

    shift_invariant = False

    def embed(self, x, positions):
        return x + positions[..., None]


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def test_a_forward_pass_equals_numpy(make_model, tokens):
    """An independent derivation of the whole model: NoPE, one head at a time, in float64."""
    model = make_model(embedding_scale=3.0)
    weights = {name: p.detach().double().numpy() for name, p in model.named_parameters()}
    x = 3.0 * weights["embedding.weight"][tokens.numpy()]
    n_heads, d_head = 4, 4
    causal = np.tril(np.ones((10, 10), dtype=bool))
    for i in range(2):
        at = f"blocks.{i}."
        normed = layer_norm(x)
        heads = []
        for h in range(n_heads):
            rows = slice(h * d_head, (h + 1) * d_head)
            q = normed @ weights[at + "attention.query.weight"][rows].T
            k = normed @ weights[at + "attention.key.weight"][rows].T
            v = normed @ weights[at + "attention.value.weight"][rows].T
            scores = np.where(causal, q @ k.transpose(0, 2, 1) / math.sqrt(d_head), -np.inf)
            heads.append(softmax(scores) @ v)
        x = x + np.concatenate(heads, -1) @ weights[at + "attention.out.weight"].T
        hidden = gelu(layer_norm(x) @ weights[at + "feed_forward.up.weight"].T)
        x = x + hidden @ weights[at + "feed_forward.down.weight"].T
    logits = layer_norm(x) @ weights["embedding.weight"].T
    np.testing.assert_allclose(model(tokens).detach().numpy(), logits, atol=1e-5)


@pytest.mark.parametrize("causal", [True, False])
def test_a_window_counts_the_token_itself(make_model, causal):
    """P15: one layer, T=8, W=3: 21 influencing pairs when causal, 34 when not."""
    model = make_model(lambda dims: SlidingWindow(3, dims), n_layers=1, causal=causal)
    x = torch.randn(1, 8, 16, requires_grad=True)
    out = after_blocks(model, x)
    pairs = 0
    for i in range(8):
        (grad,) = torch.autograd.grad(out[0, i].sum(), x, retain_graph=True)
        pairs += int((grad[0].abs().sum(-1) > 0).sum())
    assert pairs == (21 if causal else 34)


def after_blocks(model, x):
    """Inputs (B, T, D) past the blocks; not normed, since a normed row's sum has no gradient."""
    layout = Layout.of_tokens(x[..., 0], causal=model.config.causal)
    for i, block in enumerate(model.blocks):
        scheme, kernel = model.scheme.for_layer(i), model.kernels[i]
        x = block(x, scheme, layout, kernel, kernel.prepare(scheme, layout))
    return x


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_grouped_heads_equal_repeated_ones(make_model, tokens, kernel):
    """P25: 4 query heads on 2 key/value heads."""
    grouped = make_model(n_kv_heads=2, kernel=kernel)
    full = make_model(kernel=kernel)
    state = grouped.state_dict()
    for name, weight in state.items():
        if name.endswith(("attention.key.weight", "attention.value.weight")):
            state[name] = weight.view(2, 4, 16).repeat_interleave(2, 0).reshape(16, 16)
    full.load_state_dict(state)
    torch.testing.assert_close(grouped(tokens), full(tokens), atol=1e-5, rtol=0)


def test_the_input_of_layer_0_is_scaled_embedding_plus_position(make_model, tokens):
    """P28: and the scale is the same without a position vector."""
    seen = {}
    for scheme in (None, lambda dims: AddPosition(None, dims)):
        model = make_model(scheme)
        model.blocks[0].register_forward_hook(
            lambda module, args, out, key=scheme: seen.setdefault(key, args[0].detach())
        )
        model(tokens)
        scaled = 4.0 * model.embedding.weight.detach()[tokens]
        vector = 0.0 if scheme is None else torch.arange(10.0)[:, None]
        torch.testing.assert_close(seen[scheme], scaled + vector)
        assert model.config.input_scale == 4.0  # sqrt(16)


def test_evaluation_is_without_dropout_and_training_is_not(make_model, tokens):
    """P29."""
    model = make_model(dropout=0.5, attention_dropout=0.5)
    assert torch.equal(model(tokens), model(tokens))
    model.train()
    assert not torch.equal(model(tokens), model(tokens))


def test_logits_are_float32_under_autocast(make_model, tokens):
    model = make_model()
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(tokens)
    assert logits.dtype == torch.float32
    # Not bfloat16 numbers in a wider type: those have 16 zero bits at the end.
    assert (logits.view(torch.int32) & 0xFFFF).any()


def test_validation_under_inference_mode_then_training(make_model, tokens):
    """P10: nothing is cached that autograd cannot use."""
    model = make_model()
    with torch.inference_mode():
        model(tokens)
    model(tokens).sum().backward()
    assert model.embedding.weight.grad is not None


def test_more_positions_than_defined_raise(make_model, tokens):
    class Four(PositionScheme):
        max_length = 4

    model = make_model(lambda dims: Four(None, dims))
    model(tokens[:, :4])
    with pytest.raises(ValueError, match="5 positions were asked of a scheme that defines 4"):
        model(tokens[:, :5])


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize("activation", ["gelu", "swiglu"])
@pytest.mark.parametrize("tied", [True, False])
def test_every_choice_trains_every_parameter(make_model, tokens, norm, activation, tied):
    model = make_model(norm=norm, activation=activation, tie_embeddings=tied)
    model(tokens).square().mean().backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())
    assert (model.head is None) == tied


def test_rmsnorm_and_swiglu_equal_their_formulas(make_model):
    model = make_model(norm="rmsnorm", activation="swiglu")
    x = torch.randn(3, 16)
    torch.testing.assert_close(model.norm(x), x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt())
    ff = model.blocks[0].feed_forward
    gate = x @ ff.gate.weight.T
    hidden = gate * torch.sigmoid(gate) * (x @ ff.up.weight.T)
    torch.testing.assert_close(ff(x), hidden @ ff.down.weight.T)


def test_packed_documents_equal_separate_ones(make_model, tokens):
    model = make_model(lambda dims: SlidingWindow(3, dims))
    documents = torch.tensor([[0] * 4 + [1] * 6]).expand(2, -1)
    positions = torch.tensor([[*range(4), *range(6)]]).expand(2, -1)
    packed = model(tokens, documents=documents, positions=positions)
    torch.testing.assert_close(packed[:, :4], model(tokens[:, :4]), atol=1e-5, rtol=0)
    torch.testing.assert_close(packed[:, 4:], model(tokens[:, 4:]), atol=1e-5, rtol=0)
