"""Weaviate, by the messages of its official client, over gRPC.

The client itself connects wherever a name leads. Here the address is resolved once and checked,
and the connection goes to it.
"""

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import grpc
from heddle_runtime.http.egress import SETTING, ForbiddenAddressError

from heddle_knowledge.collection.types import DEFAULT_VECTOR_WEIGHT, Mode
from heddle_knowledge.errors import BackendError, BackendUnavailableError
from heddle_knowledge.external.engine import Match, Question, SearchEngine, Server

if TYPE_CHECKING:  # an optional package
    from weaviate.proto.v1 import search_get_pb2

_PORT = 50_051
_MAX_BYTES = 32 * 1024**2
_STATUSES = {
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
}
_PASSING = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
_MAX_REASON_CHARACTERS = 200


class Weaviate(SearchEngine):
    """Searches by meaning, by words, and by both."""

    kind: ClassVar[str] = "weaviate"
    label: ClassVar[str] = "Weaviate"
    settings: ClassVar[frozenset[str]] = frozenset({"vector", "tenant"})
    modes: ClassVar[tuple[Mode, ...]] = ("hybrid", "vector", "text")
    filters: ClassVar[bool] = False  # needs the type that each property has there
    embeds: ClassVar[bool] = True

    async def search(self, server: Server, question: Question) -> list[Match]:
        """Return the best matches; see `SearchEngine`."""
        try:
            from weaviate.proto.v1 import weaviate_pb2_grpc  # noqa: PLC0415 - optional and slow
        except ImportError:
            raise BackendError(
                "The client of Weaviate is not installed. The operator adds it with the extra "
                "heddle-knowledge[weaviate]."
            ) from None
        metadata = [("authorization", f"Bearer {server.key}")] if server.key else []
        try:
            async with await _channel(server) as channel:
                stub = weaviate_pb2_grpc.WeaviateStub(channel)  # type: ignore[no-untyped-call] # ships no annotations
                reply = await stub.Search(
                    _request(question), timeout=server.seconds, metadata=metadata
                )
        except grpc.aio.AioRpcError as error:
            reason = (error.details() or "")[:_MAX_REASON_CHARACTERS]
            if error.code() in _PASSING:
                raise BackendUnavailableError(f"{server.label} does not answer.") from None
            status = 404 if "could not find class" in reason else _STATUSES.get(error.code(), 400)
            raise server.refusal(status, reason) from None
        return [_match(each, question) for each in reply.results]


async def _channel(server: Server) -> grpc.aio.Channel:
    """Return a connection to an address of the server that is permitted."""
    parts = urlsplit(server.grpc_url or server.url)
    secure, host = parts.scheme == "https", parts.hostname or ""
    port = parts.port if server.grpc_url and parts.port else 443 if secure else _PORT
    address = host
    try:
        if server.egress is not None:
            address = (await server.egress.addresses(host, port))[0]
    except ForbiddenAddressError:
        raise BackendError(
            f"{server.label} is in a private network, which the operator can allow with {SETTING}."
        ) from None
    except (OSError, UnicodeError) as error:
        raise BackendUnavailableError(f"{server.label} does not answer.") from error
    target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    options = [
        ("grpc.default_authority", host),
        ("grpc.enable_http_proxy", 0),
        ("grpc.max_receive_message_length", _MAX_BYTES),
    ]
    if not secure:
        return grpc.aio.insecure_channel(target, options=options)
    options.append(("grpc.ssl_target_name_override", host))
    return grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(), options=options)


def _request(question: Question) -> "search_get_pb2.SearchRequest":
    from weaviate.proto.v1 import base_search_pb2, search_get_pb2  # noqa: PLC0415 - optional

    name = question.place.get("vector", "")
    targets = base_search_pb2.Targets(target_vectors=[name]) if name else None
    vector = struct.pack(f"<{len(question.vector)}f", *question.vector) if question.vector else b""
    request = search_get_pb2.SearchRequest(
        collection=question.collection,
        tenant=question.place.get("tenant", ""),
        limit=question.count,
        properties=search_get_pb2.PropertiesRequest(return_all_nonref_properties=True),
        metadata=search_get_pb2.MetadataRequest(
            uuid=True,
            distance=True,
            score=True,
            vector=bool(vector and not name),
            vectors=[name] if vector and name else [],
        ),
        uses_127_api=True,
    )
    match question.mode:
        case "text":
            request.bm25_search.query = question.text
        case "hybrid":
            search = base_search_pb2.Hybrid(
                query=question.text,
                alpha=DEFAULT_VECTOR_WEIGHT,
                fusion_type=base_search_pb2.Hybrid.FUSION_TYPE_RELATIVE_SCORE,
                vector_bytes=vector,
                targets=targets,
            )
            request.hybrid_search.CopyFrom(search)
        case _ if vector:
            near = base_search_pb2.NearVector(vector_bytes=vector, targets=targets)
            request.near_vector.CopyFrom(near)
        case _:
            text = base_search_pb2.NearTextSearch(query=[question.text], targets=targets)
            request.near_text.CopyFrom(text)
    return request


def _match(result: "search_get_pb2.SearchResult", question: Question) -> Match:
    metadata, distance = result.metadata, result.metadata.distance
    fields = result.properties.non_ref_props.fields
    return Match(
        id=metadata.id,
        properties={name: _value(value) for name, value in fields.items()},
        vector=_vector(metadata) if question.vector else None,
        relevance=metadata.score if metadata.score_present else -distance,
        similarity=1 - distance if metadata.distance_present else None,
    )


def _vector(metadata: "search_get_pb2.MetadataResult") -> Sequence[float] | None:
    packed = metadata.vectors[0].vector_bytes if metadata.vectors else metadata.vector_bytes
    return struct.unpack(f"<{len(packed) // 4}f", packed) if packed else None


def _value(value: Any) -> Any:  # noqa: ANN401 - one of several types
    kind = value.WhichOneof("kind")
    if kind == "object_value":
        return {name: _value(each) for name, each in value.object_value.fields.items()}
    return getattr(value, kind) if kind and kind not in {"null_value", "list_value"} else None
