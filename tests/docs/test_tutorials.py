"""Four readers follow a tutorial each, and reach what it promises."""

import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from docs.browser_steps import PATIENCE_MILLISECONDS, check_step
from docs.make_up import ROOT
from docs.reader_pages import README, TUTORIALS
from docs.tutorial_actions import Action, BrowserStep, Command, SavedFile, Stop, actions
from docs.tutorial_reader import reader
from migration.lamb.lamb_database import TODAY, Lamb
from playwright.async_api import Page, async_playwright

from docs.prose.rules import check
from docs.prose.texts import markdown

IN_BROWSER = ROOT / "docs" / "start" / "first-assistant.md"


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """A page of Debian's Chromium."""
    async with async_playwright() as playwright:
        path = shutil.which("chromium")
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = await browser.new_page(locale="en")
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        yield page
        await browser.close()


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "tutorial", [each for each in TUTORIALS if each != IN_BROWSER], ids=lambda each: each.stem
)
async def test_a_reader_follows_a_tutorial_in_a_terminal(tutorial: Path, tmp_path: Path) -> None:
    async with reader(tmp_path) as follower:
        for action in actions(tutorial):
            await follower.do(action)


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
async def test_a_reader_publishes_an_assistant_in_the_studio(page: Page, tmp_path: Path) -> None:
    async with reader(tmp_path, page) as follower:
        for action in actions(IN_BROWSER):
            await follower.do(action)


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda each: each.stem)
def test_a_tutorial_has_only_steps_that_its_test_does(tutorial: Path) -> None:
    listed = actions(tutorial)

    for action in listed:
        if isinstance(action, BrowserStep):
            check_step(action.text)
    assert any("make up" in each.text for each in listed if isinstance(each, Command))
    assert isinstance(listed[-1], Stop)
    steps = sum(isinstance(each, BrowserStep) for each in listed)
    assert (steps >= 8) == (tutorial == IN_BROWSER)


@pytest.mark.parametrize("page", [README, *TUTORIALS], ids=lambda each: each.stem)
def test_a_beginner_reads_no_sentence_of_over_forty_words(page: Path) -> None:
    long = [
        finding
        for text in markdown(page.name, page.read_text())
        for finding in check(text)
        if finding.rule == "long sentence"
    ]

    assert long == []


@pytest.mark.parametrize(
    "text",
    [
        "Drag **A** to **B**.",
        "Press the button.",
        "Press **Save**. Then wait.",
        "Type `a` into the field.",
        "The page shows it.",
    ],
)
def test_a_step_of_another_form_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="no known form"):
        check_step(text)


def test_actions_are_found_in_their_order(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n```sh\nmake up\n```\n\n1. Press **A**.\n2. Open\n   it.\n\n"
        "Save this as `a.py`:\n\n```python\nx = 1\n```\n\n```sh\nls\n```\n\n"
        "```output\na.py\n```\n\nPress Ctrl+C twice.\n"
    )
    expected: list[Action] = [
        Command(3, "make up\n"),
        BrowserStep(7, "Press **A**."),
        BrowserStep(8, "Open it."),
        SavedFile(13, "a.py", "x = 1\n"),
        Command(17, "ls\n", "a.py"),
        Stop(25),
    ]

    assert actions(page) == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [("```yaml\na: 1\n```\n", "neither run nor saved"), ("1. One.\n3. Two.\n", "is step 2")],
)
def test_what_a_test_would_leave_out_is_an_error(
    content: str, problem: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{content}")

    with pytest.raises(ValueError, match=problem):
        actions(page)


def test_the_sample_has_the_tables_of_a_lamb(tmp_path: Path) -> None:
    sample = tmp_path / "lamb_v4.db"
    program = ROOT / "examples" / "lamb" / "sample.py"
    subprocess.run([sys.executable, program, sample], check=True, capture_output=True)  # noqa: S603 - our own program
    lamb = Lamb(tmp_path / "lamb.db").make(TODAY)

    assert tables(sample) == tables(lamb.path)


def tables(database: Path) -> dict[str, str]:
    """Return the statements that made the tables of a database, without white space and quotes."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        return {name: re.sub(r"[\s\"]+", "", sql) for name, sql in rows if "sqlite" not in name}
