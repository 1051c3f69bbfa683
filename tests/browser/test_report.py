"""The report of a sweep of eight schemes and three seeds, as its reader meets it."""

import re

import pytest

from posexp.report.analyse import analyse
from posexp.report.comparison import compare
from posexp.report.page import report_page
from posexp.report.sweeps import read_sweeps

EVIL = "<b>kaput"


@pytest.fixture(scope="module")
def losses(made_up):
    """Scheme -> its losses at T/2, T, 2 T, 4 T and 8 T, in the mean of three seeds."""
    return made_up.LOSSES


@pytest.fixture(scope="module")
def page_file(made_up, losses, tmp_path_factory):
    sweep = made_up.FakeSweep(tmp_path_factory.mktemp("report") / "sweep")
    for scheme, means in losses.items():
        for seed in range(3):
            shifted = tuple(mean and mean + 0.01 * (seed - 1) for mean in means)
            sweep.write(scheme, shifted, seed=seed)
    sweep.write(EVIL, status="failed", error="RuntimeError: <script>alert(1)</script>")
    sweeps = read_sweeps([sweep.path])
    path = sweep.path / "report.html"
    path.write_text(report_page(analyse([sweep.path], sweeps, compare(sweeps.jobs))))
    return path


def settings_in(table):
    """The names of a table's rows from top to bottom, without their seeds."""
    script = "rows => rows.map(row => row.querySelector('.who').innerText.trim())"
    return table.locator("tbody tr:first-child").evaluate_all(script)


def title(page, words):
    return page.locator("#table thead tr:last-child th", has_text=words)


def test_it_is_small(page_file):
    assert page_file.stat().st_size < 400_000


def test_a_column_sorts_both_ways_and_by_keyboard(open_page, page_file, losses):
    page = open_page(page_file)
    order = sorted(losses, key=lambda scheme: losses[scheme][1])
    table, at_t = page.locator("#table table"), title(page, re.compile(r"^T\s*128"))
    at_t.locator("button").click()
    assert at_t.get_attribute("aria-sort") == "ascending"
    assert settings_in(table) == [*order, EVIL]  # without a number: last
    at_t.locator("button").press("Enter")
    assert at_t.get_attribute("aria-sort") == "descending"
    assert settings_in(table) == [*reversed(order), EVIL]
    longest = title(page, re.compile(r"^8 T\s*1024"))
    longest.locator("button").press("Space")
    assert at_t.get_attribute("aria-sort") == "none"
    with_loss = [scheme for scheme in losses if losses[scheme][4] is not None]
    expected = sorted(with_loss, key=lambda scheme: losses[scheme][4])
    assert settings_in(table)[: len(expected)] == expected


def test_the_seeds_of_a_row_unfold_and_move_with_it(open_page, page_file):
    page = open_page(page_file)
    body = page.locator("#table tbody", has_text="alibi")
    seeds = body.locator("tr.child")
    assert not seeds.first.is_visible()
    body.locator(".fold").press("Enter")
    assert body.locator(".fold").get_attribute("aria-expanded") == "true"
    assert [text.split()[:2] for text in seeds.all_inner_texts()] == [
        ["seed", str(i)] for i in range(3)
    ]
    assert "2.424" in seeds.first.inner_text()
    title(page, re.compile(r"^T\s*128")).locator("button").click()
    assert seeds.first.is_visible()
    page.locator("#table .every").click()
    assert (
        page.locator("#table tr.child:visible").count() == page.locator("#table tr.child").count()
    )


def test_pointing_at_a_line_tells_its_value(open_page, page_file, losses):
    page = open_page(page_file)
    chart = page.locator("#length svg:visible").first
    chart.scroll_into_view_if_needed()
    chart.locator('g[data-name="rope"] use').nth(2).hover(force=True)
    tip = page.locator("#tip")
    assert tip.is_visible()
    assert "256" in tip.locator(".at").first.inner_text()
    near = tip.locator("tr.near").inner_text()
    assert near.split()[:2] == ["rope", f"{losses['rope'][2]:.3f}"]
    assert "3 seeds" in near
    # The others at this length stand beside it, from the highest to the lowest on the chart.
    names = tip.locator("td:first-child").all_inner_texts()
    defined = [s for s in losses if losses[s][2] is not None]
    assert names == sorted(defined, key=lambda s: losses[s][2], reverse=True)
    page.mouse.move(2, 2)
    assert not tip.is_visible()


