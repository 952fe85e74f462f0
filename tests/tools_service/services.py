"""The tools service and the knowledge service as they are put together."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from heddle.knowledge.v1 import knowledge_pb2_grpc
from heddle.tool.v1 import tool_pb2_grpc
from heddle_knowledge.app import app as knowledge_app
from heddle_knowledge.service.extensions import OpenSource
from heddle_knowledge.settings import KnowledgeSettings
from heddle_runtime.serving.server import Running, running
from heddle_tools_service.app import ToolsSettings
from heddle_tools_service.app import app as tools_app
from optional_member import IS_INSTALLED
from tools_service.serving import Client

SHARED = frozenset({"assistants_address", "providers", "HEDDLE_IDENTITY_SECRET"})
SERVERS = frozenset(
    {
        *("kb_url", "kb_token", "kb_shared"),
        *("LAMB_KB_SERVER_V2", "LAMB_KB_SERVER_V2_TOKEN"),
    }
)
"""Settings of the searches at LAMB's servers."""


@dataclass(frozen=True)
class Services:
    """Both services of one process."""

    tools: Running
    knowledge: Running

    @property
    def client(self) -> Client:
        return Client(tool_pb2_grpc.ToolServiceStub(self.tools.local))

    @property
    def knowledge_stub(self) -> Any:
        return knowledge_pb2_grpc.KnowledgeServiceStub(self.knowledge.local)


def _sources(settings: Mapping[str, Any]) -> list[OpenSource]:
    """Return the extension that searches at LAMB's servers."""
    from heddle_migration_service.knowledge_extension import open_servers  # noqa: PLC0415 - optional
    from heddle_migration_service.searches.settings import SearchSettings  # noqa: PLC0415 - optional

    return [partial(open_servers, settings=SearchSettings.model_validate(settings))]


@asynccontextmanager
async def services(
    folder: Path, tools: Mapping[str, Any] | None = None, /, **knowledge: Any
) -> AsyncGenerator[Services]:
    """Run both. What both know is given once, among the settings of the knowledge service."""
    base = {"listen": "127.0.0.1:0", "drain_wait": 0}
    of_servers = {name: knowledge.pop(name) for name in SERVERS & knowledge.keys()}
    sources = _sources(of_servers) if IS_INSTALLED else []
    own = KnowledgeSettings.model_validate({**base, "data_dir": folder / "knowledge", **knowledge})
    shared = {name: value for name, value in knowledge.items() if name in SHARED}
    theirs = ToolsSettings.model_validate({**base, **shared, **(tools or {})})
    async with (
        running(knowledge_app(own, extensions=sources), own) as knowing,
        running(tools_app(theirs, knowledge=knowing.local), theirs) as working,
    ):
        yield Services(working, knowing)
