"""What `/assistants` refuses, and how it tells what is wrong."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from gateway.library import TUTOR, Library, library

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shelf(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    """A gateway for all tests here: none of them keeps anything."""
    async with library(tmp_path_factory.mktemp("library")) as running:
        yield running


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("page_size=0", "page_size"),
        ("page_size=1001", "page_size"),
        ("page_size=", "page_size"),
        ("page_size=1.5", "page_size"),
        ("page_size=" + "9" * 5000, "page_size"),
        ("page_size=%D9%A3", "page_size"),
        ("page_token=!", "page_token"),
        ("selection=everything", "selection"),
    ],
)
async def test_a_wrong_query_is_named(shelf: Library, query: str, param: str) -> None:
    response = await shelf["ana"].get(f"/assistants?{query}")
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"name": None}, "name"),
        ({"name": "two words"}, "name"),
        ({"name": 5}, "name"),
        ({"prompt_processor": "one\0two"}, "prompt_processor"),
        ({"model": None}, "model"),
        ({"model": {"connector": "openai"}}, "model.model"),
        ({"model": {"connector": "openai", "model": "x", "llm": "y"}}, "model.llm"),
        ({"tools": {}}, "tools"),
        ({"tools": [{"type": "a"}] * 65}, "tools"),
        ({"tools": [{"type": "a", "plugin": "a"}]}, "tools[0].plugin"),
        ({"tools": [{"type": ""}]}, "tools[0].type"),
        ({"tools": [{"type": "a", "mode": "always"}]}, "tools[0].mode"),
        ({"tools": [{"type": "a", "slot": "user_input"}]}, "tools[0].slot"),
        ({"tools": [{"type": "a", "timeout": 0}]}, "tools[0].timeout"),
        ({"tools": [{"type": "a", "config": {"n": 2**60}}]}, "tools[0].config"),
        ({"tools": [{"type": "a", "on_failure": "retry"}]}, "tools[0].on_failure"),
        ({"tools": [{"type": "a", "id": "x"}, {"type": "b", "id": "x"}]}, "tools[0].id"),
        ({"capabilities": {"smell": True}}, "capabilities.smell"),
        ({"verbose": "yes"}, "verbose"),
        ({"max_tool_rounds": 51}, "max_tool_rounds"),
        ({"max_tool_rounds": 1.5}, "max_tool_rounds"),
        ({"titel": "Tutor"}, "titel"),
        ({"_format_version": 3}, "_format_version"),
        ({"extra": [1]}, "extra"),
        ({"published": "yes"}, "published"),
        ({"title": "a\x00b"}, "title"),
    ],
)
async def test_what_is_wrong_with_a_document_is_named(
    shelf: Library, change: dict[str, Any], param: str
) -> None:
    response = await shelf["ana"].post("/assistants", json={**TUTOR, **change})
    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == param


async def test_a_configuration_that_protobuf_cannot_read_is_refused(shelf: Library) -> None:
    deep: dict[str, Any] = {}
    for _ in range(40):
        deep = {"a": deep}
    response = await shelf["ana"].post(
        "/assistants", json={**TUTOR, "tools": [{"type": "a", "config": deep}]}
    )
    assert response.status_code == 400
    assert "32 levels" in response.json()["error"]["message"]
