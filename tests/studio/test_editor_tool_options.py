"""The options of tools in the editor: a form for every schema, and what it saves."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from gateway.essays import EXAMPLE
from playwright.sync_api import Browser, Locator, Page, expect
from studio.difficult_schemas import CASES, Step, write_tools
from studio.editing import new_assistant, open_editor, save, stored
from studio.harness import PHONE, VIEWS, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]
TOOLS = "/tools"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle with a tool for each difficult schema."""
    folder = tmp_path_factory.mktemp("options")
    plugins = folder / "own_tools"
    plugins.mkdir()
    write_tools(plugins)
    (plugins / "broken.py").write_text("import no_such_module\n")
    with running(folder, browser, HEDDLE_TOOLS_PLUGINS_DIR=str(plugins)) as running_studio:
        yield running_studio


def control(page: Page, path: str) -> Locator:
    """Return the control of an option of the first tool, or the group of its parts."""
    field = json.dumps(f"tools[0].config.{path}", ensure_ascii=False)
    return page.locator(f"[data-field={field}]")


def open_tool(page: Page) -> None:
    """Show the options of the first tool of the assistant."""
    tools = page.get_by_role("list", name="Chosen tools").get_by_role("listitem")
    tools.first.locator("button[aria-expanded=false]").click()
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
            place.last.fill(rest[0])
            place.last.blur()
        case "choose":
            place.last.select_option(label=rest[0])
        case "form":
            place.first.get_by_label("Form of", exact=False).first.select_option(label=rest[0])
        case "refused" if path:
            expect(place.last).to_have_attribute("aria-invalid", "true")
        case _:
            assert action == "refused"
            expect(page.get_by_role("group", name="Options", exact=True)).to_contain_text("secret")


@pytest.mark.parametrize("name", CASES)
def test_a_difficult_schema_is_a_form_that_saves_what_the_server_accepts(
    studio: Studio, name: str
) -> None:
    case = CASES[name]
    tool = {"type": name, "config": case.before}
    identifier = new_assistant(studio, f"with_{name}", tools=[tool])
    with studio.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        open_tool(page)
        for step in case.steps:
            act(page, step)
        save(page)
        assert stored(studio, identifier)["tools"][0]["config"] == case.saved
        screen.check()
        page.reload()
        screen.settle()
        open_tool(page)
        page.get_by_role("button", name="As JSON").click()
        assert json.loads(page.get_by_label("Options as JSON").input_value()) == case.saved


def test_the_options_of_every_built_in_tool_are_edited_and_saved(studio: Studio) -> None:
    collection = studio.client.post("/v1/vector_stores", json={"name": "looms"}).json()["id"]
    rubric = studio.client.post("/rubrics", json={"content": EXAMPLE}).json()["id"]
    needed = {"collections": [collection], "rubric_id": rubric, "file_path": "1/notes.md"}
    tools = [each for each in studio.client.get(TOOLS).json()["tools"] if each["name"] not in CASES]
    assert len(tools) > 20
    edited: set[str] = set()
    with studio.screen() as screen:
        page = screen.page
        for tool in tools:
            schema = tool["config_schema"]
            options = {
                name: changed
                for name, part in schema.get("properties", {}).items()
                if (changed := another_value(part)) is not None
            }
            if not options:
                continue
            before = {name: needed[name] for name in schema.get("required", ())}
            if tool["name"] == "mcp":
                before = {"url": "https://mcp.example/mcp"}
            mode = "augment" if "augment" in tool["modes"] else "function"
            binding = {"type": tool["name"], "mode": mode, "config": before}
            identifier = new_assistant(studio, f"edits_{tool['name']}", tools=[binding])
            open_editor(screen, identifier)
            open_tool(page)
            for name, value in options.items():
                set_option(page, name, value)
            save(page)
            assert stored(studio, identifier)["tools"][0]["config"] == before | options
            edited.add(tool["name"])
    assert len(edited) > 15, edited


def test_a_file_is_uploaded_chosen_or_named_by_its_path(studio: Studio) -> None:
    upload = {"file": ("earlier.md", b"Threads.")}
    data = {"purpose": "assistants"}
    earlier = studio.client.post("/v1/files", files=upload, data=data).json()["id"]
    tool = {"type": "single_file", "config": {"file_path": "1/notes.md"}}
    identifier = new_assistant(studio, "reads", tools=[tool], prompt_template="{user_input} {file}")

    def file_path() -> str:
        return str(stored(studio, identifier)["tools"][0]["config"]["file_path"])

    with studio.screen(width=PHONE) as screen:
        page = screen.page
        open_editor(screen, identifier)
        open_tool(page)
        expect(control(page, "file_path")).to_have_value("1/notes.md")
        page.get_by_role("button", name="Choose an uploaded file").click()
        control(page, "file_path").select_option(label="earlier.md")
        save(page)
        assert file_path() == earlier
        page.route("**/v1/files", lambda route: route.abort(), times=1)
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Upload a file").click()
        chooser.value.set_files(
            {"name": "shed.md", "mimeType": "text/markdown", "buffer": b"A shed is a gap."}
        )
        expect(page.get_by_text("“shed.md” was not uploaded.")).to_be_visible()
        page.get_by_role("button", name="Try again").click()
        expect(control(page, "file_path").locator("option:checked")).to_have_text("shed.md")
        save(page)
        screen.check(expected=("ERR_FAILED",))
        assert file_path().startswith("file-")
        assert file_path() != earlier
        page.get_by_role("button", name="Try it", exact=True).click()
        page.get_by_label("Your question").fill("What is it?")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("article")).to_contain_text("A shed is a gap.")
        page.get_by_role("button", name="Edit", exact=True).click()
        page.get_by_role("button", name="Enter a path on the server").click()
        control(page, "file_path").fill("1/notes.md")
        save(page)
    assert file_path() == "1/notes.md"


def set_option(page: Page, name: str, value: Any) -> None:
    """Set an option that is a number, a choice, or yes or no."""
    if isinstance(value, bool):
        control(page, name).select_option(label="Yes" if value else "No")
    elif isinstance(value, str):
        control(page, name).select_option(label=value)
    else:
        control(page, name).fill(str(value))
        control(page, name).blur()


def another_value(part: dict[str, Any]) -> Any:
    """Return a value that is not the default; None for texts, lists and objects."""
    default = part.get("default")
    match part.get("type"):
        case "boolean":
            return not default
        case "string" if "enum" in part:
            return next(each for each in part["enum"] if each != default)
        case "integer" | "number":
            least = part.get("minimum", part.get("exclusiveMinimum", 0))
            most = part.get("maximum", least + 10)
            middle = (least + most) / 2
            value = int(middle) if int(middle) > least else middle
            return value if value != default else most
        case _:
            return None


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_options_of_a_tool_are_accessible_and_fit(
    studio: Studio, theme: str, width: int
) -> None:
    tool = {"type": "fast_vector_search"}
    identifier = new_assistant(studio, f"looks_{theme}_{width}", tools=[tool])
    with studio.screen(theme=theme, width=width) as screen:
        open_editor(screen, identifier)
        open_tool(screen.page)
        screen.check()
        screen.picture(f"tool-options-{theme}-{width}")


def test_the_catalogue_tells_operators_which_files_were_not_loaded(studio: Studio) -> None:
    with studio.screen() as screen:
        screen.open("tools")
        expect(screen.page.get_by_text("Files of tools that were not loaded")).to_be_visible()
        expect(screen.page.get_by_text("folder:broken.py")).to_be_visible()
        screen.check()
