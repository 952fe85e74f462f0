"""Qdrant, by its official client, over HTTP."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import httpx
from heddle_runtime.http.remote_json import (
    RemoteError,
    RemoteUnavailableError,
    exchange,
    reason_in,
)

from heddle_knowledge.collection.types import Mode
from heddle_knowledge.engines import conditions as to
from heddle_knowledge.errors import (
    BackendError,
    BackendUnavailableError,
    UnsuitableCollectionError,
)
from heddle_knowledge.external.engine import Match, Question, SearchEngine, Server

if TYPE_CHECKING:  # an optional package
    from qdrant_client import AsyncQdrantClient
    from qdrant_client.models import Filter

_ORDERS: Mapping[to.How, str] = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


class Qdrant(SearchEngine):
    """Searches by meaning. Words need sparse vectors, which Heddle cannot make."""

    kind: ClassVar[str] = "qdrant"
    label: ClassVar[str] = "Qdrant"
    settings: ClassVar[frozenset[str]] = frozenset({"vector"})
    modes: ClassVar[tuple[Mode, ...]] = ("vector",)

    async def search(self, server: Server, question: Question) -> list[Match]:
        """Return the best matches; see `SearchEngine`."""
        try:
            from qdrant_client import AsyncQdrantClient  # noqa: PLC0415 - optional and slow
            from qdrant_client.http.exceptions import (  # noqa: PLC0415 - as above
                ResponseHandlingException,
                UnexpectedResponse,
            )
        except ImportError:
            raise BackendError(
                "The client of Qdrant is not installed. The operator adds it with the extra "
                "heddle-knowledge[qdrant]."
            ) from None
        client = AsyncQdrantClient(
            url=server.url,
            port=None,
            metadata={"api-key": server.key} if server.key else {},
            check_compatibility=False,
            transport=_Bounded(server),
        )
        try:
            return await matches(client, question)
        except UnexpectedResponse as error:
            body = None
            with suppress(ValueError):
                body = json.loads(error.content)
            reason = reason_in(body.get("status", body) if isinstance(body, dict) else body, "")
            raise server.refusal(error.status_code or 0, reason) from None
        except ResponseHandlingException as error:
            if isinstance(error.source, RemoteUnavailableError):
                raise BackendUnavailableError(str(error.source)) from None
            if isinstance(error.source, RemoteError):
                raise BackendError(str(error.source)) from None
            raise BackendError(f"{server.label} answers in an unknown form.") from error
        finally:
            await client.close()


async def matches(client: "AsyncQdrantClient", question: Question) -> list[Match]:
    """Return the best matches that a client finds."""
    vector = question.place.get("vector") or None
    reply = await client.query_points(
        question.collection,
        query=list(question.vector or ()),
        using=vector,
        query_filter=None if question.where == to.EVERYTHING else _filter(question.where),
        limit=question.count,
        with_vectors=[vector] if vector else True,
    )
    return [
        Match(str(each.id), each.payload or {}, _vector(each.vector, vector), each.score)
        for each in reply.points
    ]


def _vector(stored: Any, name: str | None) -> Sequence[float] | None:  # noqa: ANN401 - of several forms
    vector = stored.get(name or "") if isinstance(stored, Mapping) else stored
    return vector if isinstance(vector, list) else None


def _filter(condition: to.Condition) -> "Filter":
    from qdrant_client import models  # noqa: PLC0415 - optional and slow

    match condition:
        case to.All(conditions):
            return models.Filter(must=[_filter(each) for each in conditions])
        case to.Some(conditions):
            return models.Filter(should=[_filter(each) for each in conditions])
        case to.Not(other):
            return models.Filter(must_not=[_filter(other)])
        case to.Tag(key, values):
            return models.Filter(should=_equal(key, values))
        case to.Ordered(_, key, how, value) if key and (limit := to.number(value)) is not None:
            limits = models.Range(**{_ORDERS[how]: limit})
            return models.Filter(must=[models.FieldCondition(key=key, range=limits)])
    raise UnsuitableCollectionError(
        "Qdrant compares properties for equality, and numbers by size. Change the filter."
    )


def _equal(key: str, values: Sequence[str]) -> list[Any]:
    """Return conditions for values as the texts that they are, and the numbers they may be."""
    from qdrant_client import models  # noqa: PLC0415 - optional and slow

    texts = models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))
    numbers = [each for each in map(to.number, values) if each is not None]
    ranges = [models.Range(gte=each, lte=each) for each in numbers]
    return [texts, *(models.FieldCondition(key=key, range=each) for each in ranges)]


class _Bounded(httpx.AsyncBaseTransport):
    """Sends the requests of the client as the service sends its own."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        status, body = await exchange(self._server.http, request, self._server.label)
        return httpx.Response(status, content=body)
