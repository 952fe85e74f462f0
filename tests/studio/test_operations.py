"""Organisations, users, keys, prices, usage and the audit log: each screen."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, expect
from studio.harness import VIEWS, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
ANN = "ann@uni.example"
SCREENS = {
    "organizations": "The University",
    "organizations/uni": "Providers of models",
    "organizations/uni/users": ANN,
    "organizations/uni/prices": "openai/gpt-x",
    "organizations/uni/mcp": "No MCP servers",
    "keys": "Nightly script",
    "usage": "Budgets",
    "audit": "organization.create",
    "health": "Services",
}
"""By path, a text that the screen shows when it is complete."""
SECONDS_OF_A_DAY = 86_400
SETTINGS = {"providers": {"openai": {"api_key": "sk-secret", "models": ["gpt-x"]}}}
BYPASS = {"connector": "bypass", "model": "simple-bypass"}


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle with an organisation, its user, keys, prices and usage."""
    folder = tmp_path_factory.mktemp("operated")
    with running(folder, browser) as studio:
        client = studio.client
        body = {"name": "The University", "settings": SETTINGS}
        insisting = {"allow_failing_providers": True}
        client.put("/organizations/uni", json=body, params=insisting).raise_for_status()
        user = {"name": "Ann", "role": "admin"}
        client.put(f"/organizations/uni/users/{ANN}", json=user).raise_for_status()
        key = {"name": "Nightly script", "organization": "uni", "user": ANN}
        client.post("/keys", json=key).raise_for_status()
        prices = {"prices": {"openai/gpt-x": {"input": 2.5, "output": 10}}}
        client.put("/organizations/uni/prices", json=prices).raise_for_status()
        _consume(studio)
        yield studio


def _consume(studio: Studio) -> None:
    """Store two days of usage of an assistant, one without a price, and most of its budget."""
    quota = {"quota": {"enabled": True, "cost_limit_usd": 5.0}}
    assistant = {"name": "looms", "model": BYPASS, "extra": quota}
    studio.client.post("/assistants", json=assistant).raise_for_status()
    day = int(time.time()) // SECONDS_OF_A_DAY
    database = next((studio.folder / ".heddle").rglob("heddle.db"))
    counts = "requests, usage_unknown, prompt_tokens, cached_tokens, completion_tokens"
    names = f"assistant_id, connector, model, {counts}, unpriced_tokens, cost_picos"
    daily = f"INSERT INTO daily_usage ({names}, day, organization_id) SELECT 1, ?, ?, 9, 1, 4000"
    daily += ", 10, 500, ?, ?, ?, organization_id FROM assistants WHERE id = 1"
    total = f"INSERT INTO usage ({names}) VALUES (1, 'openai', 'gpt-x', 9, 1, 4000, 10, 500, 0, ?)"  # noqa: S608 - names of columns
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(daily, ("openai", "gpt-x", 0, 4 * 10**12, day))
        connection.execute(daily, ("ollama", "llama", 4500, 0, day - 1))
        connection.execute(total, (4 * 10**12,))


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_screens_of_operators_are_accessible(operated: Studio, theme: str, width: int) -> None:
    with operated.screen(theme=theme, width=width) as screen:
        for path, text in SCREENS.items():
            screen.open(path)
            expect(screen.page.get_by_text(text).first).to_be_visible()
            screen.settle()
            screen.check()
            screen.picture(f"{path.replace('/', '-')}-{theme}-{width}")


def test_unknown_costs_are_named_and_never_zero(operated: Studio) -> None:
    with operated.screen() as screen:
        page = screen.page
        screen.open("usage")
        expect(page.get_by_text("4,500 tokens have no price")).to_contain_text("ollama/llama")
        row = page.get_by_role("row").filter(has_text="ollama/llama")
        expect(row).to_contain_text("No price")
        bars = page.get_by_role("img", name="Cost by day").locator("svg")
        expect(bars.first).to_be_visible()
        budget = page.get_by_role("table", name="Budgets").get_by_role("row", name="looms")
        expect(budget).to_contain_text("$1")
        budget.get_by_role("button").click()
        page.get_by_role("menuitem", name="Set the budget").click()
        page.get_by_label("US dollars").fill("a lot")
        expect(page.get_by_text("This must be a number.")).to_be_visible()
        page.get_by_label("US dollars").fill("3.5")
        screen.check()
        page.get_by_role("button", name="Save").click()
        expect(budget).to_contain_text("Used up")
        budget.get_by_role("button").click()
        page.get_by_role("menuitem", name="Count anew").click()
        page.get_by_role("dialog").get_by_role("button", name="Count anew").click()
        expect(page.get_by_text("looms is changed.")).to_be_visible()
        screen.check()


