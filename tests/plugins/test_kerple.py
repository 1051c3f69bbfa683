import numpy as np
import pytest
import torch

from posexp import AttentionDims, build_scheme

FAR = [0, 1, 2, 10, 100, 4096]


def kerple(a, p, power=False, causal=True):
    scheme = build_scheme(
        {"name": "kerple", "power": power}, AttentionDims(4 * len(a), len(a), causal=causal)
    )
    with torch.no_grad():
        scheme.a.copy_(torch.tensor(a)[:, None])
        scheme.p.copy_(torch.tensor(p)[:, None])
    return scheme


def test_log_by_hand():
    found = kerple([0.5], [2.0]).distance_bias(torch.tensor([0, 1, 10, 100]))
    expected = torch.tensor([[0.0, -0.81093022, -3.58351894, -7.86365127]])
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def test_power_by_hand():
    found = kerple([0.5], [0.5], power=True).distance_bias(torch.tensor([0, 2]))
    torch.testing.assert_close(found, torch.tensor([[0.0, -0.70710678]]), atol=1e-7, rtol=0)


@pytest.mark.parametrize("power", [False, True])
def test_each_head_against_numpy(power):
    a, p = [0.3, 1.7, 0.02], [1.9, 0.4, 0.8]
    found = kerple(a, p, power).distance_bias(torch.tensor(FAR))
    for head in range(3):
        n = np.array(FAR, dtype=np.float64)
        kernel = a[head] * n ** p[head] if power else p[head] * np.log(1 + a[head] * n)
        np.testing.assert_allclose(found[head].detach().numpy(), -kernel, rtol=1e-5)


@pytest.mark.parametrize("power", [False, True])
def test_both_directions_are_alike(power):
    scheme, n = kerple([0.5], [1.5], power, causal=False), torch.arange(1, 9)
    assert torch.equal(scheme.distance_bias(-n), scheme.distance_bias(n))


@pytest.mark.parametrize(
    ("power", "a", "p", "within"),
    [
        (False, -3.0, 0.5, (0.01, 0.5)),
        (False, 0.5, -1.0, (0.5, 0.01)),
        (False, 5.0, 7.0, (5.0, 7.0)),
        (True, 0.0, 0.5, (0.01, 0.5)),
        (True, 0.5, 0.0, (0.5, 0.01)),
        (True, 5.0, 7.0, (5.0, 2.0)),
    ],
)
def test_limits_hold_and_what_is_beyond_them_still_learns(power, a, p, within):
    n = torch.tensor([3, 5])
    beyond, at = kerple([a], [p], power), kerple([within[0]], [within[1]], power)
    torch.testing.assert_close(beyond.distance_bias(n), at.distance_bias(n))
    for scheme in (beyond, at):
        scheme.distance_bias(n).sum().backward()
    for name in ("a", "p"):
        gradient = getattr(beyond, name).grad
        assert gradient.abs().item() > 0
        torch.testing.assert_close(gradient, getattr(at, name).grad)


@pytest.mark.parametrize("power", [False, True])
def test_gradients_are_finite_at_distance_zero(power):
    scheme = kerple([0.5], [0.5], power)
    scheme.distance_bias(torch.arange(3)).sum().backward()
    assert scheme.a.grad.isfinite().all() and scheme.p.grad.isfinite().all()


@pytest.mark.parametrize(("name", "limit"), [("a", 1.0), ("p", 2.0)])
def test_drawn_evenly_from_zero_to_the_limit(name, limit):
    values = torch.empty(4000, 1)
    kerple([0.5], [0.5]).init_parameter(name, values, torch.Generator().manual_seed(0))
    ordered = values.flatten().sort().values
    assert (ordered - torch.linspace(0, limit, 4000)).abs().max() < 0.04 * limit


def test_one_pair_for_each_head_shared_by_layers():
    scheme = build_scheme({"name": "kerple"}, AttentionDims(32, 4, n_layers=3))
    assert {n: tuple(p.shape) for n, p in scheme.named_parameters()} == {"a": (4, 1), "p": (4, 1)}
    assert scheme.for_layer(0) is scheme.for_layer(2)


def test_bias_is_float32_in_a_bfloat16_model():
    bias = kerple([0.5], [2.0]).bfloat16().distance_bias(torch.tensor([256, 257]))
    assert bias.dtype == torch.float32
    assert bias[0, 0] != bias[0, 1]
