"""The frame of the studio, signing in, and the budget of the first screen."""

import gzip
import json
import re

import pytest
from heddle_gateway.studio_pages import FOLDER
from playwright.sync_api import Locator, Page, Route, expect
from studio.harness import KEY, LANGUAGES, PHONE, ROOT, VIEWS, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
MAX_FIRST_SCREEN_BYTES = 80_000
SCREENS = ("", "assistants", "health", "nowhere")


@pytest.mark.parametrize("path", SCREENS)
def test_every_screen_is_accessible_and_fits(development: Studio, path: str) -> None:
    with development.screen() as screen:
        screen.open(path)
        screen.check_in_views(f"{path or 'home'}-{{view}}")


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_screen_to_sign_in_is_accessible_and_fits(
    locked: Studio, theme: str, width: int
) -> None:
    with locked.screen(theme=theme, width=width) as screen:
        screen.open("assistants")
        expect(screen.page).to_have_url(re.compile("/sign-in"))
        screen.check(expected=("401",))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_browser_s_language_is_spoken(development: Studio, language: str) -> None:
    texts = json.loads((ROOT / f"studio/src/lib/i18n/shell/{language}.json").read_text())
    with development.screen(language=language) as screen:
        screen.open("assistants")
        expect(screen.page.get_by_role("heading", level=1)).to_have_text(texts["assistants.title"])
        assert screen.page.evaluate("document.documentElement.lang") == language
        assert screen.violations() == []


def test_language_theme_and_density_are_chosen_and_stay(development: Studio) -> None:
    with development.screen() as screen:
        page = screen.page
        screen.open()
        page.get_by_role("button", name="Language and display").click()
        page.get_by_label("Colours").select_option("dark")
        page.get_by_label("Density").select_option("compact")
        page.get_by_label("Language", exact=True).select_option("eu")
        expect(page.get_by_role("heading", name="Hizkuntza eta itxura")).to_be_visible()
        assert screen.violations() == []
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text("Hasiera")
        root = "getComputedStyle(document.documentElement)"
        assert page.evaluate(f"{root}.colorScheme") == "dark"
        assert page.evaluate(f"{root}.fontSize") == "15px"


def test_without_motion_a_change_of_style_shows_at_once(development: Studio) -> None:
    with development.screen() as screen:
        screen.open()
        shown = screen.page.evaluate("""() => {
            const { style } = document.body;
            const opacity = () => getComputedStyle(document.body).opacity;
            style.opacity = 0.5;
            const first = opacity();
            style.opacity = 1;
            return [first, opacity()];
        }""")
        assert shown == ["0.5", "1"]


def test_an_operator_signs_in_with_a_key_and_out_again(locked: Studio) -> None:
    with locked.screen() as screen:
        page = screen.page
        screen.open("health")
        use_key(page, "lamb_wrong_key_0123456789")
        expect(page.get_by_role("alert")).to_contain_text("The API key is not valid.")
        page.get_by_label("API key", exact=True).fill(KEY)
        page.get_by_role("button", name="Use the key").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Health")
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text("Health")
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
        expect(page).to_have_url(re.compile("/sign-in"))
        assert page.evaluate("sessionStorage.length") == 0


PASSWORD = "a shuttle carries the weft"


@pytest.fixture(scope="module")
def people(locked: Studio) -> Studio:
    """A user with a password."""
    locked.heddle("organizations", "set", "weavers", "--name", "Weavers")
    user = ("users", "set", "ann@uni.example", "--organization", "weavers", "--role", "creator")
    locked.heddle(*user)
    password = ("users", "set-password", "ann@uni.example", "--organization", "weavers")
    locked.heddle(*password, text=PASSWORD)
    return locked


def use_key(place: Page | Locator, key: str = KEY) -> None:
    if not place.get_by_label("API key", exact=True).is_visible():
        place.get_by_text("Sign in with an API key").click()
    place.get_by_label("API key", exact=True).fill(key)
    place.get_by_role("button", name="Use the key").click()


