"""Facts against what is known of the schemes; what lies about itself is found out."""

import pytest

from posexp.explain.facts import FACTS, answers
from posexp.explain.facts.acting import acting
from posexp.explain.facts.growing import growth
from posexp.explain.facts.serving import serving
from posexp.explain.facts.symmetry import permutation, shift
from posexp.explain.facts.tables import rows
from posexp.explain.summary import summary


def first(study):
    return study, study.kinds[0]


def test_order_without_a_mask_and_with_one(study, ask):
    blind, turned = permutation(study("nope")), permutation(study("rope"))
    assert blind.without_mask < 1e-6
    assert blind.causal > 0.01
    assert turned.without_mask > 0.01
    assert ask(study("nope"), "blind to order").measured.startswith("yes, it is blind to order")
    assert "the mask itself" in ask(study("nope"), "causal mask").measured


def test_shifts(study):
    still, moved = shift(*first(study("rope"))), shift(*first(study("sinusoidal")))
    assert still.invariant
    assert (still.near, still.far) == (100, 10_000)
    assert not moved.invariant
    short = shift(*first(study("learned")))
    assert (short.near, short.far) == (0, 0)  # all positions are taken
    assert not shift(*first(study("nope", span={"chunk": 8}))).invariant


def test_where_they_act(study):
    added, turned = acting(*first(study("one_hot"))), acting(*first(study("rope")))
    assert (added.queries, added.logits, added.output) == (0.0, 0.0, 0.0)
    assert added.input == pytest.approx(1)
    assert (turned.input, turned.output) == (0.0, 0.0)
    assert min(turned.queries, turned.keys) > 0.1
    vectors = acting(*first(study("shaw")))
    assert min(vectors.logits, vectors.output) > 0.1
    assert summary(study("shaw")).startswith(
        "It adds to the logits and changes what is summed of the values."
    )


@pytest.mark.parametrize(("span", "hidden"), [({"window": 20}, 10), ({"chunk": 8}, 192)])
def test_hidden_pairs_are_counted(study, span, hidden, ask):
    """A window of 20 of 24: 1 + 2 + 3 + 4. Chunks of 8: 300 pairs less 3 times 36."""
    near = study("nope", span=span)
    found = acting(*first(near))
    assert (found.hidden, found.pairs) == (hidden, 300)
    fact = ask(near, "query sees")
    assert fact.measured == f"{hidden} of 300 pairs hidden"
    assert fact.conflict == ""


def test_a_window_that_hides_nothing_yet_is_no_conflict(study, ask):
    fact = ask(study("nope", span={"window": 24}), "blind to order")
    assert fact.measured.startswith("yes")
    assert fact.conflict == ""
    assert ask(study("nope", span={"chunk": 12}), "blind to order").measured.startswith("no")


def test_layers_that_differ(study, ask):
    mixed = study("hybrid", sizes={"n_layers": 4}, local_window=8)
    assert [kind.where for kind in mixed.kinds] == ["layers 0-2", "layer 3"]
    assert ask(mixed, "query sees").declared == (
        "layers 0-2: a window of 8 keys; layer 3: nothing here"
    )
    assert [kind.where for kind in study("rope", sizes={"n_layers": 4}).kinds] == ["every layer"]


def test_tables_of_own_for_each_layer_are_one_kind(foreign):
    mine = foreign(
        """
        def __init__(self, config, dims):
            super().__init__(config, dims)
            if dims.n_layers > 1:
                import dataclasses
                one = dataclasses.replace(dims, n_layers=1)
                self.layers = torch.nn.ModuleList(Mine(config, one) for _ in range(dims.n_layers))
            else:
                self.strength = torch.nn.Parameter(torch.zeros(dims.n_heads, 1))

        def for_layer(self, layer):
            return self.layers[layer]

        @property
        def acts_on(self):
            return frozenset({"distance_bias"})

        def distance_bias(self, n):
            return -self.strength * n.abs()
        """,
        sizes={"n_layers": 3},
    )
    assert [kind.where for kind in mine.kinds] == ["every layer"]


def test_keys_that_do_not_stay(study, ask):
    assert growth(study("rope")).beyond == 0
    stretched = growth(study("dynamic_ntk"))
    assert stretched.within == 0
    assert stretched.beyond > 0.1
    shared = growth(study("normalized_index"))
    assert shared.within == pytest.approx(11 / 12 - 11 / 24)  # the last of 12 tokens, then of 24
    fact = ask(study("normalized_index"), "Decoding")
    assert fact.measured.startswith("refused: ")
    assert "nothing can be cached" in fact.measured
    assert ask(study("learned"), "stay valid").measured.count("grow") == 1  # it ends at T


def test_rows_that_training_reaches(study, ask):
    """Buckets of distances up to 23 are 19 of 32; up to 95 they are 30."""
    (bucket,) = rows(study("t5"))
    assert (bucket.total, bucket.trained, bucket.only_beyond) == (32, 19, 11)
    (position,) = rows(study("learned", max_length=40))
    assert (position.total, position.trained, position.only_beyond) == (40, 24, 16)
    for clipped in rows(study("shaw")):
        assert (clipped.total, clipped.trained, clipped.only_beyond) == (33, 17, 0)
    assert rows(study("rope")) == []
    assert "11 more only beyond it" in ask(study("t5"), "Tables").measured


def test_distances_that_are_one(study, ask):
    assert ask(study("t5"), "are one").measured == "distances from 113 on are one"
    assert ask(study("shaw"), "are one").measured == "distances from 16 on are one"
    assert ask(study("alibi"), "are one").measured == "never, up to 192"


def test_positions_that_are_defined(study, foreign, ask):
    fact = ask(study("learned"), "are defined")
    assert (fact.measured, fact.declared) == (
        "position 23 is the last: 24 is refused", "max_length = 24",
    )  # fmt: skip
    assert ask(study("rope"), "are defined").measured == "192 tokens give finite scores"
    mine = foreign(
        """
        def distance_bias(self, n):
            return -(30.0 - n.float()).log().expand(self.dims.n_heads, -1)
        """
    )
    assert "no number" in ask(mine, "are defined").conflict


def test_kernels_are_those_of_the_model(study):
    for name in ("alibi", "rope", "t5"):
        one = study(name)
        model = one.model()
        found = serving(*first(one))
        assert [found.training] == [kernel.name for kernel in model.kernels]
        legal = [kernel.name for kernel in model.legal_kernels[0]]
        assert [k for k, why in found.refusals.items() if why is None] == legal
    assert serving(*first(study("normalized_index"))).decoding is None
    only = serving(*first(study("alibi", sizes={"kernel": "eager"})))
    assert (only.training, only.decoding) == ("eager", "eager")
    assert only.refusals["tiled"].startswith("model.kernel=eager")


def test_everything_is_asked_of_everyone(study):
    found = answers(study("nope"))
    assert list(found) == list(FACTS)
    assert all(fact.measured for fact in found.values())
    assert not any(fact.conflict for fact in found.values())