def test_arrows_walk_along_a_line(open_page, page_file, made_up):
    page = open_page(page_file)
    chart = page.locator("#length svg:visible").first
    chart.focus()
    told = []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        told.append(page.locator("#tip .at").first.inner_text().split(": ")[1])
    assert told == [str(length) for length in made_up.LENGTHS[1:4]]


def test_a_scheme_is_switched_off_in_all_charts_and_on_again(open_page, page_file):
    page = open_page(page_file)
    button = page.locator('#key button[data-key="rope"]')
    parts = page.locator('main [data-key="rope"]')
    before = [part.is_visible() for part in parts.all()]
    assert sum(before) > 4
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert not any(part.is_visible() for part in parts.all())
    chart = page.locator("#length svg:visible").first
    assert chart.locator('g[data-name="alibi"]').is_visible()
    button.press("Enter")
    assert [part.is_visible() for part in parts.all()] == before


def test_a_double_click_leaves_one_scheme_and_another_brings_all_back(open_page, page_file, losses):
    page = open_page(page_file)
    button = page.locator('#key button[data-key="t5"]')
    button.dblclick()
    pressed = page.locator('#key button[aria-pressed="true"]')
    assert pressed.evaluate_all("all => all.map(b => b.dataset.key)") == ["t5"]
    button.dblclick()
    assert pressed.count() == len(losses)


def test_linear_and_logarithmic_are_two_views(open_page, page_file):
    page = open_page(page_file)
    views = page.locator("#length .views")
    assert views.locator(".view:visible").count() == 1
    before = views.locator("svg:visible .tick.y").all_inner_texts()
    views.locator(".choice button[aria-pressed=false]").click()
    assert views.locator(".view:visible").count() == 1
    assert views.locator("svg:visible .tick.y").all_inner_texts() != before


def test_a_command_can_be_copied(open_page, page_file):
    from playwright.sync_api import expect

    page = open_page(page_file)
    page.locator("#origins summary").first.click()
    code = page.locator("#origins details .code").first
    code.locator(".copy").click()
    expect(code.locator(".copy")).to_have_text("copied")  # the clipboard answers when it likes


def test_a_name_with_markup_is_only_a_name(open_page, page_file):
    page = open_page(page_file)
    assert page.locator("main b").count() == 0
    failures = page.locator("#failures")
    assert EVIL in failures.inner_text()
    assert "<script>alert(1)</script>" in failures.inner_text()


def test_print_shows_everything_on_white(open_page, page_file):
    page = open_page(page_file, dark=True)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert min(map(int, re.findall(r"\d+", ground)[:3])) > 245
    assert page.locator("#table tr.child").first.is_visible()
    assert page.locator("#origins details .code").first.is_visible()
    assert not page.locator("nav").is_visible()
    assert page.locator("button.copy:visible, .choice:visible, .fold:visible").count() == 0
    pdf = page.pdf(prefer_css_page_size=True)
    sections = page.locator("section").count()
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= sections - 1
    page.emulate_media(media="screen")


@pytest.mark.parametrize("window", ["phone", "small phone"])
def test_a_phone_shows_it_within_its_width(open_page, page_file, window):
    page = open_page(page_file, window)
    scrolling = page.locator("#table .scroll")
    assert scrolling.evaluate("e => e.scrollWidth > e.clientWidth")
    ticks = page.locator("#length svg:visible .tick:visible")
    sizes = ticks.evaluate_all("all => all.map(t => t.getBoundingClientRect().height)")
    assert min(sizes) >= 9  # px on the phone: small, but it can be read
    chart = page.locator("#length svg:visible").first
    chart.scroll_into_view_if_needed()
    chart.locator('g[data-name="alibi"] use').nth(1).tap(force=True)
    assert "alibi" in page.locator("#tip").inner_text()


def test_a_dark_system_gets_a_dark_page(open_page, page_file):
    page = open_page(page_file, dark=True)
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", color)[:3])) < 60


def test_without_scripts_everything_can_be_read(open_page, page_file):
    page = open_page(page_file, scripts=False)
    assert page.locator("#table tr.child").first.is_visible()
    assert page.locator("#length svg:visible").count() >= 1
