"""Publishing, sharing and handing over assistants, and calling them from programs."""

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import httpx
import pytest
from heddle_gateway.auth.authenticator import DEVELOPMENT_KEY
from playwright.sync_api import Page, expect
from studio.harness import VIEWS, Studio
from studio.test_shell import PASSWORD

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
MODEL = {"connector": "bypass", "model": "simple-bypass"}
ANN, BEN = "ann@uni.example", "ben@uni.example"
NEVER = "nobody@uni.example"


@pytest.fixture(scope="module")
def people(locked: Studio) -> Studio:
    """Two users with passwords, in one organisation."""
    locked.heddle("organizations", "set", "weavers", "--name", "Weavers")
    for email in (ANN, BEN):
        organization = ("--organization", "weavers")
        locked.heddle("users", "set", email, *organization, "--role", "creator")
        locked.heddle("users", "set-password", email, *organization, text=PASSWORD)
    return locked


@contextmanager
def client_of(studio: Studio, email: str) -> Iterator[httpx.Client]:
    """Return a client with a session of a user."""
    headers = {"origin": studio.url}
    with httpx.Client(base_url=studio.url, headers=headers, trust_env=False) as client:
        signed_in = client.post("/login", json={"email": email, "password": PASSWORD})
        signed_in.raise_for_status()
        client.headers["x-csrf-token"] = signed_in.json()["csrf_token"]
        yield client


@pytest.fixture(scope="module")
def ann(people: Studio) -> Iterator[httpx.Client]:
    with client_of(people, ANN) as client:
        yield client


@pytest.fixture(scope="module")
def ben(people: Studio) -> Iterator[httpx.Client]:
    with client_of(people, BEN) as client:
        yield client


def new_assistant(client: httpx.Client, name: str, **members: object) -> str:
    response = client.post("/assistants", json={"name": name, "model": MODEL, **members})
    response.raise_for_status()
    return str(response.json()["id"])


def sign_in_here(page: Page, email: str = ANN) -> None:
    """Sign in on the way to a screen, and wait for the screen."""
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Share")


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_an_assistant_is_published_and_shared_with_the_keyboard(
    people: Studio, ann: httpx.Client, ben: httpx.Client, theme: str, width: int
) -> None:
    name = f"shared_{theme}_{width}"
    identifier = new_assistant(ann, name)
    assert ben.get(f"/assistants/{identifier}").status_code == httpx.codes.NOT_FOUND
    with people.screen(theme=theme, width=width) as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/sharing")
        sign_in_here(page)
        page.get_by_label("E-mail address").fill(BEN)
        page.keyboard.press("Enter")
        page.get_by_label("E-mail address").fill(NEVER)
        page.get_by_role("button", name="Add").press("Enter")
        page.get_by_label(f"What {BEN} may do").select_option("edit")
        page.reload()
        expect(page.get_by_label(f"What {BEN} may do")).to_have_value("edit")
        page.get_by_role("button", name="Save").press("Enter")
        row = page.get_by_role("listitem").filter(has_text=NEVER)
        expect(row).to_contain_text("no user of the organisation yet")
        screen.check(expected=("401",))
        screen.picture(f"sharing-{theme}-{width}")
        page.get_by_label("Published").check()
        page.get_by_role("button", name="Save").press("Enter")
        expect(page.get_by_role("button", name="Save")).to_be_disabled()
        expect(page.get_by_text("Not saved yet")).to_have_count(0)
    sharing = ben.get(f"/assistants/{identifier}/sharing").json()
    assert sharing["visibility"] == "organization"
    assert (sharing["users_who_may_edit"], sharing["users_who_may_use"]) == ([BEN], [NEVER])


