import pytest

from posexp.report.comparison import compare
from posexp.report.figures import draw
from posexp.report.figures.differences import draw_differences
from posexp.report.jobs import read_jobs


def drawn(sweep, baseline=None):
    (ax,) = draw_differences(compare(read_jobs(sweep.path), baseline)).axes
    bars = {
        round(line.get_ydata()[0]): (*line.get_xdata(), line.get_linewidth())
        for line in ax.lines[1:]
        if len(line.get_xdata()) == 2 and line.get_linestyle() == "-"
    }
    return ax, bars


def test_bars_are_the_intervals_and_dots_the_seeds(sweep):
    for seed, offset in enumerate((-0.02, 0.0, 0.03)):
        sweep.write("rope", (2.0,) * 5, seed=seed)
        sweep.write("alibi", (2.3 + offset,) * 5, seed=seed)
    contrast = compare(read_jobs(sweep.path))[0].contrasts[128]["alibi"]
    ax, bars = drawn(sweep)
    both = contrast.estimate.both
    assert bars == {0: (both.low, both.high, 2.4)}
    dots = next(line for line in ax.lines if len(line.get_xdata()) == 3)
    assert sorted(dots.get_xdata()) == pytest.approx([0.28, 0.3, 0.33])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["alibi"]
    assert "minus rope" in ax.get_xlabel() and "text alone" not in ax.texts[0].get_text()


def test_one_seed_is_a_thin_bar_over_text_alone(sweep):
    sweep.write("rope", (2.0,) * 5)
    sweep.write("alibi", (2.3,) * 5)
    ax, bars = drawn(sweep)
    assert bars[0][2] < 1 and bars[0][0] < 0.3 < bars[0][1]
    assert "over text alone" in " ".join(ax.texts[0].get_text().split())


def test_the_baseline_what_diverged_and_what_is_undefined_have_no_row(sweep):
    sweep.write("rope", (2.0,) * 5)
    sweep.write("raw", (float("nan"),) * 5)
    sweep.write("late", status="running")
    sweep.write("alibi", (2.3,) * 5)
    assert [t.get_text() for t in drawn(sweep, "rope")[0].get_yticklabels()] == ["alibi"]


def test_a_column_wide(sweep):
    """3.3 inches at 200 dots."""
    sweep.write("rope", (2.0,) * 5)
    sweep.write("alibi", (2.3,) * 5)
    png = draw(compare(read_jobs(sweep.path)))["report/differences.png"]
    assert int.from_bytes(png[16:20], "big") == 660


def test_nothing_to_pair_is_no_figure(sweep):
    sweep.write("rope", (2.0,) * 5)
    assert draw_differences(compare(read_jobs(sweep.path))) is None
