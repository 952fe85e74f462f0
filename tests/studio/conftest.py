"""The browser of all tests of a process: Playwright starts only once in it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from studio.harness import KEY, Studio, running

expect.set_options(timeout=30_000)  # a busy machine answers late


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def development(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle without keys."""
    with running(tmp_path_factory.mktemp("development"), browser) as studio:
        yield studio


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle that needs a key."""
    folder: Path = tmp_path_factory.mktemp("locked")
    with running(folder, browser, HEDDLE_GATEWAY_API_KEY=KEY) as studio:
        yield studio
