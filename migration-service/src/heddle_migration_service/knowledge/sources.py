"""The collections of LAMB's servers that can be copied, with their owners."""

import re
from dataclasses import dataclass

from heddle.knowledge.v1.knowledge_pb2 import SHARING_UNSPECIFIED, Sharing
from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.errors import HeddleError, InvalidRequestError, to_status

from heddle_migration_service.knowledge.reading import LambCollection, LambReader
from heddle_migration_service.lamb.knowledge_registry import (
    LambRegistry,
    LambServer,
    LambUser,
    RegisteredCollection,
)

_HEDDLES = re.compile(r"vs_[0-9a-f]{32}|[4-9][0-9]{15}")
"""Identifiers that Heddle gives collections which LAMB creates in it; see `numbers`."""
_MAX_TITLE = 300


@dataclass(frozen=True, slots=True)
class Source:
    """A collection that is to be copied."""

    server: LambServer
    lamb: LambCollection
    owner: LambUser
    title: str
    sharing: "Sharing.ValueType" = SHARING_UNSPECIFIED
    """Who may read the copy. Unspecified: whom the registry names."""


class Sources:
    """Lists collections, and counts those that cannot be copied."""

    def __init__(self, reader: LambReader, registry: LambRegistry, progress: pb.Progress) -> None:
        """Read servers with `reader`, and count in `progress`."""
        self._reader = reader
        self._registry = registry
        self._progress = progress
        self._seen: set[str] = set()
        self._unread: set[LambServer] = set()

    async def listed(self, server: LambServer) -> tuple[list[Source], list[pb.Finding]]:
        """Return the collections of a server that have an owner, and findings about the others."""
        sources: list[Source] = []
        findings: list[pb.Finding] = []
        try:
            async for page in self._reader.collections(server):
                for each in page:
                    if _HEDDLES.fullmatch(each.id):  # the server is this Heddle
                        continue
                    entry = self._entry(server, each)
                    owner = self._owner(server, each, entry)
                    self._progress.total += 1
                    if entry is not None:
                        self._seen.add(each.id)
                    if owner is not None:
                        sources.append(Source(server, each, owner, _title(each, entry)))
                        continue
                    number = (each.owner or "")[:100]
                    reason = f"Its owner {number!r} is no user of the organisations of this server."
                    self._progress.refused += 1
                    findings.append(refusal(each.id, each.name, InvalidRequestError(reason)))
        except HeddleError as error:
            self._unread.add(server)
            self._progress.total += 1
            self._progress.refused += 1
            findings.append(refusal("", server.url, error))
        return sources, findings

    def missing(self) -> list[pb.Finding]:
        """Return findings about entries of the registry whose collections no server has."""
        findings = []
        for identifier, entry in self._registry.collections.items():
            server = self._registry.servers.get(entry.organization)
            if identifier in self._seen or _HEDDLES.fullmatch(identifier):
                continue
            if server in self._unread:  # what refuses the server refuses its collections
                continue
            self._progress.total += 1
            self._progress.refused += 1
            reason = "LAMB's server does not have it."
            if server is None:
                reason = "Its organisation has no knowledge-base server."
            findings.append(refusal(identifier, entry.name, InvalidRequestError(reason)))
        return findings

    def _entry(self, server: LambServer, collection: LambCollection) -> RegisteredCollection | None:
        """Return the entry of the registry: each server numbers its own collections."""
        entry = self._registry.collections.get(collection.id)
        if entry is None or self._registry.servers.get(entry.organization) != server:
            return None
        return entry

    def _owner(
        self, server: LambServer, collection: LambCollection, entry: RegisteredCollection | None
    ) -> LambUser | None:
        """Return the owner: by the registry, else by what the server says."""
        if entry is not None and entry.owner is not None:
            return entry.owner
        owner = self._registry.users.get(collection.owner or "")
        if owner is None or self._registry.servers.get(owner.organization) != server:
            return None
        return owner


def _title(collection: LambCollection, entry: RegisteredCollection | None) -> str:
    title = (entry.name if entry else "") or collection.name or collection.id
    return " ".join(title.split())[:_MAX_TITLE]


def refusal(identifier: str, name: str, error: HeddleError) -> pb.Finding:
    """Return the finding about what is not copied."""
    return pb.Finding(id=identifier, name=name[:_MAX_TITLE], error=to_status(error))
