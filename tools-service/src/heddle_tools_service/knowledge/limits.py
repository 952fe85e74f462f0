"""What requests to the knowledge service may ask for."""

from collections.abc import Iterator

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_tools_service.knowledge.records import EMBEDDED

LAMB = "lamb-kb"
_SETTINGS: dict[str, frozenset[str]] = {
    EMBEDDED: frozenset(),
    LAMB: frozenset({"collection_id"}),
}
_MOST_PASSAGES = 100
_LONGEST_TITLE = 300
_LONGEST_SETTING = 256


def check_collection(collection: pb.Collection) -> None:
    """Refuse a collection of an unknown backend, or with settings that the backend has not."""
    _refuse(list(_collection(collection)), "The collection cannot be made.")


def check_search(request: pb.SearchCollectionRequest) -> None:
    """Refuse a search for too much."""
    _refuse(list(_search(request)), "The search cannot be made.")


def _collection(collection: pb.Collection) -> Iterator[Violation]:
    known = _SETTINGS.get(collection.backend or EMBEDDED)
    if known is None:
        backends = " or ".join(map(repr, _SETTINGS))
        yield Violation("collection.backend", f"must be {backends}")
        return
    if len(collection.title) > _LONGEST_TITLE:
        yield Violation("collection.title", f"must have at most {_LONGEST_TITLE} characters")
    for name, value in sorted(collection.settings.items()):
        path = f"collection.settings.{name[:80]}"
        if name not in known:
            yield Violation(path, "is not a setting of this backend")
        elif len(value) > _LONGEST_SETTING:
            yield Violation(path, f"must have at most {_LONGEST_SETTING} characters")


def _search(request: pb.SearchCollectionRequest) -> Iterator[Violation]:
    if not 0 <= request.top_k <= _MOST_PASSAGES:
        yield Violation("top_k", f"must be between 0 and {_MOST_PASSAGES}")
    if not -1 <= request.threshold <= 1:
        yield Violation("threshold", "must be between -1.0 and 1.0")
    if request.mode not in pb.SearchMode.values():
        yield Violation("mode", "must be a mode of this contract")
    if not 0 <= request.recency_weight <= 1:
        yield Violation("recency_weight", "must be between 0.0 and 1.0")
    if not 0 <= request.vector_weight <= 1:
        yield Violation("vector_weight", "must be between 0.0 and 1.0")
    if request.fusion not in pb.Fusion.values():
        yield Violation("fusion", "must be a fusion of this contract")
    if request.reranking not in pb.Reranking.values():
        yield Violation("reranking", "must be a reranking of this contract")


def _refuse(violations: list[Violation], message: str) -> None:
    if violations:
        raise InvalidRequestError(message, violations)
