"""Saving in the editor: conflicts of two editors, failures, and leaving. Nothing typed is lost."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from studio.editing import (
    change,
    new_assistant,
    open_editor,
    save,
    save_button,
    stored,
    template,
)
from studio.harness import KEY, VIEWS, Studio, running

SLOT = "Place in the prompt (optional)"
pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
SLOW = 20_000
"""Milliseconds, for what waits for another request first."""
TOO_MANY = 429
TITLE = "Title (optional)"
DESCRIPTION = "Description (optional)"


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle that accepts few requests of each key."""
    settings = {"HEDDLE_GATEWAY_API_KEY": KEY, "HEDDLE_GATEWAY_KEY_REQUESTS_PER_MINUTE": "40"}
    with running(tmp_path_factory.mktemp("limited"), browser, **settings) as studio:
        yield studio


@pytest.fixture(scope="module")
def filed(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle with an assistant of a file."""
    folder = tmp_path_factory.mktemp("filed")
    assistants = folder / "assistants"
    assistants.mkdir()
    text = """id: guide
name: guide
model: {connector: bypass, model: simple-bypass}
system_prompt: Be brief.
prompt_template: "{user_input} {word_count}"
tools: [{type: word_count}]
"""
    (assistants / "guide.yaml").write_text(text)
    with running(folder, browser, HEDDLE_ASSISTANTS_DIR=str(assistants)) as studio:
        yield studio


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_two_edits_of_one_assistant_are_merged_by_field(
    development: Studio, theme: str, width: int
) -> None:
    name = f"merged_{theme}_{width}"
    identifier = new_assistant(development, name, title="Before", tools=[{"type": "word_count"}])
    with development.screen(theme=theme, width=width) as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label(TITLE).fill("Mine")
        template(page).fill("{user_input} mine")
        change(development, identifier, title="Theirs", description="Theirs", verbose=True)
        save_button(page).click()
        dialog = page.get_by_role("dialog", name="Two versions of this assistant")
        expect(dialog).to_contain_text("You both changed 1 field.")
        title = dialog.get_by_role("group", name=re.compile("^Title"))
        expect(title.get_by_label("Mine")).to_be_checked()
        screen.check(expected=("409",))
        screen.picture(f"editor-conflict-{theme}-{width}")
        title.get_by_label("You (in another window)").check()
        dialog.get_by_role("button", name="Save this").click()
        expect(page.get_by_text("Everything is saved")).to_be_visible()
        after = stored(development, identifier)
        assert (after["title"], after["description"]) == ("Theirs", "Theirs")
        assert (after["prompt_template"], after["verbose"]) == ("{user_input} mine", True)
        expect(page.get_by_label(TITLE)).to_have_value("Theirs")


def test_one_side_of_a_conflict_is_chosen_as_a_whole(development: Studio) -> None:
    identifier = new_assistant(development, "sides", title="Before")
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        for keep, expected in (("Keep all of mine", "Mine"), ("Take all of theirs", "Theirs")):
            page.get_by_label(TITLE).fill("Mine")
            page.get_by_label(DESCRIPTION).fill(f"Mine, too: {expected}")
            change(development, identifier, title="Theirs")
            save_button(page).click()
            dialog = page.get_by_role("dialog", name="Two versions of this assistant")
            dialog.get_by_role("button", name=keep).click()
            dialog.get_by_role("button", name="Continue with this").click()
            expect(dialog).to_be_hidden()
            expect(page.get_by_label(TITLE)).to_have_value(expected)
            if expected == "Mine":
                save(page)
                assert stored(development, identifier)["title"] == "Mine"


def test_a_decision_can_wait_and_nothing_that_was_typed_is_lost(development: Studio) -> None:
    identifier = new_assistant(development, "later", title="Before")
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label(TITLE).fill("Mine")
        change(development, identifier, title="Theirs")
        save_button(page).click()
        page.get_by_role("button", name="Decide later").click()
        expect(page.get_by_label(TITLE)).to_have_value("Mine")
        page.reload()
        expect(page.get_by_label(TITLE)).to_have_value("Mine")
        expect(page.get_by_text("Changed: Title")).to_be_visible()
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("button", name="Save this").click()
        expect(page.get_by_text("Everything is saved")).to_be_visible()
    assert stored(development, identifier)["title"] == "Mine"


def test_the_change_of_another_editor_is_shown_without_a_reload(development: Studio) -> None:
    identifier = new_assistant(development, "watched", description="Before")
    with development.screen() as first, development.screen() as second:
        open_editor(first, identifier)
        open_editor(second, identifier)
        first.page.get_by_label(DESCRIPTION).fill("After")
        save(first.page)
        notice = second.page.get_by_text("changed this assistant")
        expect(notice).to_be_visible(timeout=SLOW)
        expect(second.page.get_by_text("Changed: Description")).to_be_visible()
        second.check()
        second.page.get_by_role("button", name="Show the new version").click()
        expect(second.page.get_by_label(DESCRIPTION)).to_have_value("After")
        expect(notice).to_have_count(0)
        expect(first.page.get_by_text("changed this assistant")).to_have_count(0)


def test_a_publication_by_somebody_else_is_no_conflict(development: Studio) -> None:
    identifier = new_assistant(development, "published_meanwhile")
    with development.screen() as screen:
        open_editor(screen, identifier)
        screen.page.get_by_label(TITLE).fill("Mine")
        path = f"/assistants/{identifier}/publish"
        development.client.put(path, json={"published": True}).raise_for_status()
        save(screen.page)
        expect(screen.page.get_by_role("dialog")).to_have_count(0)
    after = stored(development, identifier)
    assert (after["title"], after["published"]) == ("Mine", True)


def test_a_save_is_undone(development: Studio) -> None:
    identifier = new_assistant(development, "undone", title="Before")
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label(TITLE).fill("After")
        save(page)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_label(TITLE)).to_have_value("Before")
        expect(page.get_by_text("changed this assistant")).to_have_count(0)
    assert stored(development, identifier)["title"] == "Before"


def test_faults_are_beside_their_fields_and_in_a_list_in_the_order_of_the_form(
    development: Studio,
) -> None:
    identifier = new_assistant(development, "faulty", tools=[{"type": "word_count"}])
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label("Hosts of links and images").fill("http://example.org")
        page.get_by_role("button", name="Word count", expanded=False).click()
        page.get_by_label(SLOT).fill("9")
        page.get_by_label("Name", exact=True).fill("no spaces allowed")
        page.get_by_role("button", name="Word count", expanded=True).click()
        save_button(page).click()
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("The assistant is not saved: 3 faults.")
        links = alert.get_by_role("button")
        expect(links).to_have_text(
            ["Name", "Word count: Place in the prompt", "Hosts of links and images"]
        )
        expect(page.get_by_label("Name", exact=True)).to_have_attribute("aria-invalid", "true")
        links.nth(1).click()
        expect(page.get_by_label(SLOT)).to_be_focused()
        expect(page.get_by_label(SLOT)).to_have_attribute("aria-invalid", "true")
        screen.check(expected=("400",))
        page.get_by_label(SLOT).fill("nine")
        page.get_by_label("Name", exact=True).fill("faultless")
        page.get_by_label("Hosts of links and images").fill("")
        save(page)
        expect(alert).to_have_count(0)


def test_a_missing_connection_loses_nothing(development: Studio) -> None:
    identifier = new_assistant(development, "unreachable")
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label(TITLE).fill("Typed")
        page.context.set_offline(True)
        save_button(page).click()
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.get_by_label(TITLE)).to_have_value("Typed")
        page.context.set_offline(False)
        page.get_by_role("alert").get_by_role("button", name="Try again").click()
        expect(page.get_by_text("Everything is saved")).to_be_visible()
        screen.check(expected=("ERR_INTERNET_DISCONNECTED",))
    assert stored(development, identifier)["title"] == "Typed"


def _without_key(route: Route) -> dict[str, str]:
    headers = route.request.headers
    return {name: value for name, value in headers.items() if name != "authorization"}


def test_an_ended_session_loses_nothing(locked: Studio) -> None:
    identifier = new_assistant(locked, "session")
    with locked.screen(key=KEY) as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label(TITLE).fill("Typed")
        page.route("**/assistants/*", lambda route: route.continue_(headers=_without_key(route)))
        save_button(page).click()
        lost = page.get_by_role("dialog", name="Your session has ended")
        expect(lost).to_be_visible(timeout=SLOW)
        page.unroute("**/assistants/*")
        if not lost.get_by_label("API key", exact=True).is_visible():
            lost.get_by_text("Sign in with an API key").click()
        lost.get_by_label("API key", exact=True).fill(KEY)
        lost.get_by_role("button", name="Use the key").click()
        expect(lost).to_be_hidden()
        expect(page.get_by_label(TITLE)).to_have_value("Typed")
        save(page)
    assert stored(locked, identifier)["title"] == "Typed"


def test_too_many_requests_lose_nothing(limited: Studio) -> None:
    identifier = new_assistant(limited, "limited")
    with limited.screen(key=KEY) as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label(TITLE).fill("Typed")
        while limited.client.get("/connectors").status_code != TOO_MANY:
            pass
        save_button(page).click()
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("Request req_")
        expect(page.get_by_label(TITLE)).to_have_value("Typed")
        saved = page.get_by_text("Everything is saved")
        again = alert.get_by_role("button", name="Try again")
        end = time.monotonic() + SLOW / 1000
        while not saved.is_visible():  # the gateway accepts requests again after some seconds
            assert time.monotonic() < end, "the gateway accepts no request again"
            if again.is_visible():
                again.click()
            screen.settle()
        while (answer := limited.client.get(f"/assistants/{identifier}")).status_code == TOO_MANY:
            time.sleep(0.2)
    assert answer.json()["title"] == "Typed"


def test_what_is_typed_while_a_save_runs_stays(development: Studio) -> None:
    identifier = new_assistant(development, "slow")
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label(TITLE).fill("First")

        def typing(route: Route) -> None:
            if route.request.method == "PUT":
                page.get_by_label(DESCRIPTION).fill("Typed meanwhile")
            route.continue_()

        page.route(f"**/assistants/{identifier}", typing)
        save_button(page).click()
        expect(page.get_by_text("Unsaved changes")).to_be_visible()
        expect(page.get_by_label(DESCRIPTION)).to_have_value("Typed meanwhile")
        page.unroute(f"**/assistants/{identifier}")
        save(page)
    after = stored(development, identifier)
    assert (after["title"], after["description"]) == ("First", "Typed meanwhile")


def leave_by_link(page: Page) -> None:
    page.get_by_role("link", name="Assistants").click()


def test_leaving_with_unsaved_changes_warns_and_keeps_them(development: Studio) -> None:
    identifier = new_assistant(development, "left")
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label(TITLE).fill("Typed")
        leave_by_link(page)
        dialog = page.get_by_role("dialog", name="Leave with unsaved changes?")
        screen.check()
        dialog.get_by_role("button", name="Stay").click()
        expect(page.get_by_label(TITLE)).to_have_value("Typed")
        leave_by_link(page)
        dialog.get_by_role("button", name="Leave", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Assistants")
        page.get_by_role("link", name="left").click()
        expect(page.get_by_label(TITLE)).to_have_value("Typed")
        expect(page.get_by_text("your unsaved changes of an earlier visit")).to_be_visible()
        page.get_by_role("button", name="Discard changes").click()
        expect(page.get_by_label(TITLE)).to_have_value("")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_label(TITLE)).to_have_value("Typed")
        leave_by_link(page)
        dialog.get_by_role("button", name="Save and leave").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Assistants")
        screen.check()
    assert stored(development, identifier)["title"] == "Typed"


def test_closing_the_tab_with_unsaved_changes_asks(development: Studio) -> None:
    identifier = new_assistant(development, "closed")
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label(TITLE).fill("Typed")
        with page.expect_event("dialog") as dialog:
            page.close(run_before_unload=True)
        assert dialog.value.type == "beforeunload"
        dialog.value.dismiss()


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_an_assistant_of_a_file_is_shown_without_a_control_that_changes_it(
    filed: Studio, theme: str, width: int
) -> None:
    with filed.screen(theme=theme, width=width) as screen:
        page = screen.page
        screen.open("assistants/guide")
        expect(page.get_by_text("comes from a file of the operator")).to_be_visible()
        expect(page.get_by_label("System prompt")).to_have_value("Be brief.")
        expect(page.get_by_label("When it runs")).to_be_disabled()
        form = page.locator("#main fieldset", has=page.get_by_label("System prompt")).first
        controls = form.locator("input, textarea, select, button").all()
        assert len(controls) > 10
        assert not [each for each in controls if each.is_enabled()]
        expect(page.get_by_role("button", name="Save")).to_have_count(0)
        screen.check()


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_those_who_may_only_use_an_assistant_see_its_description_and_ask_it(
    locked: Studio, theme: str, width: int
) -> None:
    name = f"used_{theme}_{width}"
    template = "Asked: {user_input}"
    members = {"system_prompt": "Secret.", "prompt_template": template, "title": "Used by others"}
    identifier = new_assistant(locked, name, **members)
    path = f"/assistants/{identifier}/publish"
    locked.client.put(path, json={"published": True}).raise_for_status()
    locked.heddle("users", "set", "bob@uni.example", "--organization", "default")
    body = {"name": "Bob", "organization": "default", "user": "bob@uni.example"}
    created = locked.client.post("/keys", json=body)
    assert created.status_code == 201, created.text
    with locked.screen(key=created.json()["key"], theme=theme, width=width) as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Used by others")
        expect(page.get_by_role("textbox")).to_have_count(0)
        page.get_by_text("About this assistant").click()
        expect(page.get_by_text("You may use this assistant.")).to_be_visible()
        expect(page.get_by_text("Secret.")).to_have_count(0)
        screen.check()
        page.get_by_role("link", name="Ask it").click()
        page.get_by_label("Your question").fill("What is a shed?")
        page.get_by_role("button", name="Send").click()
        answer = page.get_by_role("article").filter(has_text="Asked: What is a shed?")
        expect(answer).to_be_visible()
        expect(page.get_by_role("button", name="How it came about")).to_have_count(0)
        page.wait_for_url(re.compile(r"/studio/chat/(?!new)"))  # the conversation is stored
        page.reload()
        expect(answer).to_be_visible()
        expect(page.get_by_role("button", name="How it came about")).to_have_count(0)
        screen.settle()
        screen.check()
