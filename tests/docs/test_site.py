"""The built site: its links and anchors lead somewhere, and its pages are accessible and fit."""

import functools
import http.server
import os
import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlparse

import pytest
import pytest_asyncio
from docs.built_site import site
from docs.make_up import ROOT
from playwright.async_api import Browser, async_playwright
from runtime.examples import sampled

from docs.reference import build

__all__ = ["site"]
pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
AXE = ROOT / "studio/node_modules/axe-core/axe.min.js"
RUN_AXE = """async () => (await axe.run({rules: {
        "landmark-unique": {enabled: false},
        "scrollable-region-focusable": {enabled: false},
    }})).violations.map(({id, nodes}) => [id, ...nodes.slice(0, 3).map(({html, failureSummary}) =>
        `${html} ${failureSummary}`)].join('\\n'))"""
"""Without two rules about what the theme makes: a landmark around each button to copy code, and
wide tables that scroll, which browsers focus by themselves."""
PICTURES = os.environ.get("HEDDLE_SCREENSHOTS", "")
"""A folder for pictures of the pages in `PICTURED`; none without it."""
PICTURED = ("index.html", "start/first-assistant.html", "reference/errors.html", "comparison.html")
VIEWS = (("light", 1280), ("dark", 360))
"""Each theme and each width once: a layout depends on the width, colours on the theme."""
ALL_VIEWS = (*VIEWS, ("dark", 1280), ("light", 360))
"""For the pages in `PICTURED`: what only one layout shows has the colours of both themes."""


class Page(HTMLParser):
    """Collects the links and the anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        self.anchors |= {names.get("id") or "", names.get("name") or ""}
        for name in ("href", "src"):
            if value := names.get(name):
                self.links.append(value)


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site."""
    handler = functools.partial(QuietHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def test_links_and_anchors_of_the_site_lead_to_something(site: Path) -> None:
    pages = {path.relative_to(site).as_posix(): parsed(path) for path in site.rglob("*.html")}
    broken = []
    checked = 0
    for name, page in pages.items():
        if name == "404.html":  # its links begin at the root of a server
            continue
        for link in page.links:
            if urlparse(link).scheme:
                continue
            path, _, anchor = urljoin(name, link).partition("#")
            path = unquote(path.partition("?")[0]) or "index.html"
            path = f"{path}index.html" if path.endswith("/") else path
            checked += 1
            known = path in pages or (site / path).is_file()
            if not known or (
                anchor and path in pages and unquote(anchor) not in pages[path].anchors
            ):
                broken.append(f"{name}: {link}")

    assert checked > 1000
    assert broken == []


def parsed(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text())
    return page


def written_pages() -> list[str]:
    """Return the pages in the navigation, and one record of a decision."""
    pages = sorted(Path(name).with_suffix(".html").as_posix() for name in build.listed())
    record = next((ROOT / "docs" / "adr").glob("0148-*.md")).with_suffix(".html").name
    return [*(page.replace("README.html", "index.html") for page in pages), f"adr/{record}"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """A browser for all pages."""
    async with async_playwright() as playwright:
        path = shutil.which("chromium")
        chromium = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        await chromium.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("page", sampled(written_pages(), 20, full=20))
async def test_page_is_accessible_and_fits(address: str, browser: Browser, page: str) -> None:
    views = ALL_VIEWS if page in PICTURED else VIEWS
    faults = [
        fault
        for theme, width in views
        for fault in await looked_at(browser, f"{address}/{page}", page, theme, width)
    ]

    assert faults == [], "\n".join(faults)


async def looked_at(browser: Browser, address: str, name: str, theme: str, width: int) -> list[str]:
    """Open a page, and return what is wrong with it."""
    page = await browser.new_page(
        color_scheme="dark" if theme == "dark" else "light",
        viewport={"width": width, "height": 800},
        reduced_motion="reduce",
    )
    try:
        response = await page.goto(address)
        assert response is not None
        assert response.ok, name
        await page.add_script_tag(path=AXE)
        violations: list[str] = await page.evaluate(RUN_AXE)
        shown: int = await page.evaluate("document.documentElement.scrollWidth")
        if PICTURES and name in PICTURED:
            picture = f"site-{name.replace('/', '-').removesuffix('.html')}-{theme}-{width}.png"
            await page.screenshot(path=Path(PICTURES) / picture)
    finally:
        await page.close()
    wide = [f"{shown} px wide"] if shown > width else []
    return [f"{name}: {each}" for each in [*violations, *wide]]
