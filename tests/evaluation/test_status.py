import numpy as np
import pytest
import torch

from posexp.evaluation.status import Measured, figure_row, measure

ZEROS = np.zeros(4, int)


class Limited:
    max_length = 16


def fails(error):
    def losses():
        raise error

    return losses


def test_p26_beyond_the_positions_of_a_model_nothing_is_run():
    assert measure(Limited(), 16, lambda: np.ones(3)).ok
    assert measure(Limited(), 17, fails(AssertionError("it ran"))).status == "undefined"
    assert measure(object(), 10**6, lambda: np.ones(3)).ok


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("no")])
def test_memory_is_a_status_and_other_errors_are_errors(error):
    assert measure(None, 8, fails(error)) == Measured("memory")
    with pytest.raises(RuntimeError, match="bug"):
        measure(None, 8, fails(RuntimeError("bug")))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_p44_one_loss_that_is_not_finite_is_divergence_with_null_figures(bad):
    losses = np.array([[1.0, 2.0], [bad, 1.0]])
    found = measure(None, 8, lambda: losses)
    assert found.status == "diverged"
    assert measure(None, 8, lambda: (np.ones(2), losses)).status == "diverged"
    row = figure_row(8, found, Measured("ok", np.ones((2, 2))), ZEROS[:2])
    assert row == {
        "length": 8,
        "status": "diverged",
        "bits_per_byte": None,
        "standard_error": None,
        "gain": None,
    }


def test_gain_is_positive_where_longer_context_helps():
    bits = np.log(2) * np.ones((4, 2))
    row = figure_row(32, Measured("ok", 1.5 * bits), Measured("ok", 2 * bits), ZEROS)
    assert row["bits_per_byte"] == pytest.approx(1.5)
    assert row["gain"] == pytest.approx(0.5)
    assert row["standard_error"] == pytest.approx(0)
    assert figure_row(32, Measured("ok", bits), Measured("memory"), ZEROS)["gain"] is None
