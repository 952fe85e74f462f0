"""Which small model does a task of Open WebUI's, and who pays for it."""

from pathlib import Path
from typing import Any

import pytest
from gateway.accounts import ANN, Bench, gateway
from gateway.conftest import KEY
from gateway.tasks import METADATA, TITLE
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle_runtime.errors import UnavailableError
from heddle_runtime.identity.callers import Identity

SMALL = {"setups": {"default": {"small_fast_model": {"provider": "openai", "model": "tiny"}}}}
ENVIRONMENT = "ollama/tiny/1b"


def keep(bench: Bench, **members: str) -> None:
    """Let the only assistant be this one."""
    own = ModelRef(connector="openai", model="large")
    bench.neighbours.assistants.kept = (Assistant(id="1", model=own, **members),)  # type: ignore[arg-type] # texts only


async def title(bench: Bench, key: str) -> Assistant:
    """Ask for a title; return the assistant that was to write it."""
    response = await bench.chat(key, **TITLE, metadata=METADATA)
    assert response.status_code == 200, response.text
    return bench.neighbours.orchestrator.requests[-1].assistant


def model(found: Assistant) -> str:
    return f"{found.model.connector}/{found.model.model}"


@pytest.mark.parametrize("owner", [{"organization": "uni"}, {"owner": ANN}])
async def test_the_owners_organisation_comes_first_and_pays(
    tmp_path: Path, transport: str, owner: dict[str, str]
) -> None:
    async with gateway(tmp_path, transport, small_model=ENVIRONMENT) as bench:
        await bench.organization("uni", **SMALL)
        keep(bench, **owner)
        found = await title(bench, KEY)
        assert model(found) == "openai/tiny"
        assert {"organization": found.organization, "owner": found.owner} == {
            "organization": "",
            "owner": "",
            **owner,
        }
        assert bench.callers == [Identity("heddle-gateway", scopes=("service",))]


DEFAULT = {"global_default_model": {"provider": "openai", "model": "writer"}}
DRAWS = {"small_fast_model": {"provider": "banana_img", "model": "gemini-image"}}


@pytest.mark.parametrize(
    ("settings", "environment", "expected"),
    [
        (SMALL["setups"]["default"], "", "openai/tiny"),
        ({**DRAWS, **DEFAULT}, ENVIRONMENT, ENVIRONMENT),
        (DEFAULT, "", "openai/writer"),
    ],
)
async def test_no_model_that_makes_pictures_writes_a_title(
    tmp_path: Path, transport: str, settings: dict[str, Any], environment: str, expected: str
) -> None:
    async with gateway(tmp_path, transport, small_model=environment) as bench:
        await bench.organization("uni", setups={"default": settings})
        draws = ModelRef(connector="banana_img", model="gemini-image")
        bench.neighbours.assistants.kept = (Assistant(id="1", model=draws, organization="uni"),)
        assert model(await title(bench, KEY)) == expected


async def test_without_a_model_that_writes_a_title_fails_and_says_what_to_set(
    tmp_path: Path, transport: str
) -> None:
    async with gateway(tmp_path, transport) as bench:
        await bench.organization("uni", setups={"default": DRAWS})
        draws = ModelRef(connector="banana_img", model="gemini-image")
        bench.neighbours.assistants.kept = (Assistant(id="1", model=draws, organization="uni"),)
        response = await bench.chat(KEY, **TITLE, metadata=METADATA)
        assert response.status_code == 501
        assert "HEDDLE_GATEWAY_SMALL_MODEL" in response.json()["error"]["message"]
        assert not bench.neighbours.orchestrator.requests


@pytest.mark.parametrize(("environment", "status"), [("", 503), (ENVIRONMENT, 200)])
async def test_settings_that_cannot_be_had_fail_a_title_only_if_it_needs_them(
    tmp_path: Path, transport: str, environment: str, status: int
) -> None:
    async with gateway(tmp_path, transport, small_model=environment) as bench:
        draws = ModelRef(connector="banana_img", model="gemini-image")
        bench.neighbours.assistants.kept = (Assistant(id="1", model=draws, organization="uni"),)
        bench.accounts.failure = UnavailableError("The database is away.")
        response = await bench.chat(KEY, **TITLE, metadata=METADATA)
        assert response.status_code == status


