"""What the kit says, and how it is used by somebody else's tests."""

import os
import runpy
import subprocess
import sys

import pytest

from posexp import AttentionDims, PluginError, PositionScheme, SchemeSpec
from posexp.testing import CHECKS, ConformanceError, check_scheme, parametrize_checks
from posexp.testing.examine import HELD, NOT_APPLICABLE


class TwoMistakes(PositionScheme):
    window = 2

    def mask(self, q_positions, k_positions):
        n = q_positions[..., :, None] - k_positions[..., None, :]
        return n.abs() <= self.window

    def adjust_output(self, out, weights, q_positions, k_positions):
        return out + 1


def test_every_check_says_what_it_holds_in_a_sentence():
    for check in CHECKS.values():
        assert check.holds.endswith("."), check.name
        assert 20 < len(check.holds) < 110, check.name


def test_results_of_a_sound_scheme():
    results = {result.check: result for result in check_scheme("nope", slow=False)}
    assert list(results) == [name for name, check in CHECKS.items() if not check.slow]
    assert results["causality"].outcome == HELD
    assert results["changes_the_output"].outcome == NOT_APPLICABLE
    assert "NoPE" in results["changes_the_output"].message


def test_one_error_names_every_failure(settings):
    with pytest.raises(ConformanceError) as caught:
        check_scheme(SchemeSpec("double", settings, TwoMistakes), slow=False)
    failed = [failure.check for failure in caught.value.failures]
    assert failed == ["masked_rows_give_zeros", "window_counts_visible_keys"]
    first, *lines = str(caught.value).splitlines()
    assert first == f"double fails 2 of {len(caught.value.results)} checks:"
    assert lines[0].startswith("- masked_rows_give_zeros: a query that sees no key gives ")
    assert lines[-1].startswith("not run, since they rest on those: padding_is_invisible, ")


def test_only_some_checks_with_what_they_need():
    (result,) = check_scheme("rope", only=["causality"])
    assert (result.check, result.outcome) == ("causality", HELD)
    with pytest.raises(ValueError, match="there is no check 'causalty' .*'causality'"):
        check_scheme("rope", only=["causalty"])


def test_bad_requests():
    with pytest.raises(PluginError, match="there is no scheme 'rpoe' .*'rope'"):
        check_scheme("rpoe")
    with pytest.raises(ValueError, match="rope has no parameter 'thteta'"):
        check_scheme({"name": "rope", "thteta": 3})
    with pytest.raises(ValueError, match="context_length of at least 24, got 8"):
        check_scheme("rope", AttentionDims(8, 2, context_length=8))


AUTHORS_TEST = """
from posexp.testing import parametrize_checks

@parametrize_checks({"name": "rope", "layout": "half"}, slow=False)
def test_conformance(check):
    check()
"""


def test_three_lines_in_an_authors_test_file(tmp_path):
    (tmp_path / "test_mine.py").write_text(AUTHORS_TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # threads would fight over small tensors
    done = subprocess.run(
        [*command, "."], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    quick = sum(not check.slow for check in CHECKS.values())
    assert done.returncode == 0, done.stdout
    assert f"{quick - 2} passed, 2 skipped" in done.stdout  # rope has no window, no saturation


def test_a_failure_in_pytest_carries_its_message(settings):
    mark = parametrize_checks(SchemeSpec("double", settings, TwoMistakes))
    cases = {case.id: case.values[0] for case in mark.mark.args[1]}
    with pytest.raises(AssertionError, match="a query that sees no key gives"):
        cases["double-masked_rows_give_zeros"]()
    with pytest.raises(pytest.skip.Exception, match="rests on masked_rows_give_zeros"):
        cases["double-padding_is_invisible"]()


def test_pytest_is_not_needed_for_check_scheme():
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "from posexp.testing import check_scheme\n"
        "check_scheme('rope', only=['builds'])"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_every_check_has_a_broken_scheme(request):
    """A check that nothing can fail checks nothing."""
    files = [runpy.run_path(str(f)) for f in request.path.parent.glob("test_broken_*.py")]
    broken = {case[1] for file in files for case in (*file["BROKEN"], *file.get("SLOW", ()))}
    assert broken == set(CHECKS)
