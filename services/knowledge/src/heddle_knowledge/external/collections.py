"""Searches collections that are at servers of organisations."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from heddle.account.v1 import account_pb2
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.errors import HeddleError
from heddle_runtime.http.egress import Egress, document_address_problem, server_address
from heddle_runtime.rpc.organization_settings import OrganizationSettings

from heddle_knowledge.collection.types import FORMER_ID, Collection, Mode
from heddle_knowledge.embedders.tracing import traced_embedding
from heddle_knowledge.engines import conditions as to
from heddle_knowledge.errors import (
    BackendError,
    BackendUnavailableError,
    InvalidInputError,
    UnsuitableCollectionError,
)
from heddle_knowledge.external.chroma import DOCUMENT, Chroma
from heddle_knowledge.external.engine import Match, Question, SearchEngine, Server
from heddle_knowledge.external.qdrant import Qdrant
from heddle_knowledge.external.weaviate import Weaviate

if TYPE_CHECKING:  # loads numpy
    from heddle_knowledge.embedders.embedding import Embedder

ENGINES: Mapping[str, SearchEngine] = {each.kind: each for each in (Chroma(), Qdrant(), Weaviate())}
SERVER = "server"
PROPERTIES = ("text", "title", "uri", "page")
"""Settings that name the properties of an entry."""
_MODES = enum_names(pb.SearchMode.DESCRIPTOR)
_RERANKINGS_OF_NONE = frozenset({pb.RERANKING_UNSPECIFIED, pb.RERANKING_NONE})
_MAX_VALUE_CHARACTERS = 1_024
_PROBE = "test"


@dataclass(frozen=True, slots=True)
class ExternalCollections:
    """The collections of all organisations that are at other search engines.

    Attributes:
        http: For servers of the operator's organisation.
        guarded_http: For servers of other organisations.
        egress: The addresses that these may have.
        embedders: Returns the embedding models, the default one first.
        settings: The settings of organisations; None: there are no servers.
        seconds: For the answer of a server.
    """

    http: httpx.AsyncClient
    guarded_http: httpx.AsyncClient
    egress: Egress
    embedders: "Callable[[], Awaitable[Sequence[Embedder]]]"
    settings: OrganizationSettings | None
    seconds: float = 10.0

    async def servers(self, organization: str) -> list[pb.SearchServer]:
        """Return the servers of an organisation by name; none if its settings cannot be had."""
        settings = await self.chosen(organization)
        return [
            pb.SearchServer(name=name, backend=server.kind)
            for name, server in sorted(settings.search_servers.items())
            if server.kind in ENGINES
        ]

    async def embedding_model(self, organization: str) -> str:
        """Return the organisation's choice for new collections; empty if there is none to use."""
        chosen = (await self.chosen(organization)).embedding_model
        known = {each.info().model for each in await self.embedders()} if chosen else ()
        return chosen if chosen in known else ""

    async def check(self, collection: Collection) -> None:
        """Search a new collection, so that none is made that cannot be searched.

        Raises:
            KnowledgeError: It cannot be searched.
        """
        request = pb.SearchCollectionsRequest(query=_PROBE)
        matches, _, _ = await self._matches(collection, request, to.EVERYTHING, 1)
        name = collection.settings.get("text", "")
        if matches and not isinstance(_property(matches[0], name or DOCUMENT), str):
            known = ", ".join(sorted(matches[0].properties)[:20])
            raise InvalidInputError(f"The entries have no text under {name!r}. They have: {known}.")

    async def search(
        self,
        collection: Collection,
        request: pb.SearchCollectionsRequest,
        where: to.Condition,
        top_k: int,
    ) -> pb.CollectionPassages:
        """Return the passages of a collection, and the fields of the request that it ignored.

        Raises:
            KnowledgeError: It cannot be searched so.
        """
        matches, similarities, mode = await self._matches(collection, request, where, top_k)
        passages, compares = [], mode != "text" and bool(request.threshold)
        for match, similarity in zip(matches, similarities, strict=True):
            if not compares or similarity is None or similarity >= request.threshold:
                passages.append(_passage(collection, match, similarity))
        unknown = compares and None in similarities
        return pb.CollectionPassages(
            collection_id=collection.public_id,
            collection_name=collection.name,
            passages=passages,
            ignored_fields=_ignored(request, mode, without_similarity=unknown),
        )

    async def _matches(
        self,
        collection: Collection,
        request: pb.SearchCollectionsRequest,
        where: to.Condition,
        top_k: int,
    ) -> tuple[list[Match], list[float | None], Mode]:
        engine, place = ENGINES[collection.backend], collection.settings
        if where != to.EVERYTHING and not engine.filters:
            raise UnsuitableCollectionError(
                f"Heddle cannot filter what {engine.label} finds. Search without a filter."
            )
        mode = _MODES.get(request.mode, "")
        mode = mode if mode in engine.modes else engine.modes[0]
        vector = await self._vector(collection, request.query) if mode != "text" else None
        entries = _of_entries(where, place)
        question = Question(place[FORMER_ID], request.query, vector, mode, top_k, entries, place)
        server = await self._server(collection)
        matches = await engine.search(server, question)
        return matches, list(_similarities(vector, matches)), mode

    async def _vector(self, collection: Collection, text: str) -> list[float] | None:
        """Return the vector of a question; None if the engine embeds it."""
        if not collection.model:
            return None
        by_name = {each.info().model: each for each in await self.embedders()}
        embedder = by_name.get(collection.model)
        if embedder is None:
            raise BackendError(
                f"The embedding model {collection.model!r} is not set up. The operator can add it."
            )
        vectors = await traced_embedding(embedder.embed([text], "query"), embedder)
        vector: list[float] = vectors[0].tolist()
        return vector

    async def _server(self, collection: Collection) -> Server:
        name = collection.settings[SERVER]
        settings = await self._configured(collection.organization)
        server = settings.search_servers.get(name)
        if server is None or server.kind != collection.backend:
            raise BackendError(
                f"The organisation has no server {name!r} of {ENGINES[collection.backend].label}. "
                "An administrator can add it under search_servers in the organisation's settings."
            )
        if server.collections and collection.settings[FORMER_ID] not in server.collections:
            raise BackendError(
                f"The organisation's settings do not offer this collection of the server {name!r}."
            )
        try:
            url, grpc_url = server_address(server.url), server.grpc_url
            grpc_url = server_address(grpc_url) if grpc_url else ""
        except ValueError as error:
            raise BackendError(f"The address of the server {name!r} {error}.") from None
        own = settings.system
        http = self.http if own else self.guarded_http
        egress = None if own else self.egress
        return Server(name, url, server.api_key, http, egress, grpc_url, self.seconds)

    async def chosen(self, organization: str) -> account_pb2.ResolveSettingsResponse:
        """Return what an organisation has set up; nothing if its settings cannot be had."""
        try:
            return await self._configured(organization)
        except BackendUnavailableError:
            return account_pb2.ResolveSettingsResponse()

    async def _configured(self, organization: str) -> account_pb2.ResolveSettingsResponse:
        if self.settings is None:
            return account_pb2.ResolveSettingsResponse()
        try:
            return await self.settings.of(organization, "")
        except HeddleError as error:
            raise BackendUnavailableError(
                "The organisation's settings cannot be had at the moment. Try again."
            ) from error


