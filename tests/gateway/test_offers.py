"""What editors are offered: less if the operator switches plugins off, and by organisation."""

from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from gateway.library import Library
from heddle_runtime.identity.call_metadata import caller
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


async def test_all_of_lambs_rag_processors_are_offered(operator: httpx.AsyncClient) -> None:
    offered = (await operator.get(f"{LAMB}/list")).json()["rag_processors"]
    assert {
        "no_rag",
        "single_file_rag",
        "simple_rag",
        "context_aware_rag",
        "hierarchical_rag",
    } <= set(offered)


async def test_tools_that_fill_no_slot_are_no_rag_processors(operator: httpx.AsyncClient) -> None:
    offered = (await operator.get(f"{LAMB}/list")).json()
    modes = {tool["name"]: tool["modes"] for tool in offered["tools"]}
    without_slot = {name for name in modes if "augment" not in modes[name]}
    assert {"patch_file", "weather", "mcp"} <= without_slot
    assert without_slot.isdisjoint(offered["rag_processors"])
    assert set(modes) - without_slot <= set(offered["rag_processors"])


async def models(client: httpx.AsyncClient) -> Sequence[str]:
    offered = (await client.get(f"{LAMB}/list")).json()
    names: list[str] = offered["connectors"]["openai"]["available_llms"]
    return names


async def test_organisations_are_offered_their_own_models(scripted_shelf: Library) -> None:
    shelf = scripted_shelf
    shelf.neighbours.connectors.model = lambda: f"gpt-{caller().identity.organization or 'open'}"
    assert await models(shelf["ana"]) == ["gpt-uni"]
    assert await models(shelf["eve"]) == ["gpt-college"]
    del shelf["ben"].headers["authorization"]
    assert await models(shelf["ben"]) == ["gpt-open"]
