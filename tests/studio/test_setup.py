"""The first visit: the operator's account, a model, a document."""

from collections.abc import Iterator

import pytest
from heddle_runtime.identity.setup_link import setup_secret
from playwright.sync_api import Browser, expect
from pydantic import SecretStr
from studio.harness import KEY, LANGUAGES, SECRET, VIEWS, Screen, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
LINK = f"setup#{setup_secret(SecretStr(SECRET))}"
EMAIL = "first@uni.example"
PASSWORD = "weaving-at-night-7"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle without an account."""
    folder = tmp_path_factory.mktemp("setup")
    with running(folder, browser, HEDDLE_GATEWAY_API_KEY=KEY) as studio:
        yield studio


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_first_screen_is_accessible(studio: Studio, theme: str, width: int) -> None:
    with studio.screen(theme=theme, width=width) as screen:
        screen.open(LINK)
        expect(screen.page.get_by_label("Password")).to_be_visible()
        screen.check()
        screen.picture(f"setup-{theme}-{width}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_screen_fits_in_each_language(studio: Studio, language: str) -> None:
    with studio.screen(language=language, width=390) as screen:
        screen.open(LINK)
        expect(screen.page.locator("input[type=password]")).to_be_visible()
        screen.check()
        screen.picture(f"setup-{language}-390")


def test_the_operator_is_led_from_the_link_to_a_document(studio: Studio) -> None:
    with studio.screen() as screen:
        page = screen.page
        screen.open("")
        expect(page.get_by_text("Open the link that Heddle printed")).to_be_visible()
        screen.check(expected=("401",))
        screen.open("setup")
        expect(page.get_by_text("Open the link that Heddle printed")).to_be_visible()
        screen.open(LINK)
        page.get_by_label("E-mail address").fill(EMAIL)
        page.get_by_label("Password").fill("short")
        page.get_by_role("button", name="Create the account").click()
        expect(page.get_by_text("The password needs at least 12 characters.")).to_be_visible()
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Create the account").click()
        expect(page.get_by_role("heading", name="Connect a model", level=1)).to_be_visible()
        expect(page.get_by_text(EMAIL)).to_be_visible()
        screen.check(expected=("400", "401"))
        screen.picture("setup-model")
        page.get_by_role("link", name="Next: choose a document").click()
        expect(
            page.get_by_role("heading", name="Answer questions about your document", level=1)
        ).to_be_visible()
        screen.check(expected=("400", "401"))
        page.get_by_role("link", name="Skip", exact=True).click()
        _sees_the_default_organisation(screen)
    with studio.screen() as other:
        other.open(LINK)
        expect(other.page.get_by_text("has an account already")).to_be_visible()


def _sees_the_default_organisation(screen: Screen) -> None:
    screen.open("organizations")
    row = screen.page.get_by_role("row").filter(has_text="default")
    expect(row.first).to_be_visible()
    screen.open("organizations/default")
    expect(screen.page.get_by_label("Name", exact=True)).to_have_value("default")


def test_development_mode_needs_no_account(development: Studio) -> None:
    with development.screen() as screen:
        screen.open("setup")
        expect(screen.page.get_by_text("no account is needed")).to_be_visible()
        screen.check()
        screen.page.get_by_role("link", name="Continue").click()
        expect(screen.page.get_by_role("heading", name="Connect a model", level=1)).to_be_visible()
