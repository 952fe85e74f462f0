"""The limits of requests to the knowledge service."""

from collections.abc import Iterable, Iterator, Mapping

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import Violation

from heddle_knowledge.collection.access import is_id
from heddle_knowledge.collection.types import EMBEDDED, FORMER_ID, REGISTRY, SHARES
from heddle_knowledge.engines.languages import language_of
from heddle_knowledge.engines.languages import rule as language_rule
from heddle_knowledge.errors import InvalidInputError
from heddle_knowledge.external.collections import ENGINES, PROPERTIES, SERVER
from heddle_knowledge.service.calls import MAX_KEY_CHARACTERS, check_enums, check_range
from heddle_knowledge.service.requests import chunking_of

_SETTINGS, _SETTINGS_OF_SOURCES = frozenset({FORMER_ID, SHARES}), frozenset({FORMER_ID})
_PLACE = frozenset({SERVER, FORMER_ID})
_MAX_PASSAGES = 100
_MAX_TITLE_CHARACTERS = 300
_MAX_SETTING_CHARACTERS = 256
_MAX_ENTRIES, _MAX_VALUE_CHARACTERS = 16, 512
_MAX_DOCUMENT_ENTRIES, _MAX_DOCUMENT_VALUE_CHARACTERS = 64, 1_024
_MAX_URI_CHARACTERS = 2_048


def collection_violations(collection: pb.Collection, sources: Iterable[str]) -> Iterator[Violation]:
    """Yield what no collection can have; `sources` are the backends besides `embedded`."""
    by_backend = {EMBEDDED: _SETTINGS, **dict.fromkeys(sources, _SETTINGS_OF_SOURCES)}
    for name, engine in ENGINES.items():
        by_backend[name] = _PLACE.union(PROPERTIES, engine.settings)
    known = by_backend.get(collection.backend or EMBEDDED)
    if known is None:
        backends = " or ".join(map(repr, by_backend))
        yield Violation("collection.backend", f"must be {backends}")
        return
    if is_id(collection.name):
        yield Violation("collection.name", "has the form of an identifier; choose another")
    yield from _title(collection.title, "collection.")
    yield from check_enums(collection, "collection.")
    yield from _metadata(collection.metadata, "collection.metadata")
    for name, rule in chunking_of(collection.chunking).problems():
        yield Violation(f"collection.chunking.{name}", rule)
    yield from _language(collection.language, "collection.")
    yield from _missing_settings(collection)
    for name, value in sorted(collection.settings.items()):
        path = f"collection.settings.{name[:80]}"
        if name not in known:
            yield Violation(path, "is not a setting of this backend")
        elif len(value) > _MAX_SETTING_CHARACTERS:
            yield Violation(path, f"must have at most {_MAX_SETTING_CHARACTERS} characters")
        elif name == SHARES and value != REGISTRY:
            yield Violation(path, f"must be {REGISTRY!r}")


def _missing_settings(collection: pb.Collection) -> Iterator[Violation]:
    if (engine := ENGINES.get(collection.backend)) is None:
        return
    required = _PLACE if engine.has_text else _PLACE | {"text"}
    for name in sorted(required):
        if not collection.settings.get(name):
            path = f"collection.settings.{name}"
            yield Violation(path, f"must be set for a collection of {engine.label}")


def update_violations(request: pb.UpdateCollectionRequest) -> Iterator[Violation]:
    """Yield a title, a sharing, metadata or a language that no collection can have."""
    yield from _title(request.title, "")
    yield from check_enums(request)
    yield from _metadata(request.metadata.entries, "metadata.entries")
    yield from _language(request.language, "")


def _title(title: str, prefix: str) -> Iterator[Violation]:
    if len(title) > _MAX_TITLE_CHARACTERS:
        yield Violation(f"{prefix}title", f"must have at most {_MAX_TITLE_CHARACTERS} characters")


def _language(tag: str, prefix: str) -> Iterator[Violation]:
    try:
        language_of(tag)
    except InvalidInputError:
        yield Violation(f"{prefix}language", language_rule())


def _metadata(
    entries: Mapping[str, str],
    path: str,
    most: int = _MAX_ENTRIES,
    longest: int = _MAX_VALUE_CHARACTERS,
) -> Iterator[Violation]:
    if len(entries) > most:
        yield Violation(path, f"must have at most {most} entries")
    for key, value in sorted(entries.items()):
        if not 1 <= len(key) <= MAX_KEY_CHARACTERS or len(value) > longest:
            what = f"must have 1 to {MAX_KEY_CHARACTERS} characters, its value at most {longest:,}"
            yield Violation(f"{path}.{key[:80]}", what)


def ingestion_violations(request: pb.IngestDocumentRequest) -> Iterator[Violation]:
    """Yield metadata or an address that no document can have."""
    most, longest = _MAX_DOCUMENT_ENTRIES, _MAX_DOCUMENT_VALUE_CHARACTERS
    yield from _metadata(request.metadata, "metadata", most, longest)
    if len(request.uri) > _MAX_URI_CHARACTERS:
        yield Violation("uri", f"must have at most {_MAX_URI_CHARACTERS:,} characters")


def search_violations(request: pb.SearchCollectionsRequest) -> Iterator[Violation]:
    """Yield numbers and ways to search that the contract does not have."""
    yield from check_range(request, "top_k", 0, _MAX_PASSAGES)
    yield from check_range(request, "threshold", -1.0, 1.0)
    yield from check_range(request, "recency_weight", 0.0, 1.0)
    yield from check_range(request, "vector_weight", 0.0, 1.0)
    yield from check_enums(request)
