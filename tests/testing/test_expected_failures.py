"""A scheme may fail a check by its nature: it says so, with the reason, and it must be true."""

import pytest

from posexp import PositionScheme, SchemeSpec
from posexp.testing import CHECKS, ConformanceError, check_scheme, parametrize_checks
from posexp.testing.examine import EXPECTED_FAILURE, FAILED, HELD

WHY = "what it adds does not depend on the keys"


class AddsToTheOutput(PositionScheme):
    def adjust_output(self, out, weights, q_positions, k_positions):
        return out + 1


def spec(settings, **expected):
    return SchemeSpec("adds", settings, AddsToTheOutput, expected)


def run(*arguments, **keywords):
    try:
        results = check_scheme(*arguments, slow=False, **keywords)
    except ConformanceError as error:
        results = error.results
    return {result.check: result for result in results}


def test_a_declared_failure_is_none(settings):
    results = run(spec(settings, masked_rows_give_zeros=WHY))
    declared = results["masked_rows_give_zeros"]
    assert (declared.outcome, declared.message) == (EXPECTED_FAILURE, WHY)
    assert "gives 1 " in str(declared.error)  # what was measured is kept
    assert FAILED not in {result.outcome for result in results.values()}


def test_what_rests_on_it_runs(settings):
    results = run(spec(settings, masked_rows_give_zeros=WHY))
    assert "masked_rows_give_zeros" in CHECKS["padding_is_invisible"].needs
    assert results["padding_is_invisible"].outcome == HELD
    assert "not run" not in {result.outcome for result in results.values()}


def test_what_rests_on_it_and_fails_is_declared_too(settings):
    class LooksAheadAndMixes(PositionScheme):
        def embed(self, x, positions):
            return x + x.roll(1, dims=1)  # the first token sees the last one, pads their rows' end

    results = run(
        SchemeSpec("mixes", settings, LooksAheadAndMixes, {"causality": "it looks ahead"})
    )
    assert results["causality"].outcome == EXPECTED_FAILURE
    pieces = results["pieces_equal_the_full_pass"]
    assert pieces.outcome == FAILED
    assert pieces.message.endswith(
        "(It rests on causality, which is expected to fail: if this is the same fault, declare it "
        "as well.)"
    )


def test_a_declared_failure_that_holds_is_a_failure(settings):
    results = run(spec(settings, masked_rows_give_zeros=WHY, causality="it looks ahead"))
    held = results["causality"]
    assert held.outcome == FAILED
    assert held.message == "declared to fail (it looks ahead), but holds: remove it"
    assert results["padding_is_invisible"].outcome == HELD  # it rests on causality, which holds


def test_a_check_that_does_not_apply_may_be_declared(settings):
    declared = {"masked_rows_give_zeros": WHY, "window_counts_visible_keys": "it has none"}
    results = run(spec(settings, **declared))
    assert results["window_counts_visible_keys"].outcome == "not applicable"


def test_given_ones_stand_in_place_of_those_of_the_spec(settings):
    results = run(spec(settings, masked_rows_give_zeros=WHY), expected_failures={})
    assert results["masked_rows_give_zeros"].outcome == FAILED


def test_bad_declarations(settings):
    with pytest.raises(ValueError, match="there is no check 'causalty' .*'causality'"):
        check_scheme(spec(settings, causalty=WHY))
    with pytest.raises(ValueError, match="expected to fail causality: say why"):
        check_scheme("nope", expected_failures={"causality": " "})


def test_in_pytest_it_is_an_xfail(settings):
    declared = spec(settings, masked_rows_give_zeros=WHY, causality="it looks ahead")
    mark = parametrize_checks(declared, slow=False)
    cases = {case.id: case.values[0] for case in mark.mark.args[1]}
    with pytest.raises(pytest.xfail.Exception, match=WHY):
        cases["adds-masked_rows_give_zeros"]()
    with pytest.raises(AssertionError, match="but holds: remove it"):
        cases["adds-causality"]()
    cases["adds-padding_is_invisible"]()
