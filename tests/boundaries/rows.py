"""One row for each limit: what is checked against it, as a function of a size.

The function of a row raises an error, or returns violations, if the size is refused.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Any

from google.protobuf.duration_pb2 import Duration
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle.usage.v1 import usage_pb2
from heddle_assistants.accounts.checks import check_name
from heddle_assistants.rubrics import content
from heddle_assistants.usage import entries, prices, reservations
from heddle_gateway.openai.search_filters import Membership
from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.formats.webpage_depth import exceeds_depth as nests_too_deep
from heddle_knowledge.names import check_document_name
from heddle_knowledge.reading.documents import check_size
from heddle_knowledge.service import limits as requests
from heddle_knowledge.uploads import checks
from heddle_runtime.limits import exceeds_depth
from heddle_runtime.schema_references import limited
from heddle_runtime.struct_codec import to_struct

Check = Callable[[int], object]


def _membership(count: int) -> None:
    Membership.model_validate({"type": "in", "key": "k", "value": ["v"] * count})


def _nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def _upload(**fields: Any) -> files_pb2.CreateFileRequest:
    return files_pb2.CreateFileRequest(**{"filename": "a", "purpose": "assistants", **fields})


def _batch(count: int) -> files_pb2.CreateFileBatchRequest:
    files = (files_pb2.BatchedFile(file_id=str(number)) for number in range(count))
    return files_pb2.CreateFileBatchRequest(files=files)


def _recorded(**fields: Any) -> object:
    return entries.entries_of(usage_pb2.RecordUsageRequest(**{"recorder": "r", **fields}))


def _used(number: int, **counts: int) -> usage_pb2.UsageEntry:
    return usage_pb2.UsageEntry(number=number, assistant_id="1", counts=usage_pb2.Counts(**counts))


def _reserved(**fields: Any) -> None:
    base = {"reservation_id": "r", "assistant_id": "1", "lifetime": Duration(seconds=1)}
    reservations._check(usage_pb2.ReserveUsageRequest(**{**base, **fields}))  # noqa: SLF001 - the check alone


def _collection(**fields: Any) -> list[object]:
    return list(requests.collection_violations(knowledge_pb2.Collection(name="a", **fields)))


def _ingestion(**fields: Any) -> list[object]:
    return list(requests.ingestion_violations(knowledge_pb2.IngestDocumentRequest(**fields)))


def _entries(count: int) -> dict[str, str]:
    return {f"k{number}": "v" for number in range(count)}


def _priced(dollars: int) -> object:
    return prices.read_prices({"a/b": {"input": dollars, "output": 0}})


def _schema(characters: int) -> object:
    empty = len(json.dumps({"description": ""}))
    return limited({"description": "x" * (characters - empty)})


def _rubric(characters: int) -> object:
    empty = len(json.dumps({"title": ""}))
    return content.read(json.dumps({"title": "x" * (characters - empty)}))


_UPLOADS, _REQUESTS = "heddle_knowledge.uploads.checks", "heddle_knowledge.service.limits"
_USAGE = "heddle_assistants.usage"
ROWS: dict[str, Check] = {
    f"{_UPLOADS}._MAX_NAME_CHARACTERS": lambda n: (
        checks.filename(_upload(filename="x" * n)) and None
    ),
    f"{_UPLOADS}.MAX_BYTES": lambda n: checks.filename(_upload(data=bytes(n))) and None,
    f"{_UPLOADS}.MAX_BATCHED_FILES": lambda n: checks.batched(_batch(n)) and None,
    f"{_UPLOADS}._MAX_ATTRIBUTES": lambda n: checks.attributes(to_struct(_entries(n))) and None,
    f"{_UPLOADS}._MAX_TEXT_CHARACTERS": lambda n: (
        checks.attributes(to_struct({"k": "x" * n})) and None
    ),
    "heddle_knowledge.service.calls.MAX_KEY_CHARACTERS": lambda n: (
        checks.attributes(to_struct({"k" * n: 1})) and None
    ),
    "heddle_knowledge.names.LONGEST_DOCUMENT_NAME": lambda n: check_document_name("x" * n),
    "heddle_knowledge.reading.documents.LARGEST_DOCUMENT": lambda n: check_size(bytes(n), "a"),
    "heddle_knowledge.formats.webpage_depth.MAX_DEPTH": lambda n: nests_too_deep("<div>" * n),
    "heddle_knowledge.chunking.options.MOST": lambda n: [*Chunking(n, parent=n).problems()],
    "heddle_knowledge.chunking.options.MOST_PARENT": lambda n: [*Chunking(parent=n).problems()],
    f"{_REQUESTS}._MAX_TITLE_CHARACTERS": lambda n: _collection(title="x" * n),
    f"{_REQUESTS}._MAX_ENTRIES": lambda n: _collection(metadata=_entries(n)),
    f"{_REQUESTS}._MAX_VALUE_CHARACTERS": lambda n: _collection(metadata={"k": "x" * n}),
    f"{_REQUESTS}._MAX_DOCUMENT_ENTRIES": lambda n: _ingestion(metadata=_entries(n)),
    f"{_REQUESTS}._MAX_DOCUMENT_VALUE_CHARACTERS": lambda n: _ingestion(metadata={"k": "x" * n}),
    f"{_REQUESTS}._MAX_URI_CHARACTERS": lambda n: _ingestion(uri="x" * n),
    f"{_REQUESTS}._MAX_SETTING_CHARACTERS": lambda n: _collection(
        backend="lamb-kb", settings={"collection_id": "x" * n}
    ),
    f"{_REQUESTS}._MAX_PASSAGES": lambda n: [
        *requests.search_violations(knowledge_pb2.SearchCollectionsRequest(top_k=n))
    ],
    f"{_USAGE}.entries.MOST": lambda n: (
        _recorded(entries=[_used(number + 1) for number in range(n)]) and None
    ),
    f"{_USAGE}.entries._LARGEST": lambda n: _recorded(entries=[_used(1, prompt_tokens=n)]) and None,
    f"{_USAGE}.entries._LONGEST_RECORDER": lambda n: _recorded(recorder="x" * n),
    f"{_USAGE}.prices.DEAREST": lambda n: _priced(n) and None,
    f"{_USAGE}.reservations.MAX_TOKENS": lambda n: _reserved(prompt_tokens=n),
    f"{_USAGE}.reservations.MAX_ID_CHARACTERS": lambda n: _reserved(reservation_id="x" * n),
    f"{_USAGE}.reservations.MAX_LIFETIME": lambda n: _reserved(lifetime=Duration(seconds=n)),
    "heddle_assistants.accounts.checks._LONGEST_NAME": lambda n: check_name("x" * n, "name"),
    "heddle_assistants.rubrics.content.LARGEST": lambda n: _rubric(n) and None,
    "heddle_runtime.limits.MAX_JSON_DEPTH": lambda n: exceeds_depth(
        _nested(n), import_module("heddle_runtime.limits").MAX_JSON_DEPTH
    ),
    "heddle_runtime.schema_references.MAX_SCHEMA_CHARACTERS": lambda n: _schema(n) and None,
    "heddle_gateway.openai.search_filters.MAX_VALUES": _membership,
}
"""By limit. A check returns something true, or raises, if it refuses a size."""


def value(limit: str) -> int:
    """Return the value of a limit."""
    module, _, name = limit.rpartition(".")
    number = getattr(import_module(module), name)
    return int(number.total_seconds()) if isinstance(number, timedelta) else int(number)


def refuses(check: Check, size: int) -> bool:
    """Return whether a check refuses a size."""
    try:
        return bool(check(size))
    except Exception:  # noqa: BLE001 - any refusal; a size below the limit must raise none
        return True
