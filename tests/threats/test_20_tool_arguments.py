"""Threat 20: a model writes arguments that a tool does not expect.

For whose data a tool of Moodle reads, see `tests/integration/test_moodle.py`.
"""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from integration.functions.upstream import calls
from runtime.examples import sampled
from threats.scripted_model import ScriptedModel, scripted_model

pytestmark = pytest.mark.asyncio(loop_scope="module")
REFUSED = {
    '{"a": 1, "c": 2}': "is not an argument",
    '{"a": 1, "user_id": "8"}': "is not an argument",
    '{"a": 1, "owner": "eve@evil.example"}': "is not an argument",
    '{"a": 1, "__owner__": "eve@evil.example"}': "is not an argument",
    "{}": "is required",
    '{"a": "1"}': "must be of type integer",
    '{"a": true}': "must be of type integer",
    '{"a": 1, "b": -1}': "must be",
    '{"a": 1, "a": 2': "not JSON",
    '{"a": NaN}': "JSON does not know",
    '{"a": ' + "9" * 5_000 + "}": "number",
    "[1]": "must be a JSON object",
    '{"a": ' + "[" * 50_000: "nested too deep",
    json.dumps({"a": 1, "c": "x" * 1_100_000}): "characters",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ScriptedModel]:
    """An assistant that adds numbers, and one that edits files."""
    adder, editor = "[{type: adder, mode: function}]", "[{type: patch_file, mode: function}]"
    async with scripted_model(tmp_path_factory.mktemp("threat-20"), adder, editor) as running:
        yield running


async def result_of(model: ScriptedModel, number: int, name: str, arguments: str) -> str:
    """Return what the model reads of its call, the same for streamed and whole answers."""
    results = set()
    for stream in (False, True):
        model.turn = [calls(name, arguments)]
        response = await model.ask(number, stream=stream)
        assert response.status_code == 200, response.text
        _, second = model.upstream.bodies
        results.add(second["messages"][-1]["content"])
    [result] = results
    return str(result)


@pytest.mark.parametrize("arguments", sampled(REFUSED, 5), ids=lambda text: text[:30])
async def test_arguments_beside_the_schema_are_refused(
    model: ScriptedModel, arguments: str
) -> None:
    result = await result_of(model, 1, "add", arguments)

    assert REFUSED[arguments] in result
    assert '"sum"' not in result
    assert len(result) < 2_000


async def test_arguments_of_the_schema_reach_the_tool(model: ScriptedModel) -> None:
    assert '"sum": 3' in await result_of(model, 1, "add", '{"a": 1, "b": 2}')


async def test_no_argument_names_the_owner_of_files(model: ScriptedModel) -> None:
    change = {"line_start": 1, "line_end": 0, "old_content": "", "new_content": "x", "reason": "N"}
    patch = {"file_path": "new.py", "changes": [change], "create": True}
    for name in ("owner", "user", "organization", "folder", "shared"):
        result = await result_of(model, 2, "patch_file", json.dumps(patch | {name: "eve"}))
        assert "is not an argument" in result
    assert not [*model.folder.rglob("new.py")]
