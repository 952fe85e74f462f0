"""A collection with thousands of files: listed, searched, filtered and paged at once."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect
from studio.filling import copy_file, filled
from studio.harness import VIEWS, Studio, running
from studio.test_assistants import seconds

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
COUNT = 5_000
EVERY_FAILED = 50
MAX_SECONDS = 0.2
PAGE_SIZE = 50
SIZE = 26
"""Bytes of the smallest file."""
_NEXT = """document.querySelector("nav[aria-label=Pages] button:last-child").click()"""
_PREVIOUS = """document.querySelector("nav[aria-label=Pages] button:first-child").click()"""


@dataclass
class Many:
    """A collection with many files."""

    studio: Studio
    collection: str


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Many]:
    """A Heddle with a collection of many files."""
    folder = tmp_path_factory.mktemp("many_files")
    with running(folder, browser) as studio:
        collection, _ = filled(studio, "Archive", {name(0): b"The archive of all looms."})
        copy_file(folder, _copies(created_at=time.time_ns() // 1000))
        yield Many(studio, collection)


def name(number: int) -> str:
    """Return the name of a file. The newest has the highest number."""
    return f"loom_{number:04}.txt"


def _copies(created_at: int) -> Iterator[dict[str, object]]:
    """Yield what differs in the records of files that were attached one by one."""
    for number in range(1, COUNT):
        copy = {
            "file_id": f"file-{number:032x}",
            "filename": name(number),
            "created_at": created_at + number,
            "size": SIZE + number,
        }
        if number % EVERY_FAILED == 0:
            copy |= {"state": "failed", "error": "The file is empty.", "unreadable": True}
        yield copy


def chosen(label: str, value: str) -> str:
    """Return a statement of JavaScript that chooses an option of a field."""
    return f"""const field = [...document.querySelectorAll("label")]
            .find((label) => label.textContent.trim() === "{label}").control;
        field.value = "{value}";
        field.dispatchEvent(new Event("change", {{bubbles: true}}))"""


def typed(text: str) -> str:
    """Return a statement of JavaScript that types into the search field."""
    return f"""const box = document.querySelector("input[type=search]");
        box.value = "{text}";
        box.dispatchEvent(new Event("input", {{bubbles: true}}))"""


def opened(page: Page, many: Many) -> None:
    """Open the list of files."""
    page.goto(f"{many.studio.url}/studio/knowledge/{many.collection}")
    expect(page.get_by_text(name(COUNT - 1), exact=True)).to_be_visible()
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_a_long_list_of_files_is_accessible(many: Many, theme: str, width: int) -> None:
    with many.studio.screen(theme=theme, width=width) as screen:
        opened(screen.page, many)
        expect(screen.page.get_by_text("5,000 files")).to_be_visible()
        expect(screen.page.get_by_role("row")).to_have_count(PAGE_SIZE + 1)
        screen.check()


@pytest.mark.alone
def test_paging_through_searching_filtering_and_sorting_many_files_is_fast(many: Many) -> None:
    with many.studio.screen() as screen:
        page = screen.page
        opened(page, many)
        newest = COUNT - 1
        durations = {
            "next page": [
                seconds(page, _NEXT, name(newest - PAGE_SIZE * turned)) for turned in (1, 2, 3)
            ],
            "previous page": [
                seconds(page, _PREVIOUS, name(newest - PAGE_SIZE * turned)) for turned in (2, 1, 0)
            ],
            "search": [
                seconds(page, typed(f"oom_{number}"), name(number)) for number in (1234, 2345, 3456)
            ],
        }
        seconds(page, typed(""), name(newest))
        states = (("failed", 2_600), ("completed", newest), ("failed", 2_600))
        durations["filter"] = [
            seconds(page, chosen("State", state), name(number)) for state, number in states
        ]
        seconds(page, chosen("State", "all"), name(newest))
        sorts = (("name", 0), ("size", newest), ("status", EVERY_FAILED))
        durations["sort"] = [
            seconds(page, chosen("Sort by", sort), name(number)) for sort, number in sorts
        ]
        screen.settle()
        screen.check()
    slow = {what: each for what, each in durations.items() if min(each) >= MAX_SECONDS}
    assert slow == {}, durations
