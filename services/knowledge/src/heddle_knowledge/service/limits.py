"""What requests to the knowledge service may ask for."""

from collections.abc import Iterator, Mapping

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_knowledge.access import is_id
from heddle_knowledge.errors import InvalidInputError
from heddle_knowledge.languages import language_of
from heddle_knowledge.languages import rule as language_rule
from heddle_knowledge.records import EMBEDDED
from heddle_knowledge.service.requests import chunking_of

LAMB = "lamb-kb"
_SETTINGS: dict[str, frozenset[str]] = {
    EMBEDDED: frozenset(),
    LAMB: frozenset({"collection_id"}),
}
_MOST_PASSAGES = 100
_MOST_PAGES = 50
_LONGEST_TITLE = 300
_LONGEST_SETTING = 256
_MOST_ENTRIES, _LONGEST_VALUE = 16, 512
_MOST_ENTRIES_OF_DOCUMENT, _LONGEST_VALUE_OF_DOCUMENT = 64, 1_024
_LONGEST_KEY = 64
_LONGEST_URI = 2_048


def check_collection(collection: pb.Collection) -> None:
    """Refuse a collection of an unknown backend, or with settings that the backend has not."""
    _refuse(list(_collection(collection)), "The collection cannot be made.")


def check_update(request: pb.UpdateCollectionRequest) -> None:
    """Refuse a title, a sharing, metadata or a language that no collection can have."""
    found = [
        *_labels(request.title, request.sharing, ""),
        *_metadata(request.metadata.entries, "metadata.entries"),
        *_language(request.language, ""),
    ]
    _refuse(found, "The collection cannot be changed so.")


def check_ingestion(request: pb.IngestDocumentRequest) -> None:
    """Refuse metadata, an address or a time that no document can have."""
    _refuse(list(_ingestion(request)), "The document cannot be ingested.")


def check_search(request: pb.SearchCollectionsRequest) -> None:
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
    for name, rule in chunking_of(collection.chunking).problems():
        yield Violation(f"collection.chunking.{name}", rule)
    yield from _language(collection.language, "collection.")
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


def _language(tag: str, prefix: str) -> Iterator[Violation]:
    try:
        language_of(tag)
    except InvalidInputError:
        yield Violation(f"{prefix}language", language_rule())


def _metadata(
    entries: Mapping[str, str], path: str, most: int = _MOST_ENTRIES, longest: int = _LONGEST_VALUE
) -> Iterator[Violation]:
    if len(entries) > most:
        yield Violation(path, f"must have at most {most} entries")
    for key, value in sorted(entries.items()):
        if not 1 <= len(key) <= _LONGEST_KEY or len(value) > longest:
            what = f"must have 1 to {_LONGEST_KEY} characters, its value at most {longest:,}"
            yield Violation(f"{path}.{key[:80]}", what)


def _ingestion(request: pb.IngestDocumentRequest) -> Iterator[Violation]:
    most, longest = _MOST_ENTRIES_OF_DOCUMENT, _LONGEST_VALUE_OF_DOCUMENT
    yield from _metadata(request.metadata, "metadata", most, longest)
    if len(request.uri) > _LONGEST_URI:
        yield Violation("uri", f"must have at most {_LONGEST_URI:,} characters")
    try:
        request.document_time.ToDatetime()
    except ValueError:
        yield Violation("document_time", "must be a time of the years 1 to 9999")


def check_page_search(request: pb.SearchPagesRequest) -> None:
    """Refuse a search for too many pages."""
    _refuse(list(_page_search(request)), "The search cannot be made.")


def _page_search(request: pb.SearchPagesRequest) -> Iterator[Violation]:
    if not 0 <= request.top_k <= _MOST_PAGES:
        yield Violation("top_k", f"must be between 0 and {_MOST_PAGES}")


def _search(request: pb.SearchCollectionsRequest) -> Iterator[Violation]:
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
