"""The code assistant, from the client's request to the file on the disk."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from heddle_gateway.auth.authenticator import DEVELOPMENT_KEY
from integration.functions.upstream import Delta, Upstream, calls, says, scripted
from integration.whole import whole
from openai import AsyncOpenAI

EXAMPLE = Path(__file__).parents[2] / "examples" / "assistants" / "code-assistant.yaml"
BEFORE = "def add(a, b):\n    return a + b\n"
AFTER = "def add(a: int, b: int) -> int:\n    return a + b\n"
QUESTION = "Add type hints to this function."
CHANGE = {
    "line_start": 1,
    "line_end": 1,
    "old_content": "def add(a, b):",
    "new_content": "def add(a: int, b: int) -> int:",
    "reason": "Type hints",
}
READ = calls("read_file", '{"file_path": "add.py"}', identifier="r")
PATCH = calls("patch_file", json.dumps({"file_path": "add.py", "changes": [CHANGE]}))
ANSWER = [says("add() has "), says("type hints now.")]
WRITTEN_READ = (
    "<tool_call>\n<function=read_file>\n<parameter=file_path>\nadd.py\n</parameter>\n"
    "</function>\n</tool_call>"
)
WRITTEN_PATCH = (
    "<tool_call>\n<function=patch_file>\n<parameter=file_path>\nadd.py\n</parameter>\n"
    f"<parameter=changes>\n{json.dumps([CHANGE])}\n</parameter>\n</function>\n</tool_call>"
)
EDIT_BLOCKS = """Here is the edit:

add.py
<<<<<<< SEARCH
def add(a, b):
=======
def add(a: int, b: int) -> int:
>>>>>>> REPLACE

```diff
--- a/add.py
+++ b/add.py
@@ -1 +1 @@
-def add(a, b):
+def add(a: int, b: int) -> int:
```
"""


@dataclass(frozen=True)
class Editor:
    """A client of the assistant, the provider of its model, and the file that it works on."""

    client: AsyncOpenAI
    upstream: Upstream
    file: Path

    async def stream(self, **metadata: str) -> list[dict[str, Any]]:
        """Ask, and return the chunks of the answer as a strict client reads them."""
        stream = await self.client.chat.completions.create(
            model="lamb_assistant.4",
            messages=[{"role": "user", "content": QUESTION}],
            metadata=metadata or {"current_file": "add.py"},
            stream=True,
        )
        return [chunk.model_dump() async for chunk in stream]


@asynccontextmanager
async def editing(folder: Path, turns: Sequence[Sequence[Delta]]) -> AsyncGenerator[Editor]:
    """Serve the example assistant, whose model follows a script."""
    (folder / "assistants").mkdir()
    # As the example says: with a model that calls functions well.
    default, own = "default, model: default", "openai, model: gpt-4o-mini"
    text = EXAMPLE.read_text()
    assert default in text
    (folder / "assistants" / EXAMPLE.name).write_text(text.replace(default, own))
    file = folder / "workspaces" / "default" / "developer" / "add.py"
    file.parent.mkdir(parents=True)
    file.write_text(BEFORE)
    with pytest.MonkeyPatch.context() as environment:
        async with scripted(turns) as upstream:
            environment.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", upstream.url)
            environment.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "test")
            async with (
                whole(folder) as heddle,
                AsyncOpenAI(
                    base_url=f"{heddle.url}/v1",
                    api_key=DEVELOPMENT_KEY,
                    max_retries=0,
                    _strict_response_validation=True,
                ) as client,
            ):
                yield Editor(client, upstream, file)


def narrated(chunks: Sequence[dict[str, Any]]) -> list[str]:
    """Return what a person sees, in order: text as it is, progress after a sign."""
    seen: list[str] = []
    for chunk in chunks:
        if (event := chunk.get("event")) and event["type"] == "status":
            seen.append(f"{'✓' if event['data']['done'] else '…'} {event['data']['description']}")
        elif text := "".join(choice["delta"]["content"] or "" for choice in chunk["choices"]):
            if seen and seen[-1][0] not in "✓…":
                seen[-1] += text
            else:
                seen.append(text)
    return seen


def spoken(chunks: Sequence[dict[str, Any]]) -> str:
    return "".join(c["delta"]["content"] or "" for chunk in chunks for c in chunk["choices"])


def changes(chunks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the changes of files that were told, for programs."""
    events = [chunk["heddle"] for chunk in chunks if "heddle" in chunk]
    return [event["data"] for event in events if event["type"] == "file_change"]


