import torch

from posexp import PositionScheme, with_span
from posexp.model.init import init_weights, stream


class Table(PositionScheme):
    """Owns parameters and draws them its own way."""

    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.ones = torch.nn.Parameter(torch.empty(3))
        self.table = torch.nn.Embedding(4, 2)

    def init_parameter(self, name, parameter, generator):
        if name == "ones":
            parameter.fill_(1.0)
        else:
            super().init_parameter(name, parameter, generator)


def test_shared_parameters_are_equal_whatever_the_scheme_owns(make_model):
    plain = make_model()
    other = make_model(lambda dims: Table(None, dims))
    shared = dict(plain.named_parameters())
    theirs = dict(other.named_parameters())
    assert set(theirs) - set(shared) == {"scheme.ones", "scheme.table.weight"}
    assert all(torch.equal(shared[name], theirs[name]) for name in shared)


def test_a_scheme_draws_its_own(make_model):
    model = make_model(lambda dims: Table(None, dims))
    assert model.scheme.ones.tolist() == [1.0, 1.0, 1.0]
    assert 0 < model.scheme.table.weight.std() < 0.06


def test_seeds_and_names_give_different_numbers(make_model):
    first, again, other = make_model(seed=1), make_model(seed=1), make_model(seed=2)
    assert all(
        torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)
    )
    query = "blocks.0.attention.query.weight"
    weights = first.get_parameter(query)
    assert not torch.equal(weights, other.get_parameter(query))
    assert not torch.equal(weights, first.get_parameter("blocks.1.attention.query.weight"))
    assert not torch.equal(weights, first.get_parameter("blocks.0.attention.key.weight"))


def test_deviations_are_as_documented(make_model):
    model = make_model(d_model=256, n_layers=2)
    std = {name: p.std().item() for name, p in model.named_parameters()}
    assert abs(std["embedding.weight"] - 1 / 32) < 0.001
    assert abs(std["blocks.0.attention.query.weight"] - 1 / 16) < 0.002
    assert abs(std["blocks.0.attention.out.weight"] - 1 / 32) < 0.002  # 1 / sqrt(2 * 2 * 256)
    assert abs(std["blocks.1.feed_forward.down.weight"] - 1 / 64) < 0.001
    assert std["norm.weight"] == 0.0


def test_the_state_of_torch_is_left_alone(make_model):
    model = make_model()
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    init_weights(model, 3)
    assert torch.equal(torch.rand(1), expected)


def test_streams_differ_in_every_part_of_their_key():
    seeds = {stream(s, p, n) for s in range(3) for p in ("init", "dropout") for n in range(50)}
    assert len(seeds) == 300
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_span_leaves_the_initial_weights_of_its_scheme_alone(make_model):
    plain = make_model(lambda dims: Table(None, dims))
    spanned = make_model(lambda dims: with_span(Table(None, dims), 4))
    for name, parameter in plain.scheme.named_parameters():
        assert torch.equal(spanned.scheme.schemes[0].get_parameter(name), parameter)
