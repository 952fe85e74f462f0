"""Chroma, by its HTTP interface.

Its asynchronous client gives all its instances of a process one connection, with the key of the
first: organisations would use each other's.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from heddle_knowledge.collection.types import Mode
from heddle_knowledge.engines import conditions as to
from heddle_knowledge.errors import BackendError, UnsuitableCollectionError
from heddle_knowledge.external.engine import Match, Question, SearchEngine, Server

_TENANT, _DATABASE = "default_tenant", "default_database"
_ORDERS: Mapping[to.How, str] = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_PARTS = ["documents", "metadatas", "embeddings", "distances"]
DOCUMENT = "document"
"""The property of an entry's text."""


class Chroma(SearchEngine):
    """Searches by meaning. Chroma's own server has no ranking by words."""

    kind: ClassVar[str] = "chroma"
    label: ClassVar[str] = "Chroma"
    settings: ClassVar[frozenset[str]] = frozenset({"tenant", "database"})
    has_text: ClassVar[bool] = True
    modes: ClassVar[tuple[Mode, ...]] = ("vector",)

    async def search(self, server: Server, question: Question) -> list[Match]:
        """Return the best matches; see `SearchEngine`."""
        place = question.place
        tenant, database = place.get("tenant") or _TENANT, place.get("database") or _DATABASE
        path = f"api/v2/tenants/{quote(tenant, '')}/databases/{quote(database, '')}/collections"
        key = {"x-chroma-token": server.key, "authorization": f"Bearer {server.key}"}
        headers = key if server.key else {}
        name = quote(question.collection, "")
        there = await server.ask(f"{path}/{name}", None, headers)
        body: dict[str, Any] = {
            "query_embeddings": [list(question.vector or ())],
            "n_results": question.count,
            "include": _PARTS,
        }
        if question.where != to.EVERYTHING:
            body["where"] = _where(question.where)
        try:
            reply = await server.ask(f"{path}/{there['id']}/query", body, headers)
            parts = (reply["ids"], *(reply[name] for name in _PARTS))
            rows = zip(*(part[0] for part in parts), strict=True)
            return [
                Match(id_, {**(metadata or {}), DOCUMENT: text or ""}, vector, -distance)
                for id_, text, metadata, vector, distance in rows
            ]
        except (LookupError, TypeError, ValueError) as error:
            raise BackendError(f"{server.label} answers in an unknown form.") from error


def _where(condition: to.Condition) -> dict[str, Any]:
    match condition:
        case to.All(conditions):
            return _joined("$and", [_where(each) for each in conditions])
        case to.Some(conditions):
            return _joined("$or", [_where(each) for each in conditions])
        case to.Tag(key, values):
            return _joined("$or", [{key: {"$in": some}} for some in _typed(values)])
        case to.Not(to.Tag(key, values)):
            return _joined("$and", [{key: {"$nin": some}} for some in _typed(values)])
        case to.Ordered(_, key, how, value) if key and (limit := to.number(value)) is not None:
            return {key: {_ORDERS[how]: limit}}
    raise UnsuitableCollectionError(
        "Chroma compares properties for equality, and numbers by size. Change the filter."
    )


def _typed(values: Sequence[str]) -> list[list[Any]]:
    """Return values as the texts that they are, and as the numbers that they may stand for."""
    numbers = [each for each in map(to.number, values) if each is not None]
    whole = [int(each) for each in numbers if each.is_integer()]
    return [some for some in (list(values), whole, numbers) if some]


def _joined(how: str, conditions: list[dict[str, Any]]) -> dict[str, Any]:
    return conditions[0] if len(conditions) == 1 else {how: conditions}
