"""What requests to the knowledge service may ask for."""

from collections.abc import Iterator, Mapping

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_tools_service.knowledge.access import is_id
from heddle_tools_service.knowledge.records import EMBEDDED, Chunking

LAMB = "lamb-kb"
_SETTINGS: dict[str, frozenset[str]] = {
    EMBEDDED: frozenset(),
    LAMB: frozenset({"collection_id"}),
}
_MOST_PASSAGES = 100
_MOST_PAGES = 50
_LONGEST_TITLE = 300
_LONGEST_SETTING = 256
_MOST_ENTRIES = 16
_LONGEST_KEY = 64
_LONGEST_VALUE = 512
_SHORTEST_PASSAGE = 100
_LONGEST_PASSAGE = 4_000
_LONGEST_PARENT = 16_000


def check_collection(collection: pb.Collection) -> None:
    """Refuse a collection of an unknown backend, or with settings that the backend has not."""
    _refuse(list(_collection(collection)), "The collection cannot be made.")


def check_update(request: pb.UpdateCollectionRequest) -> None:
    """Refuse a title, a sharing or metadata that no collection can have."""
    found = [
        *_labels(request.title, request.sharing, ""),
        *_metadata(request.metadata.entries, "metadata.entries"),
    ]
    _refuse(found, "The collection cannot be changed so.")


def check_search(request: pb.SearchCollectionRequest) -> None:
    """Refuse a search for too much."""
    _refuse(list(_search(request)), "The search cannot be made.")


def _collection(collection: pb.Collection) -> Iterator[Violation]:
    known = _SETTINGS.get(collection.backend or EMBEDDED)
    if known is None:
        backends = " or ".join(map(repr, _SETTINGS))
        yield Violation("collection.backend", f"must be {backends}")
        return
    if is_id(collection.name):
        yield Violation("collection.name", "has the form of an identifier; choose another")
    yield from _labels(collection.title, collection.sharing, "collection.")
    yield from _metadata(collection.metadata, "collection.metadata")
    yield from _chunking(collection.chunking)
    if collection.page_handling not in pb.PageHandling.values():
        yield Violation("collection.page_handling", "must be one of this contract")
    for name, value in sorted(collection.settings.items()):
        path = f"collection.settings.{name[:80]}"
        if name not in known:
            yield Violation(path, "is not a setting of this backend")
        elif len(value) > _LONGEST_SETTING:
            yield Violation(path, f"must have at most {_LONGEST_SETTING} characters")


def _labels(title: str, sharing: int, prefix: str) -> Iterator[Violation]:
    if len(title) > _LONGEST_TITLE:
        yield Violation(f"{prefix}title", f"must have at most {_LONGEST_TITLE} characters")
    if sharing not in pb.Sharing.values():
        yield Violation(f"{prefix}sharing", "must be one of this contract")


def _metadata(entries: Mapping[str, str], path: str) -> Iterator[Violation]:
    if len(entries) > _MOST_ENTRIES:
        yield Violation(path, f"must have at most {_MOST_ENTRIES} entries")
    for key, value in sorted(entries.items()):
        if not 1 <= len(key) <= _LONGEST_KEY or len(value) > _LONGEST_VALUE:
            what = f"must have 1 to {_LONGEST_KEY} characters, its value at most {_LONGEST_VALUE}"
            yield Violation(f"{path}.{key[:80]}", what)


def _chunking(chunking: pb.Chunking) -> Iterator[Violation]:
    path = "collection.chunking"
    target = chunking.target_characters or Chunking().target
    parent = chunking.parent_characters
    if not _SHORTEST_PASSAGE <= target <= _LONGEST_PASSAGE:
        what = f"must be {_SHORTEST_PASSAGE} to {_LONGEST_PASSAGE}"
        yield Violation(f"{path}.target_characters", what)
    if not 0 <= chunking.overlap_characters * 2 < target:
        what = "must be less than half of target_characters"
        yield Violation(f"{path}.overlap_characters", what)
    if parent and not target <= parent <= _LONGEST_PARENT:
        what = f"must be target_characters to {_LONGEST_PARENT}"
        yield Violation(f"{path}.parent_characters", what)


def check_page_search(request: pb.SearchPagesRequest) -> None:
    """Refuse a search for too many pages."""
    _refuse(list(_page_search(request)), "The search cannot be made.")


def _page_search(request: pb.SearchPagesRequest) -> Iterator[Violation]:
    if not 0 <= request.top_k <= _MOST_PAGES:
        yield Violation("top_k", f"must be between 0 and {_MOST_PAGES}")


def _search(request: pb.SearchCollectionRequest) -> Iterator[Violation]:
    if not 0 <= request.top_k <= _MOST_PASSAGES:
        yield Violation("top_k", f"must be between 0 and {_MOST_PASSAGES}")
    if not -1 <= request.threshold <= 1:
        yield Violation("threshold", "must be between -1.0 and 1.0")
    if request.mode not in pb.SearchMode.values():
        yield Violation("mode", "must be a mode of this contract")


def _refuse(violations: list[Violation], message: str) -> None:
    if violations:
        raise InvalidRequestError(message, violations)
