"""Schemes to be explained: bundled ones of small sizes, and foreign ones from a file."""

import textwrap

import pytest

from posexp.explain.facts import FACTS
from posexp.explain.study import Study
from posexp.local import only, use_plugins

SIZES = {"n_layers": 1, "d_model": 32, "n_heads": 4}
FOREIGN = """\
from dataclasses import dataclass

import torch

from posexp import PositionScheme, SchemeSpec, hookimpl


@dataclass
class Config:
    rate: float = 0.1


class Mine(PositionScheme):
{body}


@hookimpl
def posexp_schemes():
    return [SchemeSpec("mine", Config, Mine)]
"""


@pytest.fixture(scope="session")
def study():
    """`study("t5", length=24, span={"window": 8}, sizes={"n_heads": 2}, buckets=16)`."""

    def make(name, length=24, span=None, sizes=None, **parameters):
        config = {
            "scheme": {"name": name, **parameters},
            "span": span or {},
            "model": SIZES | (sizes or {}),
            "trainer": {"context_length": length},
        }
        return Study.of(name, config)

    return make


@pytest.fixture
def foreign(study, tmp_path, monkeypatch):
    """`foreign(body, ...)`: the study of a scheme `mine` whose class has that body."""
    monkeypatch.delenv("POSEXP_PLUGINS", raising=False)
    with only([]):

        def make(body, **settings):
            path = tmp_path / "mine_of_a_test.py"
            body = textwrap.indent(textwrap.dedent(body).strip(), "    ")
            path.write_text(FOREIGN.format(body=body))
            use_plugins([path])
            return study("mine", **settings)

        yield make


@pytest.fixture(scope="session")
def ask():
    """`ask(study, "blind")`: the answer to the one question that has these words."""

    def answer(study, words):
        (question,) = [q for q in FACTS if words in q]
        return FACTS[question](study)

    return answer


#: A rotation of every pair of columns by one rate, in a basis of its own: no pair of columns turns.
TURN = """
def turned(self, x, positions):
    d = x.shape[-1]
    basis, _ = torch.linalg.qr(torch.randn(d, d, generator=torch.Generator().manual_seed(7),
                                           dtype=torch.float64))
    rates = self.config.rate / 4.0 ** torch.arange(d // 2)
    angles = positions[..., None, :, None].double() * rates
    a, b = (x.double() @ basis).unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = angles.cos(), angles.sin()
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
    return (pairs @ basis.T).type_as(x)

def transform_query(self, q, positions):
    return self.turned(q, positions)

def transform_key(self, k, positions):
    return self.turned(k, positions)
"""


@pytest.fixture
def turning():
    """The body of a rotary scheme with rates `rate` / 4^k whose pairs are no two columns."""
    return TURN
