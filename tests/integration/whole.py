"""All of Heddle in this process, reached over its own sockets."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gateway.extensions import without_lamb
from heddle_assistants.app import AssistantsSettings
from heddle_connector.app import ConnectorSettings
from heddle_devstack import Stack, StackSettings, stack
from heddle_devstack.settings import DevstackSettings
from heddle_gateway.app import GatewaySettings
from heddle_gateway.http.server import serving
from heddle_knowledge.settings import KnowledgeSettings
from heddle_orchestrator.app import OrchestratorSettings
from heddle_runtime.serving.optional import optional_services
from heddle_tools_service.app import ToolsSettings
from lamb_stand_in.tokens import SECRET
from new_databases import database_in
from pydantic import SecretStr

Transport = Literal["local", "grpc"]
ANYWHERE = "127.0.0.1:0"


@dataclass(frozen=True)
class Whole:
    """A running Heddle."""

    url: str
    stack: Stack
    lamb_url: str = ""
    """Of the LAMB in front of which it is."""


@asynccontextmanager
async def whole(
    folder: Path,
    transport: Transport = "grpc",
    database: str = "",
    *,
    lamb_url: str = "",
    lamb_database: Path | None = None,
    follows: bool = False,
    **gateway: Any,
) -> AsyncGenerator[Whole]:
    """Run everything; assistants and tools come from `folder`/assistants and `folder`/plugins.

    Without the URL of a `database` there is one in `folder`. With the URL of a stand-in for LAMB,
    the gateway is in front of it. The database of LAMB is for imports, or followed. `gateway` are
    further settings of the gateway.
    """
    for name in ("assistants", "plugins", "files", "rubrics"):
        (folder / name).mkdir(exist_ok=True)
    role = "HEDDLE_LAMB_DATABASE" if follows else "lamb_database"
    of_lamb: dict[str, Any] = {role: lamb_database} if lamb_database else {}
    gateway, extensions = without_lamb(
        {"lamb_url": lamb_url, "lamb_jwt_secret": SecretStr(SECRET), **gateway}
    )
    settings = StackSettings(
        devstack=DevstackSettings(transport=transport),
        gateway=GatewaySettings(
            listen=ANYWHERE,
            drain_wait=0,
            **{"development": True, **gateway},
        ),
        orchestrator=OrchestratorSettings(listen=ANYWHERE, drain_wait=0, assistant_cache_seconds=0),
        tools=ToolsSettings(
            listen=ANYWHERE,
            drain_wait=0,
            files_dir=folder / "files",
            rubrics_dir=folder / "rubrics",
            workspace_dir=folder / "workspaces",
            plugins_dir=folder / "plugins",
        ),
        knowledge=KnowledgeSettings(listen=ANYWHERE, drain_wait=0, data_dir=folder / "knowledge"),
        connector=ConnectorSettings(listen=ANYWHERE, drain_wait=0, images_dir=folder / "images"),
        assistants=AssistantsSettings(
            listen=ANYWHERE,
            drain_wait=0,
            assistants_dir=folder / "assistants",
            database=database or database_in(folder),
        ),
        optional={
            name: each.settings_class.model_validate(
                {"listen": ANYWHERE, "drain_wait": 0, **of_lamb}
            )
            for name, each in optional_services().items()
        },
    )
    async with (
        stack(settings, extensions) as running,
        serving(running.gateway, settings.gateway) as address,
    ):
        yield Whole(f"http://{address}", running, lamb_url)


def write_assistant(folder: Path, identifier: str, text: str) -> None:
    """Put an assistant into the folder. `text` is the rest of its document."""
    (folder / "assistants").mkdir(exist_ok=True)
    document = f"id: '{identifier}'\nname: assistant_{identifier}\n{text}"
    (folder / "assistants" / f"{identifier}.yaml").write_text(document)