async def test_the_callers_organisation_decides_where_the_assistant_is_nobodys(
    tmp_path: Path, transport: str
) -> None:
    async with gateway(tmp_path, transport, small_model=ENVIRONMENT) as bench:
        await bench.organization("uni", **SMALL)
        keep(bench)
        found = await title(bench, (await bench.key(user=ANN)).secret)
        assert (model(found), found.organization) == ("openai/tiny", "uni")
        found = await title(bench, KEY)  # the operator's, whose organisation has none
        assert (model(found), found.organization) == (ENVIRONMENT, "")


@pytest.mark.parametrize(
    ("environment", "expected"), [(ENVIRONMENT, ENVIRONMENT), ("", "openai/large")]
)
async def test_without_one_of_the_organisation_the_environments_and_then_the_own_does(
    tmp_path: Path, transport: str, environment: str, expected: str
) -> None:
    async with gateway(tmp_path, transport, small_model=environment) as bench:
        keep(bench, organization="uni")
        found = await title(bench, KEY)
        assert (model(found), found.organization) == (expected, "uni")


async def test_only_tasks_ask_for_settings_and_once_in_two_seconds(
    tmp_path: Path, transport: str
) -> None:
    async with gateway(tmp_path, transport) as bench:
        await bench.organization("uni", **SMALL)
        keep(bench, organization="uni")
        for _ in range(3):
            assert (await bench.chat(KEY)).status_code == 200
        assert bench.accounts.calls == []
        for _ in range(3):
            await title(bench, KEY)
        assert bench.accounts.calls
        for calls in bench.accounts.calls_of_each.values():
            [(name, request)] = calls
            assert (name, request.organization, request.without_servers) == (
                "ResolveSettings",
                "uni",
                True,
            )


async def test_a_title_is_written_also_while_settings_cannot_be_had(
    tmp_path: Path, transport: str
) -> None:
    async with gateway(tmp_path, transport, small_model=ENVIRONMENT) as bench:
        keep(bench, organization="uni")
        bench.accounts.failure = UnavailableError("Down.")
        assert model(await title(bench, KEY)) == ENVIRONMENT


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, {"rag_processor": "no_rag", "connector": "openai", "llm": "gpt-x", "RAG_Top_k": 3}),
        (
            {"assistant_defaults": {"rag_processor": "No RAG", "RAG_Top_k": 7, "language": "eu"}},
            {"rag_processor": "No RAG", "RAG_Top_k": 7, "language": "eu", "llm": "gpt-x"},
        ),
        (
            {"assistant_defaults": {"connector": "ollama", "llm": "llama", "system_prompt": None}},
            {"connector": "ollama", "llm": "llama", "system_prompt": ""},
        ),
        (
            {"assistant_defaults": {"connector": "bypass"}},
            {"connector": "bypass", "llm": ""},
        ),
        (
            {
                "assistant_defaults": {"RAG_Top_k": 7},
                "setups": {
                    "default": {
                        "assistant_defaults": {"RAG_Top_k": 5, "llm": "", "api_key": "sk-secret"},
                        "global_default_model": {"provider": "ollama", "model": "llama"},
                    }
                },
            },
            {"RAG_Top_k": 7, "connector": "ollama", "llm": "llama", "api_key": "********"},
        ),
        ({"assistant_defaults": ["x"]}, {"rag_processor": "no_rag"}),
        ({"assistant_defaults": {"RAG_Top_k": "5", "rag_placeholders": "x"}}, {"RAG_Top_k": 5}),
    ],
)
async def test_an_editor_starts_with_what_the_organisation_says(
    tmp_path: Path, said: dict[str, Any], expected: dict[str, Any]
) -> None:
    async with gateway(tmp_path, "local") as bench:
        await bench.organization("uni", **said)
        key = (await bench.key(user=ANN)).secret
        response = await bench.client.get(
            "/creator/assistant/defaults", headers={"authorization": f"Bearer {key}"}
        )
        told = response.json()
        assert {name: told[name] for name in expected} == expected
        assert "{user_input}" in told["prompt_template"]
        mine = await bench.client.get(
            "/creator/assistant/defaults", headers={"authorization": f"Bearer {KEY}"}
        )
        assert (mine.json()["RAG_Top_k"], mine.json()["llm"]) == (3, "gpt-x")