def _of_entries(condition: to.Condition, place: Mapping[str, str]) -> to.Condition:
    """Return a condition on documents as one on the properties of entries."""
    match condition:
        case to.All(parts) | to.Some(parts):
            return type(condition)(tuple(_of_entries(each, place) for each in parts))
        case to.Not(other):
            return to.Not(_of_entries(other, place))
        case to.In(column, values):
            return to.Tag(place.get(column) or column, tuple(map(str, values)))
        case to.Ordered(column, "", how, value):
            return to.Ordered(to.LABELS, place.get(column) or column, how, value)
        case to.Compare():
            raise UnsuitableCollectionError(
                "The entries of another search engine have no times. Search without them."
            )
        case _:
            return condition


def _similarities(
    vector: Sequence[float] | None, matches: Sequence[Match]
) -> Iterator[float | None]:
    import numpy as np  # noqa: PLC0415 - as above

    from heddle_knowledge.embedders.embedding import unit  # noqa: PLC0415 - loads numpy

    for match in matches:
        if vector is None or match.vector is None or len(vector) != len(match.vector):
            yield match.similarity
        else:
            yield float(unit(np.array(match.vector)) @ np.array(vector))


def _passage(collection: Collection, match: Match, similarity: float | None) -> pb.Passage:
    names = {each: collection.settings.get(each, "") for each in PROPERTIES}
    values = {each: _property(match, name) for each, name in names.items() if name}
    shown = {DOCUMENT, *names.values()}
    uri, title = str(values.get("uri") or ""), str(values.get("title") or "")
    uri = "" if not uri or document_address_problem(uri) else uri
    text = _property(match, names["text"] or DOCUMENT)
    page = values.get("page")
    return pb.Passage(
        text=text if isinstance(text, str) else "",
        similarity=similarity or 0.0,
        document=title or uri or match.id,
        title=title,
        uri=uri,
        page=int(page) if isinstance(page, int | float) and page > 0 else 0,
        relevance=match.relevance,
        id=match.id,
        metadata={
            name: str(value)[:_MAX_VALUE_CHARACTERS]
            for name, value in match.properties.items()
            if isinstance(value, str | int | float) and name not in shown
        },
    )


def _property(match: Match, path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return a property, or a member of one: `metadata.source`."""
    value: Any = match.properties
    if path in match.properties:
        return match.properties[path]
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _ignored(
    request: pb.SearchCollectionsRequest, mode: Mode, *, without_similarity: bool
) -> list[str]:
    fields = {
        "threshold": without_similarity,
        "mode": bool(request.mode) and _MODES.get(request.mode) != mode,
        "recency_weight": bool(request.recency_weight),
        "vector_weight": request.HasField("vector_weight"),
        "reranking": request.reranking not in _RERANKINGS_OF_NONE,
    }
    return [name for name, ignored in fields.items() if ignored]
