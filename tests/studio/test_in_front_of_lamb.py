"""A browser before Heddle in front of LAMB: LAMB's page and the studio at one address."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lamb_stand_in.server import PASSWORD
from lamb_stand_in.tokens import SECRET
from playwright.sync_api import Browser, Page, expect
from runtime.ports import free_port
from studio.harness import KEY, ROOT, VIEWS, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
ANN = "ann@uni.example"


@contextmanager
def lamb(port: int, *database: Path) -> Iterator[None]:
    """Run the stand-in for LAMB as a process of its own, before a database if there is one."""
    command = [sys.executable, "-m", "lamb_stand_in", str(port), *map(str, database)]
    process = subprocess.Popen(command, cwd=ROOT / "tests")  # noqa: S603 - our own module
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle in front of LAMB that knows Ann, who has no password in Heddle."""
    folder = tmp_path_factory.mktemp("front")
    port = free_port()
    settings = {
        "HEDDLE_GATEWAY_API_KEY": KEY,
        "HEDDLE_LAMB_URL": f"http://127.0.0.1:{port}",
        "LAMB_JWT_SECRET": SECRET,
    }
    with lamb(port), running(folder, browser, **settings) as studio:
        studio.heddle("organizations", "set", "uni", "--name", "The University")
        studio.heddle("users", "set", ANN, "--organization", "uni", "--role", "creator")
        yield studio


def log_in(page: Page, url: str) -> None:
    """Log in to LAMB with its own page."""
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_have_text("LAMB")
    page.get_by_label("E-mail").fill(ANN)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("#user")).to_have_text(ANN)


def test_a_user_logs_in_to_lamb_uploads_a_file_and_sends_messages(
    front: Studio, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.pdf"
    notes.write_bytes(bytes(3_000_000))
    with front.screen() as screen:
        page = screen.page
        log_in(page, front.url)
        page.locator("#upload input").set_input_files(notes)
        page.get_by_role("button", name="Upload").click()
        expect(page.locator("#uploaded")).to_have_text("notes.pdf 3000000")
        page.locator("#chat input").fill("What holds a thread?")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#messages li")).to_have_text(["welcome", "What holds a thread?"])


def test_the_token_of_lamb_names_the_user_in_heddle(front: Studio) -> None:
    with front.screen() as screen:
        log_in(screen.page, front.url)
        me = screen.page.evaluate(
            """async () => {
                const authorization = "Bearer " + localStorage.getItem("userToken");
                return (await fetch("/v1/me", { headers: { authorization } })).json();
            }"""
        )
        assert (me["email"], me["organization"], me["role"]) == (ANN, "uni", "creator")


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_a_user_of_lamb_signs_in_to_the_studio(front: Studio, theme: str, width: int) -> None:
    with front.screen(theme=theme, width=width) as screen:
        page = screen.page
        screen.open("assistants")
        expect(page.get_by_text("LAMB")).to_be_visible()
        screen.check(expected=("401",))
        screen.picture(f"sign-in-of-lamb-{theme}-{width}")
        page.get_by_label("E-mail address").fill(ANN)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Assistants")
        screen.check(expected=("401",))