def test_an_editor_sees_the_sharing_and_cannot_change_it(people: Studio, ann: httpx.Client) -> None:
    identifier = new_assistant(ann, "looked_at")
    share(ann, identifier, users_who_may_edit=[BEN])
    with people.screen() as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/sharing")
        sign_in_here(page, BEN)
        expect(page.get_by_text("Only the owner and administrators change this.")).to_be_visible()
        expect(page.get_by_label("Published")).to_be_disabled()
        for name in ("Save", "Add", "Hand over"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        screen.check(expected=("401",))


def share(client: httpx.Client, identifier: str, **members: object) -> None:
    body = {"visibility": "private", **members}
    client.put(f"/assistants/{identifier}/sharing", json=body).raise_for_status()


def test_two_users_who_share_at_once_see_each_other_s_choice(
    people: Studio, ann: httpx.Client
) -> None:
    identifier = new_assistant(ann, "shared_twice")
    with people.screen() as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/sharing")
        sign_in_here(page)
        prompt = {"name": "shared_twice", "model": MODEL, "system_prompt": "another"}
        ann.put(f"/assistants/{identifier}", json=prompt).raise_for_status()
        page.get_by_label("Published").check()
        page.get_by_role("button", name="Save").click()
        # A change of the prompt is none of the sharing.
        expect(page.get_by_text("Saved: shared_twice").first).to_be_visible()
        share(ann, identifier, users_who_may_use=[BEN])
        page.get_by_label("E-mail address").fill(NEVER)
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Save").click()
        both = page.get_by_role("region", name=re.compile("Another user changed the sharing"))
        expect(both.get_by_text(f"{BEN}: use it")).to_be_visible()
        expect(both.get_by_text(f"{NEVER}: use it")).to_be_visible()
        screen.check(expected=("401", "409"))
        both.get_by_role("button", name="Save mine").click()
        expect(both).to_have_count(0)
        page.keyboard.press("F8")
        page.keyboard.press("Enter")
        expect(page.get_by_label(f"What {BEN} may do")).to_be_visible()
    assert ann.get(f"/assistants/{identifier}/sharing").json()["users_who_may_use"] == [BEN]


def test_an_assistant_is_handed_over(people: Studio, ann: httpx.Client, ben: httpx.Client) -> None:
    store = ann.post("/v1/vector_stores", json={"name": "Private looms"}).json()["id"]
    tool = {"type": "simple_rag", "config": {"collections": [store]}}
    identifier = new_assistant(ann, "given", title="Given", tools=[tool])
    with people.screen() as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/sharing")
        sign_in_here(page)
        page.get_by_role("button", name="Hand over").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("E-mail address of the new owner").fill(NEVER)
        dialog.get_by_role("button", name="Hand over").click()
        expect(dialog.get_by_role("alert")).to_be_visible()
        dialog.get_by_label("E-mail address of the new owner").fill(BEN)
        dialog.get_by_role("button", name="Hand over").click()
        expect(page.get_by_text(f"Given belongs to {BEN} now.")).to_be_visible()
        screen.check(expected=("400", "401"))
    assert ben.get(f"/assistants/{identifier}").json()["owner"] == BEN


def test_the_line_for_a_shell_calls_the_assistant(development: Studio) -> None:
    identifier = new_assistant(development.client, "called", prompt_template="Woven: {user_input}")
    with development.screen(language="ca") as screen:
        page = screen.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        screen.open(f"assistants/{identifier}/sharing")
        page.locator("summary").click()
        page.get_by_role("button", name="Copia").last.click()
        expect(page.get_by_role("button", name="Copiat")).to_be_visible()
        line = page.evaluate("navigator.clipboard.readText()")
        models = development.client.get("/v1/models/called").json()
        assert models["id"] in line
    ran = subprocess.run(  # noqa: S603 - the line that users copy
        ["/bin/sh", "-c", line],
        capture_output=True,
        check=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HEDDLE_API_KEY": DEVELOPMENT_KEY, "no_proxy": "*"},
    )
    assert "Què pots fer?" in ran.stdout


def test_the_list_shows_what_is_shared_and_what_answered_in_seven_days(
    people: Studio, ann: httpx.Client, ben: httpx.Client
) -> None:
    shared = new_assistant(ben, "lent")
    share(ben, shared, users_who_may_use=[ANN])
    answering, _ = new_assistant(ann, "answering"), new_assistant(ann, "silent")
    question = {"role": "user", "content": "Which thread?"}
    body = {"model": answering, "messages": [question]}
    ann.post("/v1/chat/completions", json=body).raise_for_status()
    wait_for_usage(ann, answering)
    with people.screen() as screen:
        page = screen.page
        screen.open("assistants")
        page.get_by_label("E-mail address").fill(ANN)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
        year = str(datetime.now(UTC).year)
        page.get_by_label("Show").select_option(label="Mine")
        cells = page.get_by_role("row").filter(has_text="answering").get_by_role("cell")
        expect(cells.nth(3)).to_contain_text(year)
        silent = page.get_by_role("row").filter(has_text="silent").get_by_role("cell")
        expect(silent.nth(3)).to_contain_text("none")
        screen.check(expected=("401",))
        page.get_by_label("Show").select_option(label="Shared with me")
        expect(page.get_by_role("link", name="lent")).to_be_visible()
        expect(page.get_by_role("row").filter(has_text="silent")).to_have_count(0)
        expect(page.get_by_role("columnheader", name="Cost in 7 days")).to_have_count(0)
        screen.check(expected=("401",))


def wait_for_usage(client: httpx.Client, identifier: str) -> None:
    """Wait until an answer is counted, which takes about a second."""
    end = time.monotonic() + 20
    while not client.get("/usage", params={"assistant": identifier}).json()["sums"]:
        assert time.monotonic() < end, "the answer is not counted"
        time.sleep(0.1)
