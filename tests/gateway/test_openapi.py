"""What the gateway tells about itself, and whether it keeps its word."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from gateway.conftest import KEY, Bench
from gateway.library import library
from heddle_assistants.app import AssistantsSettings
from heddle_connector.app import ConnectorSettings
from heddle_devstack import StackSettings, stack
from heddle_devstack.settings import DevstackSettings
from heddle_gateway.app import GatewaySettings
from heddle_gateway.app.operations import document, operations
from heddle_gateway.extensions import installed
from heddle_gateway.http.operations import Access
from heddle_gateway.http.server import serving
from heddle_knowledge.settings import KnowledgeSettings
from heddle_orchestrator.app import OrchestratorSettings
from heddle_runtime.serving.optional import optional_services
from heddle_tools_service.app import ToolsSettings
from integration.browser import browser
from integration.whole import write_assistant
from runtime.examples import repetitions

from gateway import replicas

EXAMPLE = "model: {connector: bypass, model: simple-bypass}\nowner: ana@example.org\n"
CONFIG = Path(__file__).with_name("schemathesis.toml")


def described() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the description of each operation by method and path."""
    return {
        (method.upper(), path): operation
        for path, methods in document(installed())["paths"].items()
        for method, operation in methods.items()
    }


def test_every_route_is_described_and_nothing_else() -> None:
    routes = {(each.method, each.path.replace(":path", "")) for each in operations(installed())}
    assert set(described()) == routes
    assert len(routes) == len(operations(installed()))


def test_the_description_states_who_may_call() -> None:
    security: dict[Access, Any] = {
        Access.OPEN: [],
        Access.OPTIONAL: [{}, {"key": []}, {"session": []}],
        Access.KEY: document(installed())["security"],
    }
    descriptions = described()
    for operation in operations(installed()):
        description = descriptions[operation.method, operation.path.replace(":path", "")]
        expected = security[operation.access]
        default = document(installed())["security"]
        assert description.get("security", default) == expected, operation.name


def test_every_operation_and_parameter_is_explained() -> None:
    for operation in described().values():
        assert operation["summary"].endswith(".")
        assert operation["tags"]
        for parameter in operation.get("parameters", []):
            assert parameter["description"]


async def test_the_description_needs_no_key(bench: Bench) -> None:
    response = await bench.client.get("/openapi.json", headers={"authorization": ""})
    assert response.json() == json.loads(json.dumps(document(installed())))
    assert response.json()["openapi"] == "3.1.0"


@asynccontextmanager
async def heddle(folder: Path) -> AsyncGenerator[str]:
    """Run all of Heddle with a few assistants, and yield its address."""
    if replicas.INSTALLATION:
        async with library(folder, api_key=KEY) as shelf:
            await make_assistants(f"http://{shelf.address}")
            yield f"http://{shelf.address}"
        return
    for name in ("plugins", "files", "rubrics"):
        (folder / name).mkdir()
    write_assistant(folder, "1", EXAMPLE)
    quiet: dict[str, Any] = {"listen": "127.0.0.1:0", "drain_wait": 0}
    settings = StackSettings(
        devstack=DevstackSettings(),
        gateway=GatewaySettings.model_validate({**quiet, "api_key": KEY}),
        orchestrator=OrchestratorSettings(**quiet),
        tools=ToolsSettings(
            **quiet,
            files_dir=folder / "files",
            rubrics_dir=folder / "rubrics",
            plugins_dir=folder / "plugins",
        ),
        knowledge=KnowledgeSettings(**quiet, data_dir=folder / "knowledge"),
        connector=ConnectorSettings(**quiet),
        optional={"migration": optional_services()["migration"].settings_class(**quiet)},
        assistants=AssistantsSettings(
            **quiet,
            assistants_dir=folder / "assistants",
            database=f"sqlite:///{folder}/heddle.db",
        ),
    )
    async with stack(settings) as running, serving(running.gateway, settings.gateway) as address:
        url = f"http://{address}"
        await make_assistants(url)
        yield url


async def make_assistants(url: str) -> None:
    async with browser(url, KEY) as client:
        for name in ("one", "two", "three"):
            model = {"connector": "bypass", "model": "simple-bypass"}
            body = {"name": name, "model": model, "published": True}
            (await client.post("/assistants", json=body)).raise_for_status()


def quick_to_try() -> dict[str, Any]:
    """Return the description without a bound whose values take longer to make than all others.

    Thirty-odd filters in one, each of which nests: tests/gateway/test_search_filters.py has them.
    """
    told: dict[str, Any] = json.loads(json.dumps(document(installed())))
    assert told["components"]["schemas"]["Compound"]["properties"]["filters"].pop("maxItems") == 32
    return told


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
@pytest.mark.parametrize("phases", ["coverage,stateful", "examples", "fuzzing"])
async def test_the_gateway_keeps_its_word_whatever_it_is_sent(phases: str, tmp_path: Path) -> None:
    """Let schemathesis send what the description allows, and what it does not."""
    home = tmp_path / "schemathesis"  # where it leaves its notes
    home.mkdir()
    (home / "openapi.json").write_text(json.dumps(quick_to_try()))
    async with heddle(tmp_path) as url:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "schemathesis.cli"),
            *("--config-file", str(CONFIG), "run", "openapi.json", "--url", url),
            *("--header", f"Authorization: Bearer {KEY}", "--phases", phases),
            *(
                "--max-examples",
                str(repetitions(5)),
                "--seed",
                "1",
                "--no-shrink",
                "--workers",
                "1",
            ),
            cwd=home,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
    report = output.decode()
    assert process.returncode == 0, report
    if phases != "examples":  # which skips operations without examples
        assert f"Tested: {len(described())}\n" in report