def test_settings_are_saved_and_a_secret_is_only_written(operated: Studio) -> None:
    with operated.screen() as screen:
        page = screen.page
        screen.open("organizations/uni")
        page.get_by_label("Name of the credential").fill("calendar")
        page.get_by_role("button", name="Add an MCP server").click()
        added = page.get_by_role("group", name="calendar")
        added.get_by_label("Address").fill("https://calendar.example/mcp")
        added.get_by_label("Token").fill("sk-another-secret")
        page.get_by_label("Other settings").fill("[]")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("This is not a JSON object.")).to_be_visible()
        page.get_by_label("Other settings").fill('{"assistant_defaults": {"strategy": "agent"}}')
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("The settings are saved.")).to_be_visible()
        assert "sk-another" not in page.content()
        screen.check()
    settings = operated.client.get("/organizations/uni").json()["settings"]
    assert settings["mcp_servers"] == {
        "calendar": {"url": "https://calendar.example/mcp", "token": "********"}
    }
    assert settings["providers"]["openai"] == {"api_key": "********", "models": ["gpt-x"]}
    assert settings["assistant_defaults"] == {"strategy": "agent"}
    assert "openai/gpt-x" in settings["prices"]


def test_limits_of_stored_data_are_set_and_taken_away(operated: Studio) -> None:
    with operated.screen() as screen:
        page = screen.page
        screen.open("organizations/uni")
        confirmation = page.get_by_text("The settings are saved.")
        uploads = page.get_by_label("Uploaded files that no assistant")
        uploads.fill("a month")
        page.get_by_label("Generated images").fill("90")
        page.get_by_role("button", name="Save").click()
        refusal = page.get_by_text("'uploads_days' must be a whole number from 1 to 36,500")
        expect(refusal.first).to_be_visible()
        screen.check(expected=("400",))
        uploads.fill("30")
        page.get_by_role("button", name="Save").click()
        expect(confirmation).to_be_visible()
        settings = operated.client.get("/organizations/uni").json()["settings"]
        assert settings["retention"] == {"uploads_days": 30, "images_days": 90}
        expect(uploads).to_have_value("30")
        uploads.fill("")
        expect(confirmation).to_have_count(0)
        page.get_by_label("Generated images").fill(" ")
        page.get_by_role("button", name="Save").click()
        expect(uploads).to_have_value("")
        expect(confirmation).to_be_visible()
    assert "retention" not in operated.client.get("/organizations/uni").json()["settings"]


def test_two_administrators_who_save_settings_see_each_other(operated: Studio) -> None:
    with operated.screen() as screen:
        page = screen.page
        screen.open("organizations/uni")
        confirmation = page.get_by_text("The settings are saved.")
        page.get_by_role("button", name="Save").click()
        expect(confirmation).to_be_visible()
        page.get_by_label("Name", exact=True).fill("Mine")
        operated.client.put("/organizations/uni", json={"name": "Theirs"}).raise_for_status()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Someone else has changed the organisation")).to_be_visible()
        expect(page.get_by_label("Name", exact=True)).to_have_value("Mine")
        page.get_by_role("button", name="Read it again").click()
        expect(page.get_by_label("Name", exact=True)).to_have_value("Theirs")
        expect(confirmation).to_have_count(0)
        screen.check(expected=("409",))
    operated.client.put("/organizations/uni", json={"name": "The University"}).raise_for_status()


def test_a_price_is_added_and_removed(operated: Studio) -> None:
    with operated.screen() as screen:
        page = screen.page
        screen.open("organizations/uni/prices")
        page.get_by_role("button", name="Add a price").click()
        page.get_by_label("Provider/model").fill("ollama/*")
        page.get_by_label("Prompt", exact=True).fill("0,5")
        page.get_by_label("Answer").fill("2000000")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("prices")
        page.get_by_label("Answer").fill("2")
        screen.check(expected=("400",))
        page.get_by_role("button", name="Save").click()
        row = page.get_by_role("row").filter(has_text="ollama/*")
        expect(row).to_contain_text("0.5")
        row.get_by_role("button").click()
        page.get_by_role("menuitem", name="Remove").click()
        expect(row).to_have_count(0)
        screen.check(expected=("400",))


def test_the_audit_log_is_filtered_by_organisation(operated: Studio) -> None:
    with operated.screen() as screen:
        page = screen.page
        screen.open("audit")
        rows = page.get_by_role("table").get_by_role("row")
        expect(rows.filter(has_text="assistant.create").first).to_be_visible()
        page.get_by_label("Organisation").fill("uni")
        expect(rows.filter(has_text="assistant.create")).to_have_count(0)
        expect(rows.filter(has_text="user.create").first).to_be_visible()
        screen.check()
