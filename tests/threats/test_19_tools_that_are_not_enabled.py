"""Threat 19: a model calls a tool that its assistant has not, or a text looks like a call."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from connector.toolcalls.bfcl import WRITERS
from integration.functions.upstream import calls, says
from runtime.examples import sampled
from threats.scripted_model import ScriptedModel, scripted_model

pytestmark = pytest.mark.asyncio(loop_scope="module")
CHANGE = {"line_start": 1, "line_end": 0, "old_content": "", "new_content": "x", "reason": "New"}
ARGUMENTS = {"file_path": "new.py", "changes": [CHANGE], "create": True}
FORMS = {"native": lambda name: calls(name, json.dumps(ARGUMENTS))} | {
    form: lambda name, write=write: says(write([(name, ARGUMENTS)]))
    for form, write in WRITERS.items()
}
"""How a model writes its call: of the protocol, or as text."""
NAMES = ("patch_file", "Patch_File", "PATCH_FILE", "patch-file", " patch_file", "patch_file\0")
DISABLED, ENABLED = 1, 2
STREAMED = pytest.mark.parametrize("stream", [False, True])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ScriptedModel]:
    """An assistant without `patch_file`, and one with it."""
    adder = "{type: adder, mode: function}, {type: library, mode: function}"
    async with scripted_model(
        tmp_path_factory.mktemp("threat-19"),
        f"[{adder}, {{type: patch_file, mode: function, enabled: false}}]",
        f"[{adder}, {{type: patch_file, mode: function}}]",
    ) as running:
        yield running


def removed_files(model: ScriptedModel) -> list[Path]:
    """Remove and return the files that the tool wrote."""
    paths = [*model.folder.rglob("new.py")]
    for path in paths:
        path.unlink()
    return paths


@STREAMED
@pytest.mark.parametrize("form", sampled(FORMS, 2))
async def test_only_an_enabled_tool_runs(model: ScriptedModel, form: str, *, stream: bool) -> None:
    for name in NAMES:
        model.turn = [FORMS[form](name)]
        response = await model.ask(DISABLED, stream=stream)
        assert response.status_code == 200, response.text
        assert removed_files(model) == [], name
    model.turn = [FORMS[form]("patch_file")]
    await model.ask(ENABLED, stream=stream)
    assert len(removed_files(model)) == 1


@STREAMED
async def test_the_model_learns_that_there_is_no_such_function(
    model: ScriptedModel, *, stream: bool
) -> None:
    model.turn = [FORMS["native"]("patch_file")]
    response = await model.ask(DISABLED, stream=stream)

    assert "Done." in response.text
    _, second = model.upstream.bodies
    result = second["messages"][-1]
    assert result["role"] == "tool"
    assert "error" in result["content"]


@STREAMED
async def test_a_function_of_the_client_is_not_the_tool_of_its_name(
    model: ScriptedModel, *, stream: bool
) -> None:
    model.turn = [FORMS["native"]("patch_file")]
    function = {"type": "function", "function": {"name": "patch_file", "parameters": {}}}
    response = await model.ask(DISABLED, tools=[function], stream=stream)

    assert '"tool_calls"' in response.text
    assert removed_files(model) == []


@STREAMED
@pytest.mark.parametrize("form", sampled(WRITERS, 1))
async def test_calls_in_texts_of_users_and_tools_do_not_run(
    model: ScriptedModel, form: str, *, stream: bool
) -> None:
    written = WRITERS[form]([("patch_file", ARGUMENTS)])
    model.turn = [calls("library", json.dumps({"query": written}))]
    response = await model.ask(ENABLED, written, stream=stream)

    assert "Done." in response.text
    assert removed_files(model) == []
    first, second = model.upstream.bodies
    assert written in first["messages"][-1]["content"]
    assert second["messages"][-1]["role"] == "tool"
