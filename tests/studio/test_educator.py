"""What an educator does first, and the mistakes that educators make."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FilePayload, Locator, expect
from studio.editing import new_assistant
from studio.filling import filled, wait
from studio.harness import KEY, LANGUAGES, Screen, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
EMAIL, PASSWORD = "marta@uni.example", "dune-and-salt-marsh-26"
NEW_PASSWORD = "lagoon-and-sandbank-27"
OLD_PRICE, NEW_PRICE = b"A hand lens costs 12 euro.", b"A hand lens costs 14 euro."


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle in which an educator has an account."""
    folder = tmp_path_factory.mktemp("educator")
    with running(folder, browser, HEDDLE_GATEWAY_API_KEY=KEY) as it:
        it.client.put("/organizations/uni", json={"name": "University"}).raise_for_status()
        user = f"/organizations/uni/users/{EMAIL}"
        it.client.put(user, json={"role": "creator"}).raise_for_status()
        body = {"password": PASSWORD}
        it.client.post(f"{user}/password", json=body).raise_for_status()
        yield it


def sign_in(screen: Screen, password: str) -> None:
    screen.open("sign-in")
    screen.page.get_by_label("E-mail address").fill(EMAIL)
    screen.page.get_by_label("Password").fill(password)
    screen.page.get_by_role("button", name="Sign in", exact=True).click()


def test_the_password_of_the_invitation_is_changed(studio: Studio) -> None:
    with studio.screen() as screen:
        page = screen.page
        sign_in(screen, PASSWORD)
        page.get_by_role("button", name="Change password").click()
        dialog = page.get_by_role("dialog")
        change(dialog, "not-the-password", NEW_PASSWORD)
        expect(dialog).to_contain_text("is not correct")
        change(dialog, PASSWORD, "short")
        expect(dialog).to_contain_text("must have at least 12 characters")
        screen.check(expected=("400", "401"))
        change(dialog, PASSWORD, NEW_PASSWORD)
        expect(dialog).to_contain_text("Your password is changed.")
        dialog.get_by_role("button", name="Close").last.click()
        # The session goes on, with a token that changes are accepted with.
        page.get_by_role("link", name="Groups", exact=True).click()
        page.get_by_role("button", name="New group").first.click()
        page.get_by_role("dialog").get_by_label("Title").fill("Ecology")
        page.get_by_role("button", name="Create the group").click()
        expect(page.get_by_role("heading", name="Ecology", level=1)).to_be_visible()
    with studio.screen() as screen:
        sign_in(screen, PASSWORD)
        expect(screen.page.get_by_role("alert")).to_be_visible()
        sign_in(screen, NEW_PASSWORD)
        expect(screen.page.get_by_role("heading", name="Home", level=1)).to_be_visible()


def change(dialog: Locator, current: str, password: str) -> None:
    dialog.get_by_label("Present password").fill(current)
    dialog.get_by_label("New password").fill(password)
    dialog.get_by_role("button", name="Change password").click()


def test_a_newer_file_of_the_same_name_replaces_the_older_one(development: Studio) -> None:
    collection, _ = filled(development, "Prices", {"prices.txt": OLD_PRICE})
    with development.screen() as screen:
        page = screen.page
        screen.open(f"knowledge/{collection}")
        chooser = page.get_by_label("Choose files", exact=True).last
        newer = FilePayload(name="prices.txt", mimeType="text/plain", buffer=NEW_PRICE)
        empty = FilePayload(name="empty.pdf", mimeType="application/pdf", buffer=b"")
        chooser.set_input_files([newer, empty])
        expect(page.get_by_text("The file is empty: it has 0 bytes.")).to_be_visible()
        expect(page.get_by_text("already had another file prices.txt")).to_be_visible()
        wait(development, collection)
        screen.check()
        page.get_by_role("button", name="Remove the older one").click()
        expect(page.get_by_text("already had another file")).to_have_count(0)
        expect(page.locator("main tbody tr")).to_have_count(1)
    assert texts(development, collection) == [NEW_PRICE.decode()]


def texts(studio: Studio, collection: str) -> list[str]:
    """Return the passages of the only file of a collection."""
    path = f"/v1/vector_stores/{collection}/files"
    (file,) = studio.client.get(path).json()["data"]
    passages = studio.client.get(f"{path}/{file['id']}/passages").json()["data"]
    return [each["text"] for each in passages]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_document_that_cannot_be_read_is_named_in_the_editor(
    development: Studio, language: str
) -> None:
    name = f"pictures_{language}"
    collection, _ = filled(development, name, {"sand.heic": b"\0\1 no text"})
    search = {"type": "simple_rag", "config": {"collections": [collection]}}
    identifier = new_assistant(development, name, tools=[search])
    with development.screen(language=language, level="simple") as screen:
        screen.open(f"assistants/{identifier}")
        screen.page.locator(f"main a[href$='knowledge/{collection}']").first.click()
        state = screen.page.locator("main tbody tr").first
        expect(state).to_contain_text("sand.heic")
        # A sentence that is not translated is marked as English.
        expect(state.locator("[lang=en]")).to_have_count(0)
        expect(state).to_contain_text("image/heic")
        screen.check()


def test_who_deletes_a_collection_is_told_which_assistants_use_it(development: Studio) -> None:
    collection, _ = filled(development, "Dunes", {"dune.txt": b"A dune is a hill of sand."})
    search = {"type": "simple_rag", "config": {"collections": [collection]}}
    new_assistant(development, "dunes", title="Ask about dunes", tools=[search])
    with development.screen() as screen:
        screen.open(f"knowledge/{collection}")
        screen.page.get_by_role("button", name="Delete", exact=True).click()
        dialog = screen.page.get_by_role("dialog")
        expect(dialog).to_contain_text("It is used by: Ask about dunes.")
        screen.check()
