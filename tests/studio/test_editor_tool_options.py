"""The options of tools in the editor: a form for every schema, and what it saves."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from studio.difficult_schemas import CASES, Step, write_tools
from studio.editing import new_assistant, open_editor, save, stored
from studio.harness import VIEWS, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]
TOOLS = "/lamb/v1/completions/tools"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle with a tool for each difficult schema."""
    folder = tmp_path_factory.mktemp("options")
    plugins = folder / "own_tools"
    plugins.mkdir()
    write_tools(plugins)
    with running(folder, browser, HEDDLE_TOOLS_PLUGINS_DIR=str(plugins)) as running_studio:
        yield running_studio


def control(page: Page, path: str) -> Locator:
    """Return the control of an option of the first tool, or the group of its parts."""
    field = f"tools[0].config.{path}" if path else "tools[0].config"
    return page.locator(f"[data-field={json.dumps(field)}]")


def open_tool(page: Page, title: str) -> None:
    """Show the options of a tool of the assistant."""
    tools = page.get_by_role("list", name="Chosen tools").get_by_role("listitem")
    tools.first.get_by_role("button", name=title).first.click()
    expect(page.get_by_role("group", name="Options", exact=True)).to_be_visible()


def act(page: Page, step: Step) -> None:
    """Do one step of a case."""
    action, path, *rest = step
    place = control(page, path)
    match action:
        case "begin":
            place.get_by_role("button", name=f"Add {path.rpartition('.')[2]}").click()
        case "add":
            place.get_by_role("button", name="Add an item").last.click()
        case "name":
            place.get_by_label("Name of a new member").fill(rest[0])
            place.get_by_role("button", name="Add", exact=True).click()
        case "fill":
            place.fill(rest[0])
            place.blur()
        case "choose":
            place.select_option(label=rest[0])
        case "form":
            place.get_by_label("Form of", exact=False).first.select_option(label=rest[0])
        case "refused" if path:
            expect(place).to_have_attribute("aria-invalid", "true")
        case "refused":
            expect(page.get_by_role("group", name="Options", exact=True)).to_contain_text("secret")


@pytest.mark.parametrize("name", CASES)
def test_a_difficult_schema_is_a_form_that_saves_what_the_server_accepts(
    studio: Studio, name: str
) -> None:
    case = CASES[name]
    identifier = new_assistant(studio, f"with_{name}", tools=[{"type": name}])
    with studio.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        open_tool(page, name.replace("_", " ").capitalize())
        for step in case.steps:
            act(page, step)
        save(page)
        assert stored(studio, identifier)["tools"][0]["config"] == case.saved
        screen.check()
        page.reload()
        screen.settle()
        open_tool(page, name.replace("_", " ").capitalize())
        page.get_by_role("button", name="As JSON").click()
        expect(page.get_by_label("Options as JSON")).to_have_value(
            json.dumps(case.saved, indent=2, ensure_ascii=False)
        )


def test_the_options_of_every_built_in_tool_are_edited_and_saved(studio: Studio) -> None:
    tools = [each for each in studio.client.get(TOOLS).json()["tools"] if each["name"] not in CASES]
    assert len(tools) > 20
    edited = 0
    with studio.screen() as screen:
        page = screen.page
        for tool in tools:
            properties = tool["config_schema"].get("properties", {})
            options = {name: text for name, part in properties.items() if (text := valid(part))}
            if not options:
                continue
            mode = "function" if "augment" not in tool["modes"] else "augment"
            binding = {"type": tool["name"], "mode": mode if mode in tool["modes"] else "agent"}
            identifier = new_assistant(studio, f"edits_{tool['name']}", tools=[binding])
            open_editor(screen, identifier)
            open_tool(page, tool["display_name"])
            for name, text in options.items():
                control(page, name).fill(text)
                control(page, name).blur()
            save(page)
            config = stored(studio, identifier)["tools"][0]["config"]
            assert {name: str(config[name]) for name in options} == options, tool["name"]
            edited += 1
    assert edited > 10


def valid(part: dict[str, Any]) -> str:
    """Return another number than the default that a schema accepts; nothing for other schemas."""
    whole = part
    if part.get("type") not in ("integer", "number"):
        branches = [each for each in part.get("anyOf", ()) if each.get("type") == "integer"]
        if not branches:
            return ""
        whole = branches[0]
    if whole.get("multipleOf"):
        return ""
    least = whole.get("minimum", whole.get("exclusiveMinimum", 0))
    most = whole.get("maximum", least + 10)
    middle = int(least + (most - least) / 2)
    return str(middle if least < middle <= most else int(most))


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_options_of_a_tool_are_accessible_and_fit(
    studio: Studio, theme: str, width: int
) -> None:
    tool = {"type": "fast_vector_search"}
    identifier = new_assistant(studio, f"looks_{theme}_{width}", tools=[tool])
    with studio.screen(theme=theme, width=width) as screen:
        open_editor(screen, identifier)
        open_tool(screen.page, "Vector Search")
        screen.check()
        screen.picture(f"tool-options-{theme}-{width}")
