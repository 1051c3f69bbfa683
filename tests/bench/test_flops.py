import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from posexp.bench.candidates import candidates
from posexp.bench.flops import matrix_peak, step_flops, visible_pairs
from posexp.bench.models import with_scheme
from posexp.bench.step import random_batch
from posexp.training.module import summed_loss


@pytest.mark.parametrize("tied", ["true", "false"])
def test_the_formula_is_what_torch_counts(tiny, tied):
    """Of the dense kernel, which multiplies the pairs above the diagonal as well."""
    text = f"nope model.kernel=eager model.tie_embeddings={tied}"
    (found,) = candidates(tiny(schemes=(text,)))
    model = with_scheme(found.config, 8, "cpu")
    with FlopCounterMode(display=False) as counter:
        summed_loss(model, random_batch(3, 8, "cpu"))[0].backward()
    layers, width = 2, 16
    above = 3 * layers * 12 * width * (8 * 8 - visible_pairs(8, None))
    assert counter.get_total_flops() == step_flops(model, 3, 8) + above


@pytest.mark.parametrize("window", [None, 1, 3, 8, 20])
def test_visible_pairs_are_counted(window):
    seen = [(i, j) for i in range(8) for j in range(i + 1) if window is None or i - j < window]
    assert visible_pairs(8, window) == len(seen)


@pytest.mark.parametrize("chunk", [1, 3, 8, 20])
@pytest.mark.parametrize("window", [None, 2])
def test_visible_pairs_in_chunks_are_counted(chunk, window):
    causal = [(i, j) for i in range(8) for j in range(i + 1) if i // chunk == j // chunk]
    seen = [pair for pair in causal if window is None or pair[0] - pair[1] < window]
    assert visible_pairs(8, window, chunk) == len(seen)


def test_products_of_other_kinds_of_attention(tiny):
    """2 layers of 2 heads, 8 wide, on 8 tokens, and a latent of 32 with a key of 4."""
    texts = ("nope", "nope model.attention=linear", "nope model.attention=latent")
    models = [with_scheme(c.config, 8, "cpu") for c in candidates(tiny(schemes=texts))]
    between = [
        step_flops(model, 1, 8)
        - 6 * 8 * sum(m.weight.numel() for m in model.modules() if isinstance(m, torch.nn.Linear))
        - 6 * 8 * model.embedding.weight.numel()
        for model in models
    ]
    pairs = 36
    assert between == [
        6 * 2 * pairs * 2 * (8 + 8),
        6 * 2 * 8 * (2 + 2) * 8 * 8,
        6 * 2 * pairs * 2 * (8 + 4 + 8),
    ]


def test_the_window_of_a_layer_counts(tiny):
    found = candidates(tiny(schemes=("nope", "nope span=3")))
    full, windowed = (step_flops(with_scheme(c.config, 8, "cpu"), 1, 8) for c in found)
    assert full - windowed == 2 * 12 * 16 * (36 - 21)


def test_the_peak_is_a_rate(monkeypatch):
    monkeypatch.setattr("posexp.bench.flops.SIDES", {"cpu": (8, 16)})
    assert matrix_peak(torch.float32, "cpu", lambda: None) > 0
