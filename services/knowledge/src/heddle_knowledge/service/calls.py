"""Parts that RPCs share: collections by reference, rights, and checks of requests."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import structlog
from google.protobuf.message import Message
from google.rpc import status_pb2
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    InvalidRequestError,
    Violation,
    to_status,
)
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.grants import GrantVerifier
from heddle_runtime.rpc.organization_settings import OrganizationSettings

from heddle_knowledge.collection.access import (
    Person,
    Reader,
    caller_of,
    changeable,
    find,
    may_share,
    meant,
    reader_of,
)
from heddle_knowledge.collection.shared_registry import Shares, none_shared
from heddle_knowledge.errors import BackendUnavailableError, CollectionNotFoundError, KnowledgeError
from heddle_knowledge.service.failures import refusal_of

if TYPE_CHECKING:  # the store loads the engine
    from heddle_knowledge.audit.recording import AuditOutbox
    from heddle_knowledge.collection.types import Collection
    from heddle_knowledge.document_queries.query_workers import QueryWorkers
    from heddle_knowledge.embedders.embedding import Embedder
    from heddle_knowledge.external.collections import ExternalCollections
    from heddle_knowledge.models.interpreters import Interpreter
    from heddle_knowledge.service.extensions import CollectionSource
    from heddle_knowledge.store import KnowledgeStore

log = structlog.get_logger(__name__)
MAX_COLLECTIONS = 64
MAX_QUERY_CHARACTERS = 8_000
MAX_KEY_CHARACTERS = 64
"""The maximum length of a key of metadata, of attributes and of filters."""
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Backends:
    """The parts that the knowledge service uses besides the store.

    Attributes:
        sources: By their backends, what searches collections that are elsewhere.
        external: Searches the collections of other search engines.
        queries: Runs queries over documents.
        grants: Verifies grants.
        interpreter: Looks at the pictures of pages.
        embedders: Returns the embedding models, the default one first.
        audit: Takes the events of changes.
        forget_files: Called with the id of a deleted collection.
        search_seconds: The time limit of the search of one collection.
        shares: Knows what the imported registry shares.
        settings: The settings of organisations; None if no service has them.
        reranking_model: The name of the reranking model; empty if there is none.
    """

    sources: "Mapping[str, CollectionSource]"
    external: "ExternalCollections"
    queries: "QueryWorkers"
    grants: "GrantVerifier"
    interpreter: "Interpreter"
    embedders: "Callable[[], Awaitable[Sequence[Embedder]]]"
    audit: "AuditOutbox"
    forget_files: "Callable[[str], Awaitable[None]]"
    search_seconds: float
    shares: Shares = none_shared
    settings: "OrganizationSettings | None" = None
    reranking_model: str = ""


class CollectionAccess:
    """Finds the collections that callers mean."""

    def __init__(self, store: "Callable[[], Awaitable[KnowledgeStore]]", shares: Shares) -> None:
        self._store = store
        self._shares = shares

    async def _readable(self, reference: str) -> "tuple[KnowledgeStore, Collection]":
        """Return the store, and the collection that the caller means and may read.

        Raises:
            CollectionNotFoundError: There is none.
        """
        return await self._meant(caller_of(caller().identity), reference)

    async def _meant(self, person: Person, reference: str) -> "tuple[KnowledgeStore, Collection]":
        """Return the store, and the collection that a person means and may read.

        Raises:
            CollectionNotFoundError: There is none.
            BackendUnavailableError: The registry, which may share it, does not answer.
        """
        store = await self._store()
        known = await store.collections.named(reference)
        try:
            return store, meant(known, person, reference)
        except CollectionNotFoundError:
            shared = find(known, reference, person, lambda it: may_share(person, it))
            if shared is None:
                raise
            identifiers = sorted(filter(None, (shared.public_id, shared.former_id)))
            try:
                if not await self._shares(shared.organization, identifiers):
                    raise
            except HeddleError as error:
                raise BackendUnavailableError(
                    "The registry, which may share the collection, does not answer"
                ) from error
            return store, shared

    async def _changeable(self, reference: str) -> "tuple[KnowledgeStore, Collection]":
        """Return the store, and the collection that the caller means and may change.

        Raises:
            CollectionNotFoundError: There is none that the caller may read.
            PermissionDeniedError: The caller may only read it.
        """
        store = await self._store()
        known = await store.collections.named(reference)
        return store, changeable(known, caller_of(caller().identity), reference)


class Calls(CollectionAccess):
    """A part of the contract."""

    def __init__(
        self, store: "Callable[[], Awaitable[KnowledgeStore]]", backends: Backends
    ) -> None:
        super().__init__(store, backends.shares)
        self._backends = backends

    def _reader(self) -> Reader:
        """Return with whose rights the current call reads.

        Raises:
            UnauthenticatedError: It carries a grant that is not valid.
        """
        return reader_of(caller().identity, self._backends.grants.current())

    async def _attempt(
        self, reference: str, work: "Callable[[str], Awaitable[ResultT]]"
    ) -> "ResultT | status_pb2.Status":
        """Return the result of work on one collection of several, or the error that it ends with.

        The work ends with an error after the time that the search of a collection may take.
        """
        try:
            async with asyncio.timeout(self._backends.search_seconds):
                return await work(reference)
        except TimeoutError:
            return to_status(DeadlineError("it took too long"))
        except (KnowledgeError, HeddleError) as error:
            refusal = refusal_of(error) if isinstance(error, KnowledgeError) else error
            log.warning(
                "collection not searched",
                collection=reference,
                error=refusal.message,
                diagnosis=refusal.diagnosis or None,
            )
            return to_status(refusal)
        except Exception:
            # The log gets the cause; the other collections are still answered.
            log.exception("collection not searched", collection=reference)
            return to_status(HeddleError("it is broken"))


def refuse(violations: "Iterable[Violation]", message: str) -> None:
    """Refuse a request if there are violations.

    Raises:
        InvalidRequestError: There are; it carries them all.
    """
    if every := list(violations):
        raise InvalidRequestError(message, every)


def check_range(request: Message, field: str, low: float, high: float) -> "Iterator[Violation]":
    """Yield a violation if a number of a request is not within a range."""
    if not low <= getattr(request, field) <= high:
        yield Violation(field, f"must be between {low:,} and {high:,}")


def check_enums(message: Message, prefix: str = "") -> "Iterator[Violation]":
    """Yield a violation for each enum of a message that the contract does not have."""
    for field, value in message.ListFields():
        if field.enum_type and value not in field.enum_type.values_by_number:
            yield Violation(f"{prefix}{field.name}", "must be one of this contract")


def check_collections(references: "Sequence[str]") -> None:
    """Refuse a request that names no collection, or too many.

    Raises:
        InvalidRequestError: It does.
    """
    if not 1 <= len(references) <= MAX_COLLECTIONS:
        violation = Violation("collections", f"must be 1 to {MAX_COLLECTIONS}")
        raise InvalidRequestError("The request cannot be answered.", [violation])


def collection_error(reference: str, error: KnowledgeError) -> pb.CollectionError:
    """Return the error of one collection of several, with its name."""
    return pb.CollectionError(collection=reference, error=to_status(refusal_of(error)))
