"""The catalogue of tools, and the forms of their settings."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect
from studio.harness import Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
TOOLS = "/tools"


def checked(page: Page) -> Any:
    """Press the button that checks the settings, and return what the form sent."""

    def is_check(request: Request) -> bool:
        return request.url.endswith("/validate")

    with page.expect_request(is_check) as sent:
        page.get_by_role("button", name="Check the settings").click()
    expect(page.get_by_role("button", name="Check the settings")).to_be_enabled()
    return json.loads(sent.value.post_data or "null")


def test_the_catalogue_is_accessible_and_fits(development: Studio) -> None:
    with development.screen() as screen:
        screen.open("tools")
        expect(screen.page.get_by_role("link", name="Word count")).to_be_visible()
        screen.check_in_views("tools-{view}")


def test_the_form_of_every_tool_is_accessible_and_writes_no_defaults(development: Studio) -> None:
    tools = development.client.get(TOOLS).json()["tools"]
    assert tools
    with development.screen() as screen:
        for tool in tools:
            screen.open(f"tools/{tool['name']}")
            expect(screen.page.get_by_role("button", name="Check the settings")).to_be_visible()
            for name in tool["config_schema"].get("properties", {}):
                path = screen.page.locator(f'[data-field="{name}"]')
                expect(path, f"{tool['name']}: {name}").to_have_count(1)
            assert checked(screen.page) == {}
            screen.check_in_views("tool-{view}")


def test_a_tool_runs_alone_with_the_settings_of_the_form(development: Studio) -> None:
    with development.screen() as screen:
        page = screen.page
        screen.open("tools/word_count")
        page.get_by_label("Message of the user").fill("one two three")
        page.get_by_role("button", name="Run").click()
        expect(page.get_by_role("region", name="Result")).to_contain_text("3")
        screen.check()


def test_settings_are_sent_as_they_are_typed_and_faults_are_beside_them(
    development: Studio,
) -> None:
    with development.screen() as screen:
        page = screen.page
        screen.open("tools/single_file")
        characters = page.locator('[data-field="max_chars"]')
        characters.fill("0")
        page.get_by_role("button", name="Enter a path on the server").click()
        page.locator('[data-field="file_path"]').fill("1/notes.md")
        assert checked(page) == {"max_chars": 0, "file_path": "1/notes.md"}
        expect(characters).to_have_attribute("aria-invalid", "true")
        characters.fill("")
        assert checked(page) == {"file_path": "1/notes.md"}
        screen.check()