def sign_in(page: Page, password: str = PASSWORD) -> None:
    page.get_by_label("E-mail address").fill("ann@uni.example")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_a_user_signs_in_with_a_password_and_sees_only_what_is_allowed(people: Studio) -> None:
    with people.screen() as screen:
        page = screen.page
        screen.open("assistants")
        sign_in(page, "another password 123")
        expect(page.get_by_role("alert")).to_contain_text("Request req_")
        expect(page.get_by_label("E-mail address")).to_have_value("ann@uni.example")
        sign_in(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("Assistants")
        expect(page.get_by_role("link", name="Health")).to_have_count(0)
        screen.check(expected=("401",))
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
        expect(page).to_have_url(re.compile("/sign-in"))
        page.goto(f"{people.url}/studio/assistants")
        expect(page).to_have_url(re.compile("/sign-in"))


def test_a_session_that_ended_elsewhere_loses_nothing_that_was_typed(people: Studio) -> None:
    with people.screen() as screen:
        page = screen.page
        screen.open("assistants?new")
        sign_in(page)
        page.get_by_label("Title", exact=True).fill("kept_tutor")
        page.context.clear_cookies()
        page.get_by_role("button", name="Create").click()
        lost = page.get_by_role("dialog", name="Your session has ended")
        expect(lost).to_be_visible()
        assert screen.violations() == []
        sign_in(page)
        expect(lost).to_be_hidden()
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("kept_tutor")


def test_a_stranger_s_address_is_not_opened_after_signing_in(locked: Studio) -> None:
    with locked.screen() as screen:
        screen.open("sign-in?next=https://evil.example/studio/")
        use_key(screen.page)
        expect(screen.page.get_by_role("heading", level=1)).to_have_text("Home")
        assert screen.page.url.startswith(locked.url)


def test_an_ended_session_loses_nothing_that_was_typed(locked: Studio) -> None:
    with locked.screen() as screen:
        page = screen.page
        screen.open("assistants")
        use_key(page)
        page.get_by_role("button", name="New assistant").first.click()
        page.get_by_label("Title", exact=True).fill("A tutor of weaving")
        page.route("**/assistants", lambda route: route.continue_(headers=_without_key(route)))
        page.get_by_role("button", name="Create").click()
        lost = page.get_by_role("dialog", name="Your session has ended")
        expect(lost).to_be_visible()
        assert screen.violations() == []
        page.unroute("**/assistants")
        use_key(lost)
        expect(lost).to_be_hidden()
        expect(page.get_by_label("Title", exact=True)).to_have_value("A tutor of weaving")
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("A tutor of weaving")


def test_a_missing_connection_is_reported_and_loses_nothing(development: Studio) -> None:
    with development.screen() as screen:
        page = screen.page
        screen.open("assistants?new")
        page.get_by_label("Title", exact=True).fill("offline")
        page.context.set_offline(True)
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached")
        expect(page.get_by_label("Title", exact=True)).to_have_value("offline")
        page.context.set_offline(False)
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("offline")


def test_what_was_typed_outlives_a_reload(development: Studio) -> None:
    with development.screen() as screen:
        screen.open("assistants?new")
        screen.page.get_by_label("Title", exact=True).fill("unsaved")
        screen.page.reload()
        expect(screen.page.get_by_label("Title", exact=True)).to_have_value("unsaved")


def test_the_keyboard_alone_reaches_everything(development: Studio) -> None:
    with development.screen() as screen:
        page = screen.page
        screen.open()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("main")).to_be_focused()
        page.get_by_role("link", name="Assistants", exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Assistants")
        page.get_by_role("button", name="New assistant").first.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        expect(page.get_by_role("button", name="New assistant").first).to_be_focused()


def test_the_menu_of_a_phone_opens_and_closes(development: Studio) -> None:
    with development.screen(width=PHONE) as screen:
        screen.open()
        link = screen.page.get_by_role("link", name="Health")
        expect(link).to_be_hidden()
        screen.page.get_by_role("button", name="Menu").click()
        assert screen.violations() == []
        link.click()
        expect(screen.page.get_by_role("heading", level=1)).to_have_text("Health")
        expect(link).to_be_hidden()


def test_the_first_screen_is_small(development: Studio) -> None:
    with development.screen() as screen:
        loaded: set[str] = set()
        screen.page.on("requestfinished", lambda request: loaded.add(request.url))
        screen.open()
        files = [FOLDER / url.partition("/studio/")[2] for url in loaded if "/_app/" in url]
        sizes = {file.name: len(gzip.compress(file.read_bytes(), 9)) for file in files}
    assert files
    assert sum(sizes.values()) <= MAX_FIRST_SCREEN_BYTES, sizes


def _without_key(route: Route) -> dict[str, str]:
    headers = route.request.headers
    return {name: value for name, value in headers.items() if name != "authorization"}
