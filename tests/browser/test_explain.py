"""The page of `posexp explain`, as its reader meets it."""

import pytest

from posexp.explain.page import page as explained
from posexp.explain.study import Study

NAMES = ("rope", "t5", "sinusoidal", "learned")


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    sizes = {"n_layers": 1, "d_model": 32, "n_heads": 4}
    studies = [
        Study.of(
            name,
            {
                "scheme": {"name": name},
                "span": {},
                "model": sizes,
                "trainer": {"context_length": 24},
            },
        )
        for name in NAMES
    ]
    path = tmp_path_factory.mktemp("explain") / "page.html"
    path.write_text(explained(studies, "posexp explain ...").render(), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("window", "dark"), [("desktop", False), ("phone", True), ("small phone", False)]
)
def test_it_opens(open_page, page_file, window, dark):
    page = open_page(page_file, window, dark)
    assert page.title() == "What rope, t5, sinusoidal and learned do"
    for id_ in ("short", "facts", "kernels", "ladder", "fixed", "random", "visible", "terms"):
        assert page.locator(f"section#{id_}").is_visible()
    assert page.locator("#fixed .grid").first.locator("> [data-key]").count() == len(NAMES)


def test_a_scheme_is_hidden_and_shown_everywhere(open_page, page_file):
    page = open_page(page_file)
    button = page.locator('#key [data-key="rope"]')
    of_rope = page.locator('main .grid:visible > [data-key="rope"]')
    shown = of_rope.count()
    assert shown >= 4
    button.click()
    assert not any(part.is_visible() for part in of_rope.all())
    assert page.locator('#random .grid:visible > [data-key="t5"]').is_visible()
    button.click()
    assert [part.is_visible() for part in of_rope.all()] == [True] * shown


def test_a_row_is_seen_on_one_scale_or_each_on_its_own(open_page, page_file):
    page = open_page(page_file)
    views = page.locator("#fixed .view")
    assert [view.is_visible() for view in views.all()] == [True, False]
    page.locator("#fixed button", has_text="each its own scale").click()
    assert [view.is_visible() for view in views.all()] == [False, True]


def test_a_pointer_reads_a_curve_and_a_matrix(open_page, page_file):
    page = open_page(page_file)
    for place in ("#fixed .plot svg", "#visible .plot svg", "#dimensions .plot svg"):
        drawing = page.locator(place).first
        drawing.scroll_into_view_if_needed()
        drawing.hover()
        assert page.locator("#tip").is_visible()
    assert (
        "position" in page.locator("#tip").inner_text()
        or "distance" in page.locator("#tip").inner_text()
    )


def test_the_frequencies_unfold_and_sort(open_page, page_file):
    page = open_page(page_file)
    details = page.locator("#ladder details").first
    details.locator("summary").click()
    table = details.locator("table")
    ranks = "bodies => bodies.map(b => b.rows[0].cells[0].innerText)"
    assert table.locator("tbody").evaluate_all(ranks) == ["0", "1", "2", "3"]
    turn = table.locator("th", has_text="tokens a turn")
    turn.locator("button").click()
    turn.locator("button").click()
    assert table.locator("tbody").evaluate_all(ranks) == ["3", "2", "1", "0"]


def test_print_has_everything(open_page, page_file):
    page = open_page(page_file, dark=True)
    page.emulate_media(media="print")
    assert page.locator("#terms .plot").first.is_visible()
    assert len(page.pdf()) > 20_000


def test_without_scripts_everything_is_there(open_page, page_file):
    page = open_page(page_file, scripts=False)
    assert page.locator("#random .grid").first.locator("> [data-key]").count() == len(NAMES)
    assert page.locator("#ladder details").count() == 2
