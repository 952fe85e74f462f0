"""Flow 5: an operator makes an organisation, a user and a key, and the user works with them."""

import pytest
from playwright.sync_api import Page, expect
from studio.harness import KEY, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
BYPASS = {"connector": "bypass", "model": "simple-bypass"}


def test_an_operator_makes_an_organisation_a_user_and_a_key_and_the_user_sees_only_its_own(
    locked: Studio,
) -> None:
    with locked.screen(key=KEY) as screen:
        page = screen.page
        _make_college(page, screen.open)
        password = _add_user(page)
        secret = _make_key(page, screen.open)
        screen.check(expected=("400", "409"))
    headers = {"authorization": f"Bearer {secret}"}
    me = locked.client.get("/v1/me", headers=headers).json()
    assert (me["email"], me["organization"]) == ("eve@college.example", "college")
    quota = {"quota": {"enabled": True, "cost_limit_usd": 0}}
    body = {"name": "looms", "model": BYPASS, "extra": quota, "published": True}
    locked.client.post("/assistants", json=body, headers=headers).raise_for_status()
    other = {"name": "secret", "model": BYPASS}
    locked.client.post("/assistants", json=other).raise_for_status()
    with locked.screen() as screen:
        _use_up_and_go_on(screen.page, password, locked)
        screen.open("keys")
        expect(screen.page.get_by_role("rowheader").get_by_text("Script of Eve")).to_be_visible()
        screen.check(expected=("401", "429"))


def _make_college(page: Page, open_screen: object) -> None:
    assert callable(open_screen)
    open_screen("organizations")
    page.get_by_role("button", name="New organisation").first.click()
    page.get_by_role("textbox", name="Short name").fill("The College")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("textbox", name="Short name")).to_have_attribute("aria-invalid", "true")
    page.get_by_role("textbox", name="Short name").fill("college")
    page.get_by_label("Name (optional)").fill("The College")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("link", name="college is created.").click()
    expect(page.get_by_role("heading", name="No users yet")).to_be_visible()


def _add_user(page: Page) -> str:
    """Add a user with a generated password, and return it."""
    page.get_by_role("button", name="Add a user").first.click()
    page.get_by_label("E-mail address").fill("eve@college.example")
    page.get_by_role("dialog").get_by_label("Role").select_option(label="Creator")
    page.get_by_role("button", name="Add", exact=True).click()
    row = page.get_by_role("row").filter(has_text="eve@college.example")
    row.get_by_role("button").click()
    page.get_by_role("menuitem", name="Set a password").click()
    page.get_by_role("button", name="Set it").click()
    expect(page.get_by_text("This is the only time")).to_be_visible()
    password = page.get_by_role("dialog").get_by_label("Password").input_value()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_text(password)).to_have_count(0)
    return password


def _make_key(page: Page, open_screen: object) -> str:
    """Make a key of the user, and return it."""
    assert callable(open_screen)
    open_screen("keys")
    page.get_by_role("button", name="New key").first.click()
    page.get_by_role("textbox", name="Purpose").fill("Script of Eve")
    page.get_by_label("Acts as").select_option(label="A user")
    page.get_by_label("Organisation", exact=True).select_option(label="The College")
    page.get_by_label("E-mail address of the user").fill("eve@college.example")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("it reads and changes what this user may")
    dialog.get_by_role("button", name="Make the key").click()
    secret = dialog.get_by_label("API key").input_value()
    assert secret.startswith("hk_")
    dialog.get_by_role("button", name="Done").click()
    expect(page.get_by_role("rowheader").get_by_text("Script of Eve")).to_be_visible()
    assert secret not in page.content()
    return secret


def _use_up_and_go_on(page: Page, password: str, studio: Studio) -> None:
    """Sign in as the user, whose assistant has no budget left, and use the studio."""
    page.goto(f"{studio.url}/studio/")
    page.get_by_label("E-mail address").fill("eve@college.example")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    links = page.get_by_role("navigation", name="Screens")
    expect(links.get_by_role("link", name="API keys")).to_be_visible()
    for hidden in ("Organisations", "Audit log", "Health"):
        expect(links.get_by_role("link", name=hidden)).to_have_count(0)
    refused = page.evaluate(
        """async () => {
            const me = await (await fetch("/v1/me")).json();
            const headers = {"content-type": "application/json", "x-csrf-token": me.csrf_token};
            const {assistants} = await (await fetch("/assistants?selection=own")).json();
            const messages = [{role: "user", content: "What is a heddle?"}];
            const body = JSON.stringify({model: `lamb_assistant.${assistants[0].id}`, messages});
            return (await fetch("/v1/chat/completions", {method: "POST", headers, body})).status;
        }"""
    )
    assert refused == 429
    links.get_by_role("link", name="Assistants").click()
    expect(page.get_by_role("row").filter(has_text="looms")).to_be_visible()
    expect(page.get_by_text("secret")).to_have_count(0)
    links.get_by_role("link", name="Usage").click()
    expect(page.get_by_role("heading", name="Usage")).to_be_visible()
