"""Models, health and LAMB's lists."""

from importlib.metadata import version

import pytest
from gateway.conftest import KEY, Bench, Start
from optional_member import of_member

LAMB = "/lamb/v1/completions"


@pytest.mark.parametrize("path", ["/v1/models", "/models"])
async def test_assistants_are_listed_as_models(bench: Bench, path: str) -> None:
    listed = (await bench.client.get(path)).json()
    assert listed["object"] == "list"
    assert listed["data"][0] == {
        "id": "lamb_assistant.1",
        "object": "model",
        "created": 1_700_000_000,
        "owned_by": "lamb_v4",
        "name": "Biology tutor",
        "description": "Helps.",
        "parent": None,
        "capabilities": {"vision": True, "image_generation": False},
        "info": {
            "meta": {
                "description": "Helps.",
                "capabilities": {
                    "builtin_tools": False,
                    "usage": True,
                    "citations": True,
                    "vision": True,
                },
            }
        },
    }
    assert listed["data"][1]["name"] == "tutor_2"


@pytest.mark.parametrize(
    ("query", "ids", "has_more"),
    [
        ({}, ["1", "2"], False),
        ({"limit": 1}, ["1"], True),
        ({"limit": 2}, ["1", "2"], False),
        ({"limit": 1, "after": "lamb_assistant.1"}, ["2"], False),
        ({"after": "2"}, [], False),
    ],
)
async def test_models_come_in_pages(
    bench: Bench, query: dict[str, str | int], ids: list[str], has_more: bool
) -> None:
    page = (await bench.client.get("/v1/models", params=query)).json()
    assert [each["id"].rpartition(".")[2] for each in page["data"]] == ids
    assert page["has_more"] is has_more


@pytest.mark.parametrize("query", [{"limit": "a"}, {"limit": -1}, {"limit": 1001}, {"after": "9"}])
async def test_a_wrong_page_of_models_is_refused(bench: Bench, query: dict[str, str | int]) -> None:
    response = await bench.client.get("/v1/models", params=query)
    assert (response.status_code, response.json()["error"]["param"]) == (400, next(iter(query)))


async def test_one_model_can_be_looked_up(bench: Bench) -> None:
    ids = await bench.client.get("/v1/models/lamb_assistant.2")
    assert ids.json()["id"] == "lamb_assistant.2"
    missing = await bench.client.get("/v1/models/lamb_assistant.9")
    assert missing.status_code == 404
    assert missing.json()["error"]["param"] == "model"


@pytest.mark.parametrize("path", ["/v1", "/status"])
async def test_lambs_sign_of_life_needs_no_key(bench: Bench, path: str) -> None:
    response = await bench.client.get(path, headers={"authorization": ""})
    assert response.json() == {"status": True}


async def test_health_names_every_service_and_counts_broken_plugins(bench: Bench) -> None:
    response = await bench.client.get("/health", headers={"authorization": ""})
    assert response.status_code == 200
    assert response.json() == {
        "status": "ok",
        "version": version("heddle-gateway"),
        "services": dict.fromkeys(
            ("orchestrator", "tools", "knowledge", "connector", "assistants", "migration"), True
        ),
        "problems": 6,  # the server of the tests serves all six, and each reports its plugin
    }


async def test_the_details_of_health_name_the_problem_for_operators(
    bench: Bench, transport: str
) -> None:
    services = (await bench.client.get("/health/details")).json()["services"]
    (plugins,) = [each for each in services["tools"]["components"] if each["name"] == "plugins"]
    assert plugins == {"name": "plugins", "ready": True, "problem": "folder:x.py: ?", "summary": ""}
    replicas = services["tools"]["replicas"]
    assert {each["problem"] for each in replicas} == {"plugins: folder:x.py: ?"}
    assert all(each["ready"] and each["version"] for each in replicas)
    local = transport == "local"
    assert all(bool(each["address"]) is not local for each in replicas)
    refused = await bench.client.get("/health/details", headers={"authorization": ""})
    assert refused.status_code == 401


@of_member
async def test_tools_are_listed_for_both_of_lambs_clients(bench: Bench) -> None:
    listed = (await bench.client.get(f"{LAMB}/tools")).json()
    assert listed["count"] == 3
    assert listed["tools"][1] == {
        "name": "simple_rag",
        "display_name": "Knowledge base",
        "label": "Knowledge base",
        "description": "Does Knowledge base.",
        "placeholder": "context",
        "category": "rag",
        "config_schema": {"type": "object", "properties": {"b": {}, "a": {}}},
        "version": "1.0",
        "function_name": "use_simple_rag",
        "modes": ["augment", "function"],
        "connectors": {"augment": ["bypass", "openai"], "function": ["openai"]},
        "effect": "destructive",
        "functions": [
            {
                "type": "function",
                "function": {
                    "name": "use_simple_rag",
                    "description": "Looks up.",
                    "parameters": {"type": "object"},
                },
            }
        ],
    }
    assert list(listed["tools"][1]["config_schema"]["properties"]) == ["b", "a"]
    assert (await bench.client.get(f"{LAMB}/tools/simple_rag")).json() == listed["tools"][1]


@of_member
@pytest.mark.parametrize(("method", "path"), [("GET", "x"), ("POST", "x/validate")])
async def test_a_missing_tool_is_told_in_both_forms(bench: Bench, method: str, path: str) -> None:
    response = await bench.client.request(method, f"{LAMB}/tools/{path}", content=b"{}")
    assert response.status_code == 404
    assert response.json()["detail"] == "Tool 'x' not found"
    assert response.json()["error"]["code"] == "not_found"


@of_member
async def test_a_configuration_is_validated_with_all_its_errors(bench: Bench) -> None:
    path = f"{LAMB}/tools/rubric/validate"
    assert (await bench.client.post(path, json={})).json() == {"valid": True, "errors": []}
    wrong = (await bench.client.post(path, json={"a": 1, "b": 2})).json()
    assert wrong["valid"] is False
    assert sorted(wrong["errors"]) == ["config.a: is not known", "config.b: is not known"]
    huge = await bench.client.post(path, content=b'{"a":12345678901234567890}')
    assert huge.status_code == 400
    assert (await bench.client.post(path, json=[])).status_code == 400


@of_member
async def test_editors_get_everything_in_one_list(bench: Bench) -> None:
    assert (await bench.client.get(f"{LAMB}/list")).json() == {
        "prompt_processors": ["simple_augment"],
        "connectors": {
            "bypass": {
                "name": "bypass",
                "available_llms": [],
                "models": [],
                "calls_functions": False,
            },
            "openai": {
                "name": "openai",
                "available_llms": ["gpt-x"],
                "models": [{"id": "gpt-x", "name": "GPT X"}],
                "calls_functions": True,
            },
        },
        "rag_processors": ["rubric", "simple_rag", "single_file", "rubric_rag", "single_file_rag"],
        "tools": (await bench.client.get(f"{LAMB}/tools")).json()["tools"],
    }


@of_member
async def test_strategies_are_listed(bench: Bench) -> None:
    assert (await bench.client.get(f"{LAMB}/orchestrators")).json() == {
        "orchestrators": [
            {"name": "parallel", "description": "All at once."},
            {"name": "sequential", "description": "One by one."},
        ]
    }


async def test_no_server_header_betrays_the_software(start: Start) -> None:
    async with start() as bench:
        response = await bench.client.get("/status", headers={"authorization": f"Bearer {KEY}"})
        assert "server" not in response.headers
