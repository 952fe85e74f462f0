"""Hostile names, descriptions, documents and errors execute nothing in the studio."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from knowledge.pages.pdfs import pdf
from playwright.sync_api import Browser, Page, expect
from studio.filling import Files, copy_file, filled
from studio.harness import Studio, running
from studio.hostile_texts import PAYLOADS, check, watched

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
PAGES = 4
SOME = PAYLOADS[::11]
"""Those that are opened one by one; the lists show all."""
NAMES = {f"tutor_{number}": payload for number, payload in enumerate(PAYLOADS)}


@dataclass
class Hostile:
    """A Heddle of which every text is an attacker's."""

    studio: Studio
    documents: str
    """A collection with the payloads in its documents."""
    files: Files
    failed: str
    """A collection whose files have payloads as their names and errors."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Hostile]:
    """A Heddle of which every text is an attacker's."""
    folder: Path = tmp_path_factory.mktemp("hostile_knowledge")
    parts = [
        re.sub(r"([()\\])", r"\\\1", " ".join(PAYLOADS[start::PAGES])) for start in range(PAGES)
    ]
    documents = {
        "texts.txt": "\n\n".join(PAYLOADS).encode(),
        "headings.md": "\n\n".join(f"# {each}\n\n{each}" for each in PAYLOADS).encode(),
        "pages.pdf": pdf(*parts),
    }
    with running(folder, browser) as studio:
        failed, _ = filled(studio, "Failed", {"first.txt": b"A text."})
        copy_file(folder, _failures())
        collection, files = filled(studio, "Documents", documents)
        for name, payload in NAMES.items():
            body = {"name": payload, "sharing": "organization"}
            studio.client.post("/v1/vector_stores", json=body).raise_for_status()
            assistant = {
                "name": name,
                "title": payload,
                "description": payload,
                "model": {"connector": "bypass", "model": "simple-bypass"},
            }
            studio.client.post("/assistants", json=assistant).raise_for_status()
        yield Hostile(studio, collection, files, failed)


def _failures() -> Iterator[dict[str, object]]:
    """Yield what records of failed files have as names and errors: each payload."""
    for payload in PAYLOADS:
        yield {
            "file_id": file_id(payload),
            "filename": payload,
            "attributes": {"folder": payload},
            "state": "failed",
            "error": payload,
            "unreadable": True,
        }


def file_id(payload: str) -> str:
    """Return the identifier of the failed file whose name is a payload."""
    return f"file-{PAYLOADS.index(payload):032x}"


def words(text: str | None) -> str:
    """Return a text with single spaces, as a page shows it."""
    return " ".join((text or "").split())


def leaf_through(page: Page, executed: list[str]) -> str:
    """Go through all pages of a list, and return its text."""
    following = page.locator("nav[aria-label=Pages] button:last-child")
    text = ""
    for number in range(1, 100):
        if following.count() > 0:
            expect(page.get_by_text(f"Page {number}", exact=True)).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        check(page, executed, page.url)
        text += words(page.locator("main").text_content()) + " "
        if following.count() == 0 or following.is_disabled():
            return text
        following.click()
    raise AssertionError("the list does not end")


def missing(text: str) -> list[str]:
    """Return the payloads that are not shown in a text."""
    return [each for each in PAYLOADS if words(each) not in text]


@pytest.mark.parametrize("policy", [True, False])
@pytest.mark.parametrize("screen", ["knowledge", "assistants"])
def test_names_titles_and_descriptions_in_lists_execute_nothing(
    hostile: Hostile, screen: str, *, policy: bool
) -> None:
    with watched(hostile.studio, policy=policy) as (page, executed):
        page.goto(f"{hostile.studio.url}/studio/{screen}")
        page.get_by_role("table").wait_for()
        assert missing(leaf_through(page, executed)) == []


@pytest.mark.parametrize("policy", [True, False])
def test_names_and_errors_of_files_execute_nothing(hostile: Hostile, *, policy: bool) -> None:
    with watched(hostile.studio, policy=policy) as (page, executed):
        page.goto(f"{hostile.studio.url}/studio/knowledge/{hostile.failed}")
        page.get_by_role("table").wait_for()
        assert missing(leaf_through(page, executed)) == []
        page.get_by_role("button", name="Remove").first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        check(page, executed, "the dialog")


@pytest.mark.parametrize("policy", [True, False])
def test_a_collection_and_a_document_with_hostile_names_execute_nothing(
    hostile: Hostile, *, policy: bool
) -> None:
    stores = hostile.studio.client.get("/v1/vector_stores", params={"limit": 100}).json()["data"]
    by_name = {each["name"]: each["id"] for each in stores}
    address = f"{hostile.studio.url}/studio/knowledge"
    with watched(hostile.studio, policy=policy) as (page, executed):
        for payload in SOME:
            page.goto(f"{address}/{by_name[payload]}")
            expect(page.get_by_role("heading", level=1)).to_have_text(words(payload))
            page.get_by_role("button", name="Delete").click()
            expect(page.get_by_role("dialog")).to_be_visible()
            check(page, executed, payload)
            page.goto(f"{address}/{hostile.failed}/{file_id(payload)}")
            expect(page.get_by_role("heading", level=1)).to_have_text(words(payload))
            expect(page.locator("main p.text-danger")).to_have_text(words(payload))
            check(page, executed, payload)


@pytest.mark.parametrize("policy", [True, False])
def test_passages_of_documents_execute_nothing(hostile: Hostile, *, policy: bool) -> None:
    address = f"{hostile.studio.url}/studio/knowledge/{hostile.documents}"
    with watched(hostile.studio, policy=policy) as (page, executed):
        for name in ("texts.txt", "headings.md", "pages.pdf"):
            page.goto(f"{address}/{hostile.files[name]['id']}?passage=0")
            page.get_by_role("list", name="Passages").wait_for()
            text = leaf_through(page, executed)
            assert "onerror=alert(1)" in text
            assert name != "texts.txt" or missing(text) == []
        for number in range(1, PAGES + 1):
            page.goto(f"{address}/{hostile.files['pages.pdf']['id']}?tab=pages&page={number}")
            expect(page.get_by_role("img", name=f"Picture of page {number}")).to_be_visible()
            expect(page.get_by_label(f"Text of page {number}")).to_contain_text("alert(1)")
            check(page, executed, f"page {number}")


@pytest.mark.parametrize("policy", [True, False])
def test_results_of_the_search_test_execute_nothing(hostile: Hostile, *, policy: bool) -> None:
    address = f"{hostile.studio.url}/studio/knowledge/{hostile.documents}?tab=search"
    with watched(hostile.studio, policy=policy) as (page, executed):
        page.goto(address)
        for payload in SOME:
            page.get_by_label("Question").fill(payload)
            with page.expect_response("**/search") as response:
                page.get_by_role("button", name="Search").click()
            results = page.get_by_role("list", name="Results")
            expect(results.get_by_role("listitem")).to_have_count(
                len(response.value.json()["data"])
            )
            expect(results).to_contain_text("alert(1)")
            check(page, executed, payload)
