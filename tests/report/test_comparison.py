import json
import math

import numpy as np
import pytest

from posexp.report.comparison import compare
from posexp.report.jobs import read_jobs


def only(sweep):
    (comparison,) = compare(read_jobs(sweep.path))
    return comparison


def order(comparison):
    return [setting.label for setting in comparison.settings]


def test_best_first_then_diverged_then_no_result(messy_sweep, losses):
    """P44: diverged is ranked last, and what has no result is not ranked at all."""
    comparison = only(messy_sweep)
    ranked = sorted(losses, key=lambda scheme: losses[scheme][1])
    assert order(comparison)[:8] == ranked
    assert set(order(comparison)[8:10]) == {"raw_index", "one_hot"}
    ranks = comparison.ranks()
    assert [ranks[label] for label in ranked] == list(range(1, 9))
    assert ranks["raw_index"] == ranks["one_hot"] == 9
    assert set(ranks) == {*ranked, "raw_index", "one_hot"}


def test_undefined_beyond_t_is_not_ranked_there(messy_sweep):
    comparison = only(messy_sweep)
    assert "learned" in comparison.ranks(128) and "learned" not in comparison.ranks(256)
    # First at 64 and 128, fifth, fifth and eighth beyond.
    reciprocal = comparison.reciprocal_ranks
    assert reciprocal["rope"] == pytest.approx((1 + 1 + 1 / 4 + 1 / 4 + 1 / 7) / 5)
    assert reciprocal["learned"] == pytest.approx((1 / 6 + 1 / 6) / 5)
    assert reciprocal["raw_index"] == 0


def test_differences_are_paired_with_the_best_at_the_same_seed(sweep):
    sweep.write("a", (2.0,) * 5, seed=0)
    sweep.write("a", (2.2,) * 5, seed=1)
    sweep.write("b", (2.3,) * 5, seed=0)
    sweep.write("b", (2.4,) * 5, seed=1)
    sweep.write("c", (2.9,) * 5, seed=7)
    found = only(sweep).differences[128]
    assert {name: round(d.bits_per_byte, 9) for name, d in found.items()} == {
        "2_b_full_seed0": 0.3,
        "3_b_full_seed1": 0.2,
    }


def test_pairing_takes_away_what_anchors_share(sweep):
    """The noise that both have cancels: their own s.e. would be 0.2 / ln 2 / 8 = 0.036."""
    sweep.write("a", (2.0,) * 5)
    sweep.write("b", (2.05,) * 5)
    difference = only(sweep).differences[128]["1_b_full_seed0"]
    assert 0 < difference.standard_error < 0.036 / 2
    assert difference.significant


def test_other_anchors_are_not_paired(sweep):
    sweep.write("a", (2.0,) * 5)
    path = sweep.write("b", (2.3,) * 5) / "anchors.npz"
    arrays = dict(np.load(path))
    arrays["position"] = arrays["position"] + 1
    np.savez(path, **arrays)
    assert only(sweep).differences[128] == {}


def test_the_best_is_the_best_mean_never_the_best_seed(sweep):
    for seed, (a, b) in enumerate([(1.9, 2.1), (2.6, 2.1), (2.6, 2.2)]):
        sweep.write("a", (a,) * 5, seed=seed)
        sweep.write("b", (b,) * 5, seed=seed)
    comparison = only(sweep)
    assert order(comparison) == ["b", "a"]
    assert comparison.settings[0].summary(128).mean == pytest.approx(6.4 / 3)


def test_a_seed_that_diverged_is_not_averaged_away(sweep):
    """P44's neighbour: two good seeds and a diverged one do not make a good setting."""
    for seed, loss in enumerate([1.5, 1.5, math.nan]):
        sweep.write("a", (loss,) * 5, seed=seed)
    sweep.write("b", (2.0,) * 5)
    comparison = only(sweep)
    assert order(comparison) == ["b", "a"]
    assert comparison.ranks() == {"b": 1, "a": 2}


