"""Sources of collections that this service does not hold, from installed packages.

A package names a function that opens one in an entry point of the group `heddle.knowledge`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Protocol

import httpx
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.rpc.organization_settings import OrganizationSettings
from heddle_runtime.serving import installed as packages

from heddle_knowledge.collection.access import Owner
from heddle_knowledge.collection.shared_registry import SharedRegistry


class CollectionSource(Protocol):
    """Searches collections that are elsewhere."""

    backend: ClassVar[str]
    """The backend of the source's collections."""

    async def search(
        self,
        owner: Owner,
        collection: str,
        request: pb.SearchCollectionsRequest,
        top_k: int,
        missing: str,
    ) -> pb.CollectionPassages:
        """Return the passages of one collection, and the fields of the request that it ignored.

        Args:
            owner: With whose rights.
            collection: Its identifier there.
            request: The search.
            top_k: The number of passages.
            missing: The beginning of the error if the owner has no such source; empty if the
                collection is registered here.

        Raises:
            KnowledgeError: The collection is not there, or cannot be searched.
        """


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """The parts of the service that a source may use."""

    http: httpx.AsyncClient
    """For servers that the operator names. Follows no redirects."""
    guarded_http: httpx.AsyncClient
    """For servers that organisations name."""
    organizations: OrganizationSettings | None = None
    """None: without accounts, everything belongs to the operator."""
    registry: SharedRegistry | None = None
    """None without accounts."""


OpenSource = Callable[[ServiceParts], CollectionSource]


@cache
def installed() -> tuple[OpenSource, ...]:
    """Return the functions that open the sources of installed packages."""
    return tuple(each for _, each in packages.installed("heddle.knowledge"))
