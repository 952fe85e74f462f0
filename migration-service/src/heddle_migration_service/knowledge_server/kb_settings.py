"""What LAMB's settings page asks of its knowledge-base server."""

from typing import Annotated, Any

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_gateway.admin.health import service_reports
from heddle_gateway.http.models import Model, identifier
from heddle_gateway.openai.vector_stores import collections
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call
from heddle_runtime.errors import InvalidRequestError, Violation
from pydantic import Field

from heddle_migration_service.knowledge_server.knowledge_bases import (
    TAG,
    CollectionList,
    CollectionQuery,
    list_collections,
    view,
)

Owner = Annotated[str, identifier("LAMB's number of the user.")]
VENDOR = "heddle"
_ASSISTANTS = "assistants"
_REFRESH_SECONDS = 3
"""An ingestion takes seconds, and LAMB asks for each job."""
routes = Routes(TAG)


class IngestionSettings(Model):
    """How LAMB shows ingestions."""

    refresh_rate: int = Field(description="Seconds between two requests for the state of a job.")


class EmbeddingsChange(Model):
    """The embeddings that LAMB wants. Only those that apply already are accepted."""

    vendor: str | None = None
    model: str | None = None
    api_endpoint: str | None = None
    apikey: str | None = None


class EmbeddingsSettings(Model):
    """The embeddings of new collections, which the operator of Heddle sets."""

    vendor: str
    model: str
    api_endpoint: str | None = None
    apikey_configured: bool = False
    apikey_masked: str | None = None
    config_source: str = Field(default="env", description="Always the operator's environment.")


class NewKey(Model):
    """The key of a provider of embeddings."""

    apikey: str = Field(description="Not stored: Heddle's embeddings need no key.")


class KeyChange(Model):
    """A key for all collections of an owner."""

    embeddings_model: NewKey


class NamedCollection(Model):
    """A collection."""

    id: int
    name: str


class KeyChanges(Model):
    """The collections that have the key, which are all of the owner."""

    total: int
    updated: int
    failed: int = 0
    collections: list[NamedCollection]


class Message(Model):
    """What happened."""

    message: str


class DatabaseState(Model):
    """Whether the database can be used."""

    initialized: bool
    schema_valid: bool
    errors: list[str]


class VectorDatabaseState(Model):
    """Whether the store of passages can be used."""

    initialized: bool
    collections_count: int


class DatabaseStatus(Model):
    """The state of Heddle's databases under the names of LAMB's."""

    sqlite_status: DatabaseState
    chromadb_status: VectorDatabaseState
    collections_count: int = Field(description="The collections that the key may read.")


@routes.get("/api/collections", errors=(400,))
async def api_collections(api: Call, query: CollectionQuery) -> CollectionList:
    """List the collections that the key may read, as `/collections` does."""
    return await list_collections(api, query)


@routes.get("/config/ingestion")
async def ingestion_settings(_: Call) -> IngestionSettings:
    """Get how LAMB shows ingestions."""
    return IngestionSettings(refresh_rate=_REFRESH_SECONDS)


@routes.get("/config/embeddings")
async def embeddings(api: Call) -> EmbeddingsSettings:
    """Get the embeddings of new collections."""
    request = pb.GetCollectionOptionsRequest()
    options = await call(api.services.knowledge.GetCollectionOptions, request)
    return EmbeddingsSettings(vendor=VENDOR, model=next(iter(options.embedding_models), ""))


@routes.put("/config/embeddings")
async def change_embeddings(api: Call, body: EmbeddingsChange) -> Message:
    """Accept the embeddings that apply already. Others get 400: only the operator can set them."""
    current: dict[str, Any] = (await embeddings(api)).model_dump()
    requested = body.model_dump(exclude_none=True)
    if different := [name for name, value in requested.items() if value != current.get(name, "")]:
        violations = [Violation(name, "is set by the operator of Heddle") for name in different]
        raise InvalidRequestError("The embeddings cannot be changed here.", violations)
    return Message(message="The embeddings have not changed.")


@routes.delete("/config/embeddings")
async def reset_embeddings(_: Call) -> Message:
    """Do nothing: the embeddings are always those of the operator's environment."""
    return Message(message="The embeddings are those of the operator's environment.")


@routes.put("/collections/owner/{owner}/embeddings", errors=(400,))
async def change_keys(api: Call, owner: Owner, body: KeyChange) -> KeyChanges:
    """Accept a key for the collections of a user of LAMB. It has no effect."""
    del body
    views = [view(each) for each in await collections(api.services)]
    named = [NamedCollection(id=it.id, name=it.name) for it in views if it.owner == owner]
    return KeyChanges(total=len(named), updated=len(named), collections=named)


@routes.get("/database/status")
async def database_status(api: Call) -> DatabaseStatus:
    """Get the state of Heddle's databases: of assistants and accounts, and of passages."""
    count = len(await collections(api.services))
    report = (await service_reports(api)).get(_ASSISTANTS)
    ready = report is not None and report.ready
    errors = [] if ready else ["The assistants service is not ready."]
    return DatabaseStatus(
        sqlite_status=DatabaseState(initialized=ready, schema_valid=ready, errors=errors),
        chromadb_status=VectorDatabaseState(initialized=True, collections_count=count),
        collections_count=count,
    )
