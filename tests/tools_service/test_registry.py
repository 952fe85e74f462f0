"""What is installed, from where, and what is not."""

from pathlib import Path

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, NotFoundError
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.installed.registry import Registry
from heddle_tools_service.sdk import Tool, ToolResult, tool
from tools_service.serving import discovered, discovering, said, serving, serving_tools, text_of

TEMPLATE = '''
from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolResult, tool

@tool("{name}", title="Greeting", slot="{slot}")
async def greet(call) -> ToolResult:
    """{description}"""
    return ToolResult("hello")
'''


def write(folder: Path, file: str, text: str = "", **values: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = values.get("name", file.removesuffix(".py"))
    filled = TEMPLATE.format(
        name=name,
        slot=values.get("slot", "greeting"),
        description=values.get("description", "Greets."),
    )
    (folder / file).write_text(text or filled)


async def test_a_file_of_under_40_lines_in_a_mounted_folder_is_found_and_runs(
    tmp_path: Path,
) -> None:
    write(tmp_path, "greet.py")
    assert len((tmp_path / "greet.py").read_text().splitlines()) < 40

    async with serving(discovering(tmp_path)) as client:
        listed = await client.stub.ListTools(pb.ListToolsRequest(), **new_call_options(5))
        _, result = await client.run("greet", {}, said("hi"))

    found = next(each for each in listed.tools if each.name == "greet")
    assert found.origin == "folder:greet.py"
    assert list(found.modes) == [assistant_pb2.MODE_AUGMENT]
    assert text_of(result) == "hello"
    assert result.slot == "greeting"


def test_names_with_base_in_them_are_files_like_all_others(tmp_path: Path) -> None:
    folder = tmp_path / "database" / "base"
    write(folder, "knowledge_base.py")
    write(folder, "base.py", name="based")

    registry = discovered(folder)

    assert registry.get("knowledge_base").name == "knowledge_base"
    assert registry.get("based").name == "based"
    assert registry.problems == ()


def test_a_tool_is_gone_at_the_next_discovery_after_its_file_was_removed(tmp_path: Path) -> None:
    for file in ("greet.py", "wave.py"):
        write(tmp_path, file)
    assert discovered(tmp_path).get("greet").name == "greet"

    (tmp_path / "greet.py").unlink()
    registry = discovered(tmp_path)

    assert registry.get("wave").name == "wave"
    with pytest.raises(NotFoundError):
        registry.get("greet")
    assert registry.problems == ()


BROKEN = {
    "syntax.py": ("def (", "SyntaxError"),
    "missing.py": ("import no_such_module_anywhere", "No module named"),
    "leaves.py": ("import sys; sys.exit(3)", "SystemExit: 3"),
    "raises.py": ("raise RuntimeError('on import')", "on import"),
    "empty.py": ("X = 1", "has no 'plugin' attribute"),
    "Shouts.py": (TEMPLATE.format(name="Shouts", slot="a", description="D."), "its name cannot be"),
    "slot.py": (TEMPLATE.format(name="slot", slot="../x", description="D."), "its slot (pl"),
    "mine.py": (TEMPLATE.format(name="mine", slot="user_input", description="D."), "is reserved"),
    "result.py": (
        TEMPLATE.format(name="result", slot="tool_result", description="D."),
        "the slot (placeholder) 'tool_result' is reserved",
    ),
    "assistant_tool.py": (
        TEMPLATE.format(name="assistant_tool", slot="a", description="D."),
        "the name 'assistant_tool' is reserved",
    ),
    "nowhere.py": (
        TEMPLATE.format(name="nowhere", slot="", description="D."),
        "its slot (placeholder) cannot be ''",
    ),
    "mute.py": (TEMPLATE.format(name="mute", slot="a", description=""), "description is missing"),
    "long.py": (
        TEMPLATE.format(name="long", slot="a", description="x" * 10_000_000),
        "its description is longer than 1,000 characters",
    ),
    "word_count.py": (
        TEMPLATE.format(name="word_count", slot="a", description="D."),
        "The name 'word_count' is taken by builtin. Rename one.",
    ),
    "twice_2.py": (
        TEMPLATE.format(name="twice_1", slot="a", description="D."),
        "The name 'twice_1' is taken by folder:twice_1.py. Rename one.",
    ),
}  # fmt: skip


async def test_broken_plugins_are_told_and_skipped(tmp_path: Path) -> None:
    for file, (text, _) in BROKEN.items():
        (tmp_path / file).write_text(text)
    write(tmp_path, "twice_1.py", name="twice_1")
    (tmp_path / "_ignored.py").write_text("raise RuntimeError")

    async with serving(discovering(tmp_path)) as client:
        listed = await client.stub.ListTools(
            pb.ListToolsRequest(page_size=200), **new_call_options(5)
        )

    told = {problem.origin.removeprefix("folder:"): problem.message for problem in listed.problems}
    assert told.keys() == BROKEN.keys()
    for file, (_, message) in BROKEN.items():
        assert message in told[file]
    assert {"twice_1", "word_count", "simple_rag"} <= {each.name for each in listed.tools}
    assert next(each for each in listed.tools if each.name == "word_count").origin == "builtin"


def test_a_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    [problem] = discovered(tmp_path / "absent").problems

    assert problem.message == "There is no such folder. Check the setting of it."


async def test_a_plugin_is_loaded_once(tmp_path: Path) -> None:
    (tmp_path / "counted.py").write_text(
        f"with open({str(tmp_path / 'log')!r}, 'a') as log:\n    log.write('x')\n"
        + TEMPLATE.format(name="counted", slot="a", description="Counts.")
    )
    async with serving(discovering(tmp_path)) as client:
        for _ in range(10):
            await client.run("counted")

    assert (tmp_path / "log").read_text() == "x"


@pytest.mark.parametrize(
    "name", ["os", "../evil", "heddle_tools_service.app", "simple_rag.py", "x" * 100_000, "é"]
)
async def test_a_name_from_a_request_is_only_looked_up(name: str) -> None:
    async with serving(discovering(None)) as client:
        with pytest.raises(NotFoundError) as caught:
            await client.run(name)

    assert caught.value.message == f"No tool is named {name[:80]!r}."


def make(name: str) -> Tool:
    @tool(name, title="Made")
    async def made(_: object) -> ToolResult:
        """Made for a list."""
        return ToolResult("")

    return made


async def test_tools_are_listed_in_pages_with_problems_on_the_first(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path, f"aaa_{number}.py")
    (tmp_path / "broken.py").write_text("def (")
    names: list[str] = []
    problems: list[int] = []
    token = ""
    registry = discovered(tmp_path)
    async with serving(lambda _: registry) as client:
        while True:
            request = pb.ListToolsRequest(page_size=5, page_token=token)
            page = await client.stub.ListTools(request, **new_call_options(5))
            names += [each.name for each in page.tools]
            problems.append(len(page.problems))
            if not (token := page.next_page_token):
                break

    assert names == sorted(names) == [installed.name for installed in registry]
    assert problems == [1] + [0] * (len(problems) - 1)
    assert len(problems) == -(-len(names) // 5) > 2


async def test_a_bad_page_token_is_refused() -> None:
    async with serving_tools(make("a")) as client:
        with pytest.raises(Exception, match="page token"):
            await client.stub.ListTools(pb.ListToolsRequest(page_token="?"), **new_call_options(5))


async def test_a_missing_deadline_is_refused() -> None:
    async with serving_tools(make("a")) as client:
        with pytest.raises(Exception, match="no deadline"):
            await client.stub.ListTools(pb.ListToolsRequest())


async def test_one_tool_can_be_asked_for() -> None:
    async with serving(discovering(None)) as client:
        response = await client.stub.GetTool(
            pb.GetToolRequest(name="rubric"), **new_call_options(5)
        )

    assert response.tool.title == "Assessment Rubric"
    assert response.tool.version == "1.0"


def test_an_entry_point_may_name_a_module_or_a_tool() -> None:
    from heddle_tools_service.adapters import tools_in  # noqa: PLC0415 - only this test reads it
    from heddle_tools_service.tools import deep_analysis, word_count  # noqa: PLC0415 - as above

    assert [each.name for each in tools_in(word_count)] == ["word_count"]
    assert [each.name for each in tools_in(word_count.word_count)] == ["word_count"]
    # It imports from its relative; only what it defines is its own.
    assert [each.name for each in tools_in(deep_analysis)] == ["deep_analysis"]


def test_a_definition_needs_a_mode() -> None:
    with pytest.raises(ValueError, match="it can be bound in no mode"):

        @tool("bare", title="Bare", modes=())
        async def bare(_: object) -> ToolResult:
            """Is bound nowhere."""
            return ToolResult("")

        Registry.of(bare)


async def test_a_wrong_request_is_told_field_by_field() -> None:
    async with serving_tools(make("a")) as client:
        with pytest.raises(InvalidRequestError) as caught:
            await client.run("")

    assert [violation.field for violation in caught.value.violations] == ["invocation.name"]