def test_a_seed_that_only_failed_leaves_the_mean_of_the_others(sweep):
    sweep.write("a", (1.5,) * 5, seed=0)
    sweep.write("a", seed=1, status="failed")
    (setting,) = only(sweep).settings
    assert setting.summary(128).seeds == 1 and setting.ranked_loss(128) == 1.5


def test_what_was_scored_on_other_targets_is_another_comparison(sweep):
    sweep.write("a", (2.0,) * 5)
    shakespeare = {"data": {"name": "shakespeare", "path": None}}
    sweep.write("a", (1.0,) * 5, settings=shakespeare, corpus_fingerprint="c3d4")
    sweep.write("a", (1.5,) * 5, settings={"trainer": {"context_length": 256}})
    sweep.plan(*sweep.names, "3_waiting")
    found = compare(read_jobs(sweep.path))
    assert [order(comparison) for comparison in found] == [["a", "3_waiting"], ["a"], ["a"]]


def test_a_sweep_that_has_only_begun(sweep):
    sweep.plan("0_rope", "1_alibi")
    comparison = only(sweep)
    assert order(comparison) == ["0_rope", "1_alibi"]
    assert comparison.best(None) is None and comparison.ranks() == {}


def test_nan_in_the_anchors_gives_no_difference(sweep):
    sweep.write("a", (2.0,) * 5)
    path = sweep.write("b", (2.3,) * 5) / "anchors.npz"
    arrays = dict(np.load(path))
    arrays["anchored_128"][3] = np.nan
    np.savez(path, **arrays)
    found = only(sweep).differences
    assert found[128] == {} and found[256]
    json.dumps([d.bits_per_byte for d in found[256].values()], allow_nan=False)


def test_a_baseline_is_a_label_or_the_scheme_of_one_setting(sweep):
    sweep.write("rope", (2.0,) * 5, settings={"scheme": {"name": "rope", "theta": 1}})
    sweep.write("rope", (2.1,) * 5, settings={"scheme": {"name": "rope", "theta": 2}})
    sweep.write("alibi", (2.3,) * 5)
    jobs = read_jobs(sweep.path)
    for name, label in (("alibi", "alibi"), ("rope theta=2", "rope theta=2"), (None, None)):
        (comparison,) = compare(jobs, name)
        assert comparison.chosen == label
    assert comparison.baseline.label == "rope theta=1"
    (against_worst,) = compare(jobs, "alibi")
    found = {name: d.bits_per_byte for name, d in against_worst.differences[128].items()}
    assert found == pytest.approx({"0_rope_full_seed0": -0.3, "1_rope_full_seed0": -0.2})


@pytest.mark.parametrize("name", ["rope", "alibbi", "rope theta=3"])
def test_an_unknown_or_ambiguous_baseline_is_answered_with_the_nearest(sweep, name):
    for theta in (1, 2):
        sweep.write("rope", (2.0,) * 5, settings={"scheme": {"name": "rope", "theta": theta}})
    sweep.write("alibi", (2.3,) * 5)
    near = "alibi" if name == "alibbi" else "rope theta="
    with pytest.raises(ValueError, match=rf"no setting '{name}' .*did you mean '{near}.*; choose"):
        compare(read_jobs(sweep.path), name)


def test_a_comparison_without_the_baseline_keeps_its_best(sweep):
    sweep.write("rope", (2.0,) * 5)
    sweep.write(
        "alibi",
        (1.0,) * 5,
        settings={"data": {"name": "shakespeare", "path": None}},
        corpus_fingerprint="other",
    )
    first, second = compare(read_jobs(sweep.path), "rope")
    assert (first.chosen, second.chosen) == ("rope", None)


def test_training_that_diverged_is_ranked_last_whatever_its_last_weights_give(sweep):
    sweep.write("a", (1.5,) * 5, status="diverged")
    sweep.write("b", (2.0,) * 5)
    comparison = only(sweep)
    assert comparison.ranks() == {"b": 1, "a": 2}
    assert comparison.differences[128] == {}
