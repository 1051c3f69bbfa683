import dataclasses
import json
import re

import matplotlib
import pytest

from posexp.report.comparison import compare
from posexp.report.figures import draw
from posexp.report.figures.by_length import draw_by_length
from posexp.report.figures.by_position import curve, draw_by_position
from posexp.report.figures.style import RC, styles
from posexp.report.jobs import read_jobs


def comparisons(sweep):
    found = compare(read_jobs(sweep.path))
    return [dataclasses.replace(c, ngram={"order_3": 2.774, "order_5": 2.034}) for c in found]


def words(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def lines(ax):
    """Lines drawn in data, without T and the samples in the margin."""
    return [line for line in ax.lines if len(line.get_xdata()) > 1 and line.get_marker() != ""]


def test_both_figures_as_png_and_pdf_with_embedded_fonts(messy_sweep):
    before = {key: matplotlib.rcParams[key] for key in RC}
    drawn = draw(comparisons(messy_sweep))
    assert {key: matplotlib.rcParams[key] for key in RC} == before
    names = ("differences", "loss_by_length", "loss_by_position")
    assert sorted(drawn) == [f"report/{name}.{kind}" for name in names for kind in ("pdf", "png")]
    assert drawn["report/loss_by_length.png"].startswith(b"\x89PNG")
    pdf = drawn["report/loss_by_length.pdf"]
    assert b"/CIDFontType2" in pdf and b"/FontFile2" in pdf and b"/Type3" not in pdf


def test_figures_are_as_wide_as_a_page_whatever_their_names(sweep):
    """6.8 inches at 200 dots: 1360 pixels, also where a name would push everything else out."""
    sweep.write("rope", (2.0, 2.0, 2.1, 2.2, None))
    settings = {"scheme": {"name": "a_scheme_with_a_long_name_" * 4}}
    sweep.write("alibi", (2.0, 2.0, 2.1, 2.2, 2.3), settings=settings)
    png = draw(comparisons(sweep))["report/loss_by_length.png"]
    assert int.from_bytes(png[16:20], "big") == 1360
    (ax,) = draw_by_length(comparisons(sweep)).axes
    assert ax.get_position().width * 6.8 >= 2.79
    assert any(t.get_text().startswith("a_scheme_with") and "…" in t.get_text() for t in ax.texts)
    assert "rope (n/a beyond 512)" in words(ax)


def test_lines_are_the_losses_and_end_where_a_scheme_does(messy_sweep, losses):
    (ax,) = draw_by_length(comparisons(messy_sweep)).axes
    drawn = {tuple(line.get_ydata()) for line in lines(ax) if line.get_xdata()[0] == 64}
    assert drawn == {tuple(x for x in values if x is not None) for values in losses.values()}
    text = words(ax)
    assert "learned (n/a beyond 128)" in text and "T = 128" in text and "order-5 n-gram" in text
    assert re.search(r"Without a line: raw_index \(diverged\), .*kaput \(failed\)", text)
    assert ax.get_xscale() == "log" and ax.get_yscale() == "linear"


def test_several_seeds_are_a_mean_with_every_seed(sweep):
    for seed, loss in enumerate([2.0, 2.1, 2.4]):
        sweep.write("rope", (loss,) * 5, seed=seed)
    (ax,) = draw_by_length(comparisons(sweep)).axes
    mean, *seeds = lines(ax)
    assert list(mean.get_ydata()) == pytest.approx([6.5 / 3] * 5)
    assert sorted(seeds[0].get_ydata()) == [2.0, 2.1, 2.4]
    band = ax.collections[0].get_paths()[0].get_extents()
    half = 4.3027 * 0.208167 / 3**0.5
    assert (band.y0, band.y1) == pytest.approx((6.5 / 3 - half, 6.5 / 3 + half), rel=1e-4)
    assert "bands: the 95 % t-interval over seeds" in words(ax)


def test_styles_differ_in_grey_as_well(sweep):
    for i in range(32):
        sweep.write(f"s{i:02}", (2.0,) * 5)
    look = styles(comparisons(sweep))
    assert len({(s["marker"], str(s["linestyle"])) for s in look.values()}) == 32


def test_the_position_curve_is_drawn_at_its_tokens_of_context(messy_sweep):
    setting = comparisons(messy_sweep)[0].settings[0]
    buckets = setting.jobs[0].evaluation["curve"]
    first, second = curve(setting)[:2]
    assert first == (1.0, buckets[0]["bits_per_byte"])
    assert second == (2.0, buckets[1]["bits_per_byte"])
    (ax,) = draw_by_position(comparisons(messy_sweep)).axes
    assert ax.get_xlim()[0] < 1 and ax.get_xlim()[1] >= 1024


def test_a_scheme_without_a_curve_is_named(sweep):
    sweep.write("rope", (2.0,) * 5)
    path = sweep.write("learned", (2.1, 2.1, None, None, None)) / "result.json"
    result = json.loads(path.read_text())
    result["evaluation"] |= {"curve": [], "curve_status": "undefined"}
    path.write_text(json.dumps(result))
    (ax,) = draw_by_position(comparisons(sweep)).axes
    assert "Without a line: learned (n/a)." in words(ax)


def test_a_loss_far_above_the_others_does_not_press_them_flat(sweep):
    sweep.write("rope", (2.0,) * 5)
    sweep.write("raw_index", (5.0, 6.0, 9.0, 13.0, 17.0))
    assert draw_by_length(comparisons(sweep)).axes[0].get_yscale() == "log"


def test_of_many_settings_the_best_are_drawn_and_the_figure_says_so(sweep):
    for i in range(35):
        sweep.write(f"s{i:02}", (2.0 + 0.1 * i,) * 5)
    sweep.write("learned", (None,) * 5)
    for draw_figure in (draw_by_length, draw_by_position):
        (ax,) = draw_figure(comparisons(sweep)).axes
        assert "The best 32 of 35 at T." in words(ax)
        assert "s31" in words(ax) and "s32" not in words(ax)
        assert "Without a line: learned (n/a)." in words(ax)


def test_one_panel_a_comparison(sweep):
    sweep.write("rope", (2.0,) * 5)
    shakespeare = {"data": {"name": "shakespeare", "path": None}}
    sweep.write("rope", (2.4,) * 5, settings=shakespeare, corpus_fingerprint="c3d4")
    assert len(draw_by_length(comparisons(sweep)).axes) == 2


def test_nothing_to_draw(sweep):
    sweep.write("rope", status="failed")
    assert draw(comparisons(sweep)) == {}
