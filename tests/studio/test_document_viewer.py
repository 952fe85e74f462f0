"""The viewer of a document: passages as they were split, pages, and the links that lead to it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from knowledge.pages.pdfs import pdf
from playwright.sync_api import Browser, expect
from studio.filling import Files, filled
from studio.harness import LANGUAGES, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
SHUTTLE = "The shuttle carries the weft through the shed."
SECTIONS = 60
NEEDLE = "Bobbins of amber wool hang in row 47."
FILLING = "Warp threads are counted, tied and beamed before the weaver starts. " * 10


@dataclass
class Looms:
    """A collection with a PDF, a long text, and a text that cannot be read."""

    studio: Studio
    collection: str
    files: Files

    def path(self, name: str) -> str:
        """Return the path of the viewer of a file."""
        return f"knowledge/{self.collection}/{self.files[name]['id']}"


def long_text() -> str:
    """Return a text of sections, each of which is a passage at least."""
    return "\n\n".join(
        f"# Section {number}\n\n{NEEDLE if number == 47 else f'Row {number}.'} {FILLING}"
        for number in range(SECTIONS)
    )


@pytest.fixture(scope="module")
def looms(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Looms]:
    """A Heddle with documents."""
    folder: Path = tmp_path_factory.mktemp("viewer")
    with running(folder, browser) as studio:
        documents = {
            "shuttles.pdf": pdf("Looms have a warp.", SHUTTLE),
            "rows.md": long_text().encode(),
            "broken.pdf": b"not a PDF",
        }
        yield Looms(studio, *filled(studio, "Looms", documents))


def test_a_result_of_a_search_leads_to_its_passage_in_the_document(looms: Looms) -> None:
    with looms.studio.screen() as screen:
        page = screen.page
        screen.open(f"knowledge/{looms.collection}?tab=search")
        page.get_by_label("Question").fill("Where do bobbins of amber wool hang?")
        page.get_by_role("button", name="Search").click()
        best = page.get_by_role("list", name="Results").get_by_role("listitem").first
        best.get_by_role("link", name="Open the document").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("rows.md")
        marked = page.locator("[aria-current=true]")
        expect(marked).to_contain_text(NEEDLE)
        expect(marked).to_contain_text("Section 47")
        expect(marked).to_be_in_viewport()
        expect(marked).to_be_focused()
        expect(marked.locator("mark")).to_contain_text(NEEDLE)
        screen.check()
        page.get_by_role("link", name="All files of Looms").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Looms")
        screen.check()


def test_the_passages_are_paged_as_the_server_split_them(looms: Looms) -> None:
    path = f"/v1/vector_stores/{looms.collection}/files/{looms.files['rows.md']['id']}/passages"
    stored = looms.studio.client.get(path, params={"page_size": 1_000}).json()
    assert stored["total"] == len(stored["data"]) >= SECTIONS
    with looms.studio.screen() as screen:
        page = screen.page
        screen.open(f"knowledge/{looms.collection}")
        expect(page.get_by_role("link", name="broken.pdf")).to_have_count(0)
        page.get_by_role("link", name="rows.md").click()
        passages = page.get_by_role("list", name="Passages").get_by_role("listitem")
        texts: list[str] = []
        following = page.get_by_role("button", name="Next")
        while True:
            expect(page.get_by_text(re.compile(rf"^Passages {len(texts) + 1} to"))).to_be_visible()
            expect(passages.first).to_contain_text(f"Passage {len(texts) + 1}")
            texts.extend(passages.locator("p.whitespace-pre-wrap").all_text_contents())
            if following.is_disabled():
                break
            following.click()
        assert [each.split() for each in texts] == [each["text"].split() for each in stored["data"]]
        page.reload()
        expect(passages.last).to_contain_text(f"Passage {stored['total']}")
        page.go_back()
        expect(page.get_by_text(re.compile(rf"of {stored['total']}$"))).to_be_visible()
        # The former page is pale while the next one is fetched.
        pale = re.compile("opacity-60")
        expect(page.get_by_role("list", name="Passages")).not_to_have_class(pale)
        screen.check()


def test_the_pages_of_a_document_are_shown_with_their_pictures(looms: Looms) -> None:
    with looms.studio.screen() as screen:
        page = screen.page
        screen.open(looms.path("shuttles.pdf"))
        second = page.get_by_role("listitem").filter(has_text=SHUTTLE)
        expect(second).to_contain_text("Page 2")
        second.get_by_role("button", name="Show on its page").click()
        expect(second.get_by_role("img", name="Picture of page 2")).to_be_visible()
        expect(second.locator("mark")).to_have_text(SHUTTLE)
        screen.check()
        page.get_by_role("link", name="Pages", exact=True).click()
        expect(page.get_by_role("img", name="Picture of page 1")).to_be_visible()
        expect(page.get_by_text("Looms have a warp.")).to_be_visible()
        page.get_by_role("button", name="Next page").press("Enter")
        expect(page.get_by_role("img", name="Picture of page 2")).to_be_visible()
        expect(page.get_by_text("Page 2 of 2")).to_be_visible()
        expect(page.get_by_role("button", name="Next page")).to_be_disabled()
        screen.check()
        page.reload()
        expect(page.get_by_role("img", name="Picture of page 2")).to_be_visible()


def test_a_document_without_pages_or_passages_says_so(looms: Looms) -> None:
    with looms.studio.screen() as screen:
        page = screen.page
        screen.open(looms.path("rows.md") + "?tab=pages")
        expect(page.get_by_text("This document has no pages.")).to_be_visible()
        screen.check()
        screen.open(looms.path("broken.pdf"))
        expect(page.get_by_text(looms.files["broken.pdf"]["last_error"]["message"])).to_be_visible()
        screen.check()
        screen.open(f"knowledge/{looms.collection}/file-{'0' * 32}")
        expect(page.get_by_role("alert")).to_contain_text("The collection has no file")
        screen.check(expected=("404",))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_viewer_is_accessible(looms: Looms, language: str) -> None:
    with looms.studio.screen(language=language) as screen:
        for tab in ("passages", "pages"):
            screen.open(f"{looms.path('shuttles.pdf')}?tab={tab}&passage=1&page=2")
            expect(screen.page.get_by_text(SHUTTLE)).to_be_visible()
            screen.check_in_views(f"knowledge-document-{tab}-{{view}}-{language}")
