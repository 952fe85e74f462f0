"""What editors are offered: less if the operator switches plugins off, and by organisation."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateway.library import library
from gateway.neighbours import Connectors
from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.connector.v1 import connector_pb2
from heddle_runtime.call_metadata import caller
from integration.browser import browser
from integration.whole import whole

LAMB = "/lamb/v1/completions"


@pytest.mark.parametrize(
    ("value", "shown"),
    [("DISABLE", False), (" disable\n", False), ("ENABLE", True), ("", True), ("off", True)],
)
async def test_the_environment_hides_connectors_and_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, *, shown: bool
) -> None:
    monkeypatch.setenv("PLUGIN_BYPASS", value)
    monkeypatch.setenv("PLUGIN_RUBRIC", value)
    async with (
        whole(tmp_path) as running,
        browser(running.url) as client,
    ):
        offered = (await client.get(f"{LAMB}/list")).json()
        assert ("bypass" in offered["connectors"]) is shown
        assert {"rubric", "rubric_rag"} <= set(offered["rag_processors"]) or not shown
        assert ("rubric" in offered["rag_processors"]) is shown
        assert {"simple_rag", "single_file"} <= set(offered["rag_processors"])
        found = await client.get(f"{LAMB}/tools/rubric")
        assert found.status_code == (200 if shown else 404)


async def test_all_of_lambs_rag_processors_are_offered(tmp_path: Path) -> None:
    async with whole(tmp_path) as running, browser(running.url) as client:
        offered = (await client.get(f"{LAMB}/list")).json()["rag_processors"]
    assert {
        "no_rag",
        "single_file_rag",
        "simple_rag",
        "context_aware_rag",
        "hierarchical_rag",
    } <= set(offered)


async def test_tools_that_fill_no_slot_are_no_rag_processors(tmp_path: Path) -> None:
    async with whole(tmp_path) as running, browser(running.url) as client:
        offered = (await client.get(f"{LAMB}/list")).json()
    modes = {tool["name"]: tool["modes"] for tool in offered["tools"]}
    without_slot = {name for name in modes if "augment" not in modes[name]}
    assert {"patch_file", "weather", "mcp"} <= without_slot
    assert without_slot.isdisjoint(offered["rag_processors"])
    assert set(modes) - without_slot <= set(offered["rag_processors"])


class OwnModels(Connectors):
    """Has a model for each organisation, and one for those who come without a key."""

    async def ListModels(self, request: Any, context: Any) -> Any:
        name = f"gpt-{caller().identity.organization or 'open'}"
        ref = ModelRef(connector="openai", model=name)
        return connector_pb2.ListModelsResponse(models=[connector_pb2.Model(ref=ref)])


async def test_organisations_are_offered_their_own_models(tmp_path: Path) -> None:
    async with library(tmp_path, connectors=OwnModels) as shelf:

        async def offered(client: httpx.AsyncClient) -> Sequence[str]:
            found = (await client.get(f"{LAMB}/list")).json()
            models: list[str] = found["connectors"]["openai"]["available_llms"]
            return models

        assert await offered(shelf["ana"]) == ["gpt-uni"]
        assert await offered(shelf["eve"]) == ["gpt-college"]
        del shelf["ben"].headers["authorization"]
        assert await offered(shelf["ben"]) == ["gpt-open"]
