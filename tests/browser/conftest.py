"""A real browser without a window. A page that it opens must complain of nothing, fetch nothing,
and fit its window: `open_page` looks for that when the test is over.
"""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WINDOWS = {
    "desktop": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
    "small phone": {
        "viewport": {"width": 360, "height": 740},
        "has_touch": True,
        "is_mobile": True,
    },
}


def unavailable(reason):
    if os.environ.get("POSEXP_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def made_up():
    """The module of made-up sweeps: `FakeSweep`, `LOSSES`, `LENGTHS`."""
    path = Path(__file__).parents[1] / "report" / "conftest.py"
    spec = importlib.util.spec_from_file_location("made_up_sweeps", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Not for the session: while playwright is open, nothing else in the process can use asyncio.
@pytest.fixture(scope="module")
def browser():
    """Chromium, driven by playwright; never downloaded."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        unavailable("there is no Chromium to open pages with: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("there is no playwright to drive Chromium with: pip install 'posexp[dev]'")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def open_page(browser):
    """`open_page(path, "desktop" | "phone" | "small phone", dark=False, scripts=True)`.

    Returns a playwright page. After the test: no console error, no page error, no request but for
    the file itself, and nothing wider than the window.
    """
    opened = []

    def open_(path, window="desktop", dark=False, scripts=True):
        context = browser.new_context(
            **WINDOWS[window],
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )
        context.set_default_timeout(10_000)
        page = context.new_page()
        faults, requests = [], []
        page.on(
            "console", lambda m: faults.append(m.text) if m.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        opened.append((page, faults, requests, scripts))
        return page

    yield open_
    for page, faults, requests, scripts in opened:
        assert faults == []
        assert [url for url in requests if not url.startswith("data:")] == [page.url.split("#")[0]]
        if scripts:
            width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert width <= 0, f"the page is {width} px wider than its window"
        page.context.close()