@pytest.mark.parametrize(
    "turns",
    [
        [[says("I look."), READ], [PATCH], ANSWER],
        [[says(f"I look.\n{WRITTEN_READ}")], [says(WRITTEN_PATCH)], ANSWER],
    ],
    ids=["native calls", "calls written as text"],
)
async def test_add_type_hints_edits_the_open_file(
    tmp_path: Path, turns: Sequence[Sequence[Delta]]
) -> None:
    async with editing(tmp_path, turns) as editor:
        chunks = await editor.stream(current_file="add.py", current_lines="1-2")

        assert editor.file.read_text() == AFTER
        first, second, third = editor.upstream.bodies
    assert "metadata" not in first
    question = first["messages"][-1]["content"]
    assert "\n    1| def add(a, b):\n" in question
    assert "The person looks at lines 1-2." in question
    assert question.rstrip().endswith(QUESTION)
    offered = [tool["function"]["name"] for tool in first["tools"]]
    assert sorted(offered) == [
        *("list_files", "patch_file", "read_file", "restore_file", "search_files")
    ]
    assert "def add(a, b):" in second["messages"][-1]["content"]
    assert json.loads(third["messages"][-1]["content"])["files"][0]["status"] == "changed"

    seen = [each.strip() for each in narrated(chunks)]
    assert seen == [
        "… running current_file",
        "… reading add.py",
        "… merging tool outputs",
        "✓ used current_file",
        "I look.",
        "… running read_file",
        "… reading add.py",
        "… running patch_file",
        "… changing add.py",
        "… changed add.py, line 1: Type hints",
        "✓ used current_file, read_file, patch_file",
        "add() has type hints now.",
    ]
    [change] = changes(chunks)
    assert (change["tool"], change["file"], change["reason"]) == (
        *("patch_file", "add.py", "Type hints"),
    )
    assert change["lines"] == [1, 1]
    assert "-def add(a, b):\n+def add(a: int, b: int) -> int:\n" in change["diff"]
    reasons = [c["finish_reason"] for chunk in chunks for c in chunk["choices"]]
    assert reasons[-1] == "stop"
    assert not any(reasons[:-1])
    assert not any(c["delta"]["tool_calls"] for chunk in chunks for c in chunk["choices"])


async def test_an_answer_that_is_not_streamed_edits_as_well(tmp_path: Path) -> None:
    async with editing(tmp_path, [[PATCH], ANSWER]) as editor:
        answer = await editor.client.chat.completions.create(
            model="lamb_assistant.4",
            messages=[{"role": "user", "content": QUESTION}],
            metadata={"current_file": "add.py"},
        )

        assert editor.file.read_text() == AFTER
        assert "    1| def add(a, b):" in editor.upstream.bodies[0]["messages"][-1]["content"]
    message = answer.choices[0].message
    assert (message.content, message.tool_calls) == ("add() has type hints now.", None)


@pytest.mark.exhaustive
async def test_edits_that_are_written_into_an_answer_change_nothing(tmp_path: Path) -> None:
    async with editing(tmp_path, [[says(EDIT_BLOCKS)]]) as editor:
        chunks = await editor.stream()

        assert editor.file.read_text() == BEFORE
    assert spoken(chunks) == EDIT_BLOCKS
    assert changes(chunks) == []


@pytest.mark.exhaustive
async def test_a_model_whose_calls_all_fail_is_stopped(tmp_path: Path) -> None:
    def wrong(number: int) -> Delta:
        arguments = {"file_path": "add.py", "changes": [{**CHANGE, "old_content": f"{number}"}]}
        return calls("patch_file", json.dumps(arguments), identifier=f"c{number}")

    async with editing(tmp_path, [[wrong(number)] for number in range(30)]) as editor:
        chunks = await editor.stream()

        assert editor.file.read_text() == BEFORE
        bodies = editor.upstream.bodies
    assert len(bodies) == 11
    assert "tools" not in bodies[-1]
    seen = narrated(chunks)
    assert sum("patch_file failed: " in line for line in seen) == 10
    assert "… stopped: 10 calls in a row failed" in seen
    assert "gave no answer" in seen[-1]
    assert changes(chunks) == []


@pytest.mark.exhaustive
async def test_a_file_that_is_not_there_is_told_to_the_model_and_the_person(tmp_path: Path) -> None:
    async with editing(tmp_path, [[says("Which file?")]]) as editor:
        chunks = await editor.stream(current_file="../secret.py")

        question = editor.upstream.bodies[0]["messages"][-1]["content"]
    assert "[The tool current_file failed: The path '../secret.py' is refused" in question
    assert any(
        "current_file failed: The path '../secret.py' is refused" in s for s in narrated(chunks)
    )
    assert spoken(chunks) == "Which file?"


async def test_a_question_about_code_reads_files_and_changes_none(tmp_path: Path) -> None:
    search = calls("search_files", '{"query": "def add"}')
    turns = [[search], [says("add.py, line 1: add() returns the sum.")]]
    async with editing(tmp_path, turns) as editor:
        chunks = await editor.stream(current_file="add.py")

        first, second = editor.upstream.bodies
        assert editor.file.read_text() == BEFORE
    assert "name the file and the lines, and change\nnothing" in first["messages"][0]["content"]
    assert "add.py" in second["messages"][-1]["content"]
    assert changes(chunks) == []


@pytest.mark.exhaustive
async def test_the_model_learns_that_a_workspace_has_no_files(tmp_path: Path) -> None:
    turns = [[calls("list_files", "{}")], [says("Your workspace is empty.")]]
    async with editing(tmp_path, turns) as editor:
        editor.file.unlink()
        await editor.stream(current_file="add.py")

        first, second = editor.upstream.bodies
    assert "[The tool current_file failed: " in first["messages"][-1]["content"]
    assert second["messages"][-1]["content"] == "(no files)"
