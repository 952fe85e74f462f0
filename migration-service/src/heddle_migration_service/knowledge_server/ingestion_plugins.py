"""LAMB's plugins: the only place that names those that ingest."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

from heddle_gateway.http.models import Model
from heddle_gateway.routing import Call, Routes
from pydantic import AfterValidator, BaseModel, Field

from heddle_migration_service.knowledge_server.ingestion_parameters import (
    FileParameters,
    HierarchicalParameters,
    Parameters,
    PlusParameters,
)
from heddle_migration_service.knowledge_server.ingestion_sources import (
    TextParameters,
    UrlParameters,
    VideoParameters,
)
from heddle_migration_service.knowledge_server.knowledge_bases import TAG
from heddle_migration_service.knowledge_server.query_plugins import QUERY_PLUGINS

Kind = Literal["file-ingest", "base-ingest", "remote-ingest"]
_MEMBERS = {
    "type": "type",
    "description": "description",
    "default": "default",
    "enum": "enum",
    "minimum": "min",
    "maximum": "max",
}
"""Keywords of a JSON schema and LAMB's members of a parameter."""
_FILE_TYPES = (
    *("csv", "docx", "htm", "html", "json", "log", "md", "pdf", "srt", "tsv", "txt", "vtt"),
    *("xhtml", "xml", "yaml", "yml"),
)
routes = Routes(TAG)


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin that ingests."""

    description: str
    parameters: type[Parameters]
    kind: Kind = "file-ingest"

    @property
    def file_types(self) -> tuple[str, ...]:
        """The endings of the files that it reads."""
        return _FILE_TYPES if self.kind == "file-ingest" else ("txt",)


PLUGINS: Mapping[str, Plugin] = MappingProxyType({
    "simple_ingest": Plugin("Reads a file by its type: Markdown, HTML, PDF.", FileParameters),
    "markitdown_ingest": Plugin("Reads a file as simple_ingest does.", FileParameters),
    "markitdown_plus_ingest": Plugin("Reads a file as simple_ingest does.", PlusParameters),
    "hierarchical_ingest": Plugin(
        "Reads a file as simple_ingest does, with a size for the sections of parent_child_query.",
        HierarchicalParameters,
    ),
    "url_ingest": Plugin("Fetches documents of the web.", UrlParameters, "base-ingest"),
    "base_ingest": Plugin("Reads the text of a parameter.", TextParameters, "base-ingest"),
    "youtube_transcript_ingest": Plugin(
        "Reads transcripts of YouTube videos.", VideoParameters, "remote-ingest"
    ),
})  # fmt: skip
DEFAULT = "simple_ingest"


def _known(name: str) -> str:
    if name not in PLUGINS:
        raise ValueError(f"must be one of {', '.join(PLUGINS)}")
    return name


PluginName = Annotated[
    str, AfterValidator(_known), Field(json_schema_extra={"enum": list(PLUGINS)})
]


class PluginInfo(Model):
    """A plugin."""

    name: str
    description: str
    parameters: dict[str, dict[str, Any]] = Field(
        description="By name: its `type`, `description`, `default`, whether it is `required`, and "
        "where it has them, `enum`, `min` and `max`."
    )


class IngestionPlugin(PluginInfo):
    """A plugin that ingests."""

    kind: Kind
    supported_file_types: tuple[str, ...]


@routes.get("/query/plugins")
async def query_plugins(_: Call) -> list[PluginInfo]:
    """List the search plugins."""
    return [
        PluginInfo(
            name=name,
            description=plugin.description,
            parameters=_parameters(plugin.parameters),
        )
        for name, plugin in QUERY_PLUGINS.items()
    ]


@routes.get("/ingestion/plugins")
async def ingestion_plugins(_: Call) -> list[IngestionPlugin]:
    """List the plugins that ingest, with the parameters that have an effect."""
    return [
        IngestionPlugin(
            name=name,
            description=plugin.description,
            kind=plugin.kind,
            supported_file_types=plugin.file_types,
            parameters=_parameters(plugin.parameters),
        )
        for name, plugin in PLUGINS.items()
    ]


def _parameters(model: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """Return the parameters of a model in LAMB's form."""
    schema = model.model_json_schema()
    return {
        name: {lamb: member[ours] for ours, lamb in _MEMBERS.items() if ours in member}
        | {"required": name in schema.get("required", ())}
        for name, member in schema["properties"].items()
    }
