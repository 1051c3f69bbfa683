"""A scheme that declares what is not so, or that raises, is shown for what it is."""

import pytest

from posexp.explain.facts import answers
from posexp.explain.facts.symmetry import shift
from posexp.explain.summary import conflicts, summary


def test_a_number_that_all_keys_share_is_no_effect(foreign, ask):
    """The reference code's form of a linear bias, slope * key: equal but for a number a query."""
    mine = foreign(
        """
        def bias(self, q_positions, k_positions):
            by_key = 0.5 * k_positions.float()[..., None, None, :]
            return by_key.expand(*by_key.shape[:-3], self.dims.n_heads, q_positions.shape[-1], -1)
        """
    )
    found = shift(mine, mine.kinds[0])
    assert found.invariant
    assert found.constant == pytest.approx(0.5 * found.far, rel=1e-4)
    assert ask(mine, "distance alone").conflict == ""


LIES = {
    "distance alone": (
        "def embed(self, x, positions):\n    return x + positions[..., None] * 0.1",
        "declares shift_invariant = True",
    ),
    "Input of": ("def embed(self, x, positions):\n    return x + 0.0", "changes no input"),
    "Queries": ("def transform_query(self, q, positions):\n    return q * 1.0", "no queries"),
    "stay valid": (
        """
        def transform_key(self, k, positions):
            return k / (1 + positions.amax())
        """,
        "does not declare length_dependent",
    ),
    "are defined": (
        """
        max_length = 30
        shift_invariant = False

        def embed(self, x, positions):
            return x + positions.clamp(max=29)[..., None]
        """,
        "more than it declares",
    ),
    "are one": (
        """
        saturates_at = 3

        def distance_bias(self, n):
            return -n.abs().clamp(max=7).float().expand(self.dims.n_heads, -1)
        """,
        "changes up to 7",
    ),
    "blind to order": (
        "def distance_bias(self, n):\n    return torch.ones(self.dims.n_heads, len(n))",
        "no order of the tokens makes a difference",
    ),
}


@pytest.mark.parametrize("words", LIES)
def test_a_declaration_that_is_not_true_is_a_conflict(foreign, words, ask):
    body, said = LIES[words]
    mine = foreign(body)
    assert said in ask(mine, words).conflict
    lines = conflicts(mine.label, answers(mine))
    assert any(said in line and "declared" in line and "Measured" in line for line in lines)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("shift_invariant = False", "no shift changes the scores"),
        ("length_dependent = True", "stay as they were"),
    ],
)
def test_what_is_declared_without_need_is_a_conflict(foreign, body, said):
    turn = """
        def transform_query(self, q, positions):
            a, b, p = q[..., :1], q[..., 1:2], positions[..., None, :, None].float()
            return torch.cat((a * p.cos() - b * p.sin(), a * p.sin() + b * p.cos(), q[..., 2:]), -1)

        def transform_key(self, k, positions):
            return self.transform_query(k, positions)
        """
    mine = foreign(f"{body}\n{turn}".replace("\n        ", "\n"))
    assert said in "; ".join(fact.conflict for fact in answers(mine).values())


def test_a_scheme_that_needs_a_mask_is_told_so(foreign, ask):
    mine = foreign(
        """
        def __init__(self, config, dims):
            super().__init__(config, dims)
            if not dims.causal:
                raise ValueError("mine counts backwards")
        """
    )
    assert ask(mine, "blind to order").measured == "it needs a causal mask: mine counts backwards"
    assert "off by" in ask(mine, "causal mask").measured


def test_a_method_that_raises_is_an_answer(foreign):
    mine = foreign(
        """
        def embed(self, x, positions):
            if positions.shape[-1] == 12:
                raise RuntimeError("not twelve")
            return x
        """
    )
    found = answers(mine)
    assert found["Do cached keys stay valid as the sequence grows?"].measured == (
        "could not be measured: RuntimeError: not twelve"
    )
    assert summary(mine) == "It could not be measured: RuntimeError: not twelve."
