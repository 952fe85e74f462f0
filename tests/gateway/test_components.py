"""`/connectors`, `/prompt-processors` and `/strategies`."""

import pytest
from gateway.conftest import Bench
from gateway.library import Library

PATHS = ("/connectors", "/prompt-processors", "/strategies")


async def test_connectors_have_their_models_and_what_they_can_do(bench: Bench) -> None:
    listed = (await bench.client.get("/connectors")).json()["connectors"]
    by_name = {each["name"]: each for each in listed}
    openai = by_name["openai"]
    assert openai["models"] == [{"id": "gpt-x", "title": "GPT X", "reads": ["image"]}]
    assert (openai["calls_functions"], openai["streams"]) == (True, True)
    bypass = by_name["bypass"]
    assert (bypass["calls_functions"], bypass["available"]) == (False, False)
    assert (openai["debugging"], bypass["debugging"]) == (False, True)
    assert bypass["problem"] == "Give it a key."


async def test_only_administrators_read_why_a_connector_is_not_available(
    scripted_shelf: Library,
) -> None:
    problems = {}
    for person in ("ana", "head", "root"):
        listed = (await scripted_shelf[person].get("/connectors")).json()["connectors"]
        [bypass] = [each for each in listed if each["name"] == "bypass"]
        assert not bypass["available"]
        problems[person] = bypass["problem"]
    assert problems == {"ana": None, "head": None, "root": "Give it a key."}


async def test_strategies_and_processors_have_the_schemas_of_their_settings(bench: Bench) -> None:
    strategies = (await bench.client.get("/strategies")).json()["strategies"]
    assert [each["name"] for each in strategies] == ["parallel", "sequential"]
    assert strategies[0]["settings_schema"] == {"type": "object"}
    [processor] = (await bench.client.get("/prompt-processors")).json()["prompt_processors"]
    assert processor["slots"] == ["moodle_user"]
    assert processor["settings_schema"] == {"type": "object"}


@pytest.mark.parametrize("path", PATHS)
async def test_the_lists_need_a_key(shelf: Library, path: str) -> None:
    assert (await shelf["ana"].get(path)).status_code == 200
    assert (await shelf["ana"].get(path, headers={"authorization": ""})).status_code == 401
