"""FlexAttention's score and mask functions on the CPU, uncompiled: the forward pass only."""

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from posexp import AttentionDims, Compose, PositionScheme, SlidingWindow
from posexp.model import Layout
from posexp.model.kernels import KERNELS, IllegalKernelError, flex, legal_kernels

H, D = 4, 16


class Table(PositionScheme):
    """A different number for every head and distance, the future included."""

    def distance_bias(self, n):
        return torch.sin(n * torch.arange(1.0, H + 1)[:, None])


LAYOUTS = {
    "causal": Layout.of_tokens(torch.zeros(2, 37)),
    "bidirectional": Layout.of_tokens(torch.zeros(2, 37), causal=False),
    "padded": Layout.of_tokens(torch.zeros(2, 37), real=torch.arange(37).repeat(2, 1) >= 5),
    "packed": Layout.of_tokens(
        torch.zeros(2, 37),
        documents=(torch.arange(37) > 10).long().repeat(2, 1),
        positions=torch.cat((torch.arange(11), torch.arange(26))).repeat(2, 1),
    ),
    "few queries": Layout(torch.arange(30, 37), torch.arange(37)),
}


@pytest.mark.filterwarnings("ignore:.*flex_attention called without torch.compile.*")
@pytest.mark.parametrize("window", [None, 6])
@pytest.mark.parametrize("scheme", [PositionScheme(), Table()], ids=["none", "table"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@torch.no_grad()
def test_it_computes_the_definition(monkeypatch, layout, scheme, window):
    monkeypatch.setattr(flex, "compiled", lambda: flex_attention)
    if window is not None:
        scheme = Compose(scheme, SlidingWindow(window))
    generator = torch.Generator().manual_seed(0)
    n_queries = layout.q_positions.shape[-1]
    q = torch.randn(2, H, n_queries, D, generator=generator)
    k, v = torch.randn(2, 2, 2, 37, D, generator=generator)
    outcomes = []
    for name in ("flex", "eager"):
        kernel = KERNELS[name]
        outcomes.append(kernel.attend(q, k, v, kernel.prepare(scheme, layout), 0.0))
    seen = layout.real_keys is None or layout.real_keys[0]
    found, expected = (x[:, :, seen] if seen is not True else x for x in outcomes)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_without_a_gpu_it_says_so(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(IllegalKernelError, match="GPUs only.*use by_distance"):
        legal_kernels("flex", Table(None, AttentionDims(64, H)), True, 0.0)


def test_it_takes_over_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    names = [kernel.name for kernel in legal_kernels("auto", Table(), True, 0.0)]
    assert names.index("flex") < names.index("tiled")
    on_meta = Layout.of_tokens(torch.zeros(1, 4, device="meta"))
    assert not KERNELS["flex"].accepts(on_meta)
