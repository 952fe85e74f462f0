"""Assistants as files: written for another installation, read from ours and from LAMB's.

The form is LAMB's own, its keys at the top and the metadata with the keys of both formats, so that
LAMB reads it too; `format` tells ours apart.
"""

import json
from dataclasses import dataclass
from typing import Any

from heddle_conversion import (
    LegacyColumns,
    legacy_columns,
    legacy_new,
    legacy_view,
    metadata_of,
)
from heddle_conversion.contract_tools import text as text_of
from heddle_runtime.errors import (
    InvalidRequestError,
    MalformedAssistantError,
    NewerFormatError,
    Violation,
)
from heddle_runtime.redaction import REDACTED, redact, redact_value

FORMAT = "heddle.assistant/1"
_TEXTS = ("description", "system_prompt", "prompt_template")
_PIECE = 10_000  # characters; more are cut off where text is redacted
# What LAMB's clients show, and export, beside the metadata.
_PROMOTED = (
    *("prompt_processor", "connector", "llm", "rag_processor"),
    *("capabilities", "rubric_id", "rubric_format", "file_path"),
)


@dataclass(frozen=True, slots=True)
class Exportable:
    """What is exported of an assistant, and the owner, who is not."""

    name: str
    description: str | None
    system_prompt: str | None
    prompt_template: str | None
    document: dict[str, Any]
    columns: LegacyColumns
    owner: str


def exported(assistant: Exportable) -> str:
    """Return the text of a file.

    Nothing of the metadata that looks like a secret or an e-mail address gets into it; the texts
    are the author's own words, from which only the owner's address is taken out.
    """
    shown = legacy_columns(assistant.document, assistant.columns)
    file = {
        "format": FORMAT,
        "name": assistant.name,
        **{key: _without_owner(getattr(assistant, key), assistant.owner) for key in _TEXTS},
        "RAG_Top_k": shown.top_k,
        "RAG_collections": shown.collections,
        "metadata": _without_secrets(legacy_view(assistant.document)),
    }
    return json.dumps(file, allow_nan=False, indent=2)


def imported(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the document and the columns of the assistant in a file.

    Raises:
        InvalidRequestError: The file is not an assistant, or one of a newer format.
    """
    file = _object(text)
    columns = {key: file.get(key) for key in ("name", *_TEXTS)}
    columns["rag_collections"] = file.get("RAG_collections")
    for key, value in columns.items():
        if not (value is None or _is_text(value)):
            raise _refused(f"has a {key} that is not a text")
    top_k = file.get("RAG_Top_k")
    if not (top_k is None or isinstance(top_k, str | int)) or isinstance(top_k, bool):
        raise _refused("has a RAG_Top_k that is not a number")
    try:
        metadata = dict(metadata_of(file) or {})
        for key in _PROMOTED:
            if key in file:
                metadata.setdefault(key, file[key])
        document = legacy_new(metadata, LegacyColumns(top_k, columns["rag_collections"]))
    except (MalformedAssistantError, NewerFormatError) as error:
        raise _refused(f"has metadata that {error.violations[0].description}") from None
    return document, {**columns, "name": columns["name"] or "", "rag_top_k": top_k}


def _is_text(value: object) -> bool:
    """Say whether a value is a text that a row can hold: without NUL and halves of characters."""
    return isinstance(value, str) and "\0" not in value and text_of(value) == value


def _object(text: str) -> dict[str, Any]:
    try:
        file = json.loads(text)
    except (ValueError, RecursionError):
        raise _refused("is not JSON") from None
    if not isinstance(file, dict):
        raise _refused("is not a JSON object")
    known = file.get("format", FORMAT)
    if known != FORMAT:
        raise _refused(f"has a format that this release does not know; it knows {FORMAT!r}")
    return file


def _refused(what: str) -> InvalidRequestError:
    violation = Violation("document_json", what)
    return InvalidRequestError(f"The file to import {what}.", [violation])


def _without_owner(text: str | None, owner: str) -> str | None:
    return text.replace(owner, REDACTED) if text and owner else text


def _without_secrets(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    match value:
        case str():
            pieces = range(0, len(value), _PIECE)
            return "".join(redact(value[start : start + _PIECE]) for start in pieces)
        case dict():
            return {
                key: _without_secrets(item)
                for key, item in value.items()
                if redact_value(item, key) != REDACTED
            }
        case list():
            return [_without_secrets(item) for item in value]
        case _:
            return value
