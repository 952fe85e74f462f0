"""The fields of a record behind the fields of its row."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from google.rpc.error_details_pb2 import BadRequest
from heddle_conversion.bindings import normal, numbered
from heddle_conversion.processors import MEMBERS
from heddle_runtime.errors import HeddleError, Violation, from_rpc

from heddle_migration_service.metadata.legacy_view import legacy_binding

_METADATA = "row.metadata"
_COLUMNS = {"config.top_k": "rag_top_k", "config.collections": "rag_collections"}


class RecordFields:
    """Names fields of a row as the client that sent the record knows them."""

    def __init__(self, document: dict[str, Any], sent: dict[str, Any] | None) -> None:
        """Take the metadata of the row, and the metadata that the client sent."""
        bindings = numbered(normal(document.get("tools")).bindings)
        tools = (sent or {}).get("tools")
        self._sent = len(tools) if isinstance(tools, list) else 0
        # A conversion puts the tool of LAMB's processor before the others.
        self._added = max(0, len(bindings) - self._sent)
        processor = legacy_binding(bindings)
        self._processor = None if processor is None else bindings.index(processor)

    def field(self, field: str) -> str:
        """Return the field of the record for a field of the row."""
        if not field.startswith(_METADATA):
            return f"record.{field.removeprefix('row.')}"
        path = field.removeprefix(_METADATA).removeprefix(".")
        if path.startswith("tools["):
            path = self._of_tool(path)
            if path in _COLUMNS.values():
                return f"record.{path}"
        return f"record.metadata_json.{path}".rstrip(".")

    def warnings(
        self, warnings: Iterable[BadRequest.FieldViolation]
    ) -> list[BadRequest.FieldViolation]:
        """Return warnings about the row as warnings about the record."""
        return [
            BadRequest.FieldViolation(field=self.field(each.field), description=each.description)
            for each in warnings
        ]

    def _of_tool(self, path: str) -> str:
        number, _, member = path.removeprefix("tools[").partition("].")
        index = int(number)
        if index == self._processor and index < self._added:
            for name, column in _COLUMNS.items():
                if member == name or member.startswith(f"{name}["):
                    return column
            if member == "type":
                return "rag_processor"
            return MEMBERS.get(member.removeprefix("config."), path)
        return f"tools[{index - self._added if self._sent else index}].{member}"


@contextmanager
def errors_about_records(fields: RecordFields) -> Iterator[None]:
    """Let errors of the assistants service name the fields of the caller's request."""
    try:
        yield
    except grpc.aio.AioRpcError as rpc_error:
        error = from_rpc(rpc_error)
        if any(each.field.startswith("row.") for each in error.violations):
            violations = [
                Violation(fields.field(each.field), each.description) for each in error.violations
            ]
            error = _with_violations(error, violations)
        raise error from rpc_error


def _with_violations(error: HeddleError, violations: list[Violation]) -> HeddleError:
    kind = type(error)
    return kind(error.message, violations, retry_after=error.retry_after, **error.metadata)
