import pytest

from posexp.sweep.units import duration, size


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(8.4, "8.4 s"), (48, "48 s"), (600, "10 min"), (12240, "3.4 h"), (181440, "2.1 d")],
)
def test_durations_in_their_natural_unit(seconds, said):
    assert duration(seconds) == said


@pytest.mark.parametrize(("count", "said"), [(10, "1 MB"), (12e6, "12 MB"), (3.4e9, "3.4 GB")])
def test_sizes(count, said):
    assert size(count) == said
