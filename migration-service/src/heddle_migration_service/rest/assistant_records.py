"""An assistant as LAMB's clients read and write it, and as a record of the contract.

Metadata has two names, `metadata` and the older `api_callback`, of which the first counts, and two
forms, an object or the text of one. Responses have both names, as text, and the members that LAMB's
frontend reads at the top level. LAMB puts the number of the creator before new names. Heddle does
not: names are unique per owner.
"""

import json
import re
from typing import Any

from heddle.migration.v1.record_pb2 import Record
from heddle_gateway.admin.assistants import without_owner, without_secrets
from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.json_text import Place, parse
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.redaction import redact_personal

TOP_LEVEL_METADATA = (
    *("prompt_processor", "connector", "llm", "rag_processor"),
    *("capabilities", "rubric_id", "rubric_format", "file_path"),
)
REQUIRED_METADATA = TOP_LEVEL_METADATA[:4]
"""LAMB's editors always send these: without them they would save half an assistant."""
_METADATA_NAMES = ("metadata", "api_callback")
_SAME_NAMES = (
    *("name", "description", "system_prompt", "prompt_template"),
    *("pre_retrieval_endpoint", "post_retrieval_endpoint"),
)
_TEXTS = {
    **{name: name for name in _SAME_NAMES},
    "RAG_collections": "rag_collections",
    "RAG_endpoint": "rag_endpoint",
}
"""LAMB's members and the contract's."""
_EDITED = {"instructions": "system_prompt", **_TEXTS, "RAG_Top_k": "rag_top_k"}
"""The members of an edit. `instructions` is an older name, which counts only alone."""
_GROUP = ("group_id", "group_name", "oauth_consumer_name")
_CREATOR_PREFIX = re.compile(r"[0-9]+_")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_MAX_CHANGED_NAME = 50
_EXPORTED_TEXTS = ("name", "description", "system_prompt", "prompt_template")


def to_record(members: dict[str, Any], place: Place, *, malformed: bool = False) -> Record:
    """Return the record of a validated body.

    Args:
        members: The members of the body.
        place: Its place.
        malformed: Whether the metadata may be any text.

    Raises:
        InvalidRequestError: The metadata is not a JSON object.
    """
    record = Record()
    for name, field in _EDITED.items():
        if (value := members.get(name)) is not None:
            setattr(record, field, value)
    if (text := _metadata_text(members, place, malformed=malformed)) is not None:
        record.metadata_json = text
    return record


def check_metadata(record: Record) -> None:
    """Reject metadata without the members that LAMB's editors always send.

    Raises:
        InvalidRequestError: There is metadata and members are missing; the message names them.
    """
    if not record.HasField("metadata_json"):
        return
    metadata = _members(record.metadata_json)
    missing = [name for name in REQUIRED_METADATA if _is_blank(metadata.get(name))]
    if missing:
        raise invalid("metadata", f"lacks {', '.join(missing)}")


def valid_name(name: str) -> str:
    """Return a name that can be stored: `name`, or LAMB's version of an invalid one."""
    if _NAME.fullmatch(name):
        return name
    words = re.sub(r"\s+", "_", name.strip().lower())
    plain = re.sub(r"_+", "_", re.sub(r"[^a-z0-9_]", "", words, flags=re.ASCII))
    return plain.strip("_")[:_MAX_CHANGED_NAME].rstrip("_") or "untitled"


def edited_name(stored: str, name: str) -> str:
    """Return the name of an assistant after an edit.

    LAMB's editor hides the creator's number before a name, and sends the name without it.
    """
    prefix = _creator_prefix(stored)
    if name in (stored, stored.removeprefix(prefix)):
        return stored
    name = valid_name(name)
    return name if name.startswith(prefix) else prefix + name


def imported(export: dict[str, Any], edit: dict[str, Any], place: Place) -> Record:
    """Return the record of an export of LAMB, whose metadata may lack members of the top level.

    Args:
        export: The export.
        edit: Its validated members that `to_record` reads.
        place: Its place.

    Raises:
        InvalidRequestError: The export is invalid.
    """
    record = to_record(edit, place, malformed=True)
    promoted = _top_level(export)
    metadata = _members(record.metadata_json)
    understood = bool(metadata) or record.metadata_json in ("", "{}")
    if understood and promoted.keys() - metadata.keys():
        record.metadata_json = json.dumps(promoted | metadata)
    return record


def exported(record: Record) -> dict[str, Any]:
    """Return a record as LAMB exports it, without owner and secrets."""
    metadata = without_secrets(_members(record.metadata_json))
    text = json.dumps(metadata)
    if not metadata and record.metadata_json.strip() not in ("", "{}", "null"):  # malformed
        text = redact_personal(without_owner(record.metadata_json, record.owner))
    texts = {name: without_owner(getattr(record, name), record.owner) for name in _EXPORTED_TEXTS}
    return {
        **texts,
        "name": texts["name"].removeprefix(_creator_prefix(record.name)),
        "RAG_Top_k": _whole(record.rag_top_k),
        "RAG_collections": record.rag_collections or None,
        "metadata": text,
        "api_callback": text,
        **_top_level(metadata),
    }


def _creator_prefix(name: str) -> str:
    match = _CREATOR_PREFIX.match(name)
    return match[0] if match else ""


def to_lamb(record: Record, identity: Identity, *, changeable: bool) -> dict[str, Any]:
    """Return a record as LAMB returns it to `identity`, who may change it or not."""
    metadata = record.metadata_json if record.HasField("metadata_json") else None
    members: dict[str, Any] = {
        "id": lamb_id(record.id),
        "owner": record.owner,
        "organization": record.organization,
        "metadata": metadata,
        "api_callback": metadata,
        "RAG_Top_k": _whole(record.rag_top_k),
        "published": record.published,
        "published_at": record.publish_time.seconds or None,
        "created_at": record.create_time.seconds or None,
        "updated_at": record.update_time.seconds or None,
        "is_owner": record.owner == identity.subject,
        "access_level": "full" if changeable else "read_only",
    }
    # A client sends null back, which is not an edit.
    present = {field.name: value for field, value in record.ListFields()}
    members |= {name: present.get(field) for name, field in _TEXTS.items()}
    members |= {name: getattr(record, name) or None for name in _GROUP}
    return members | _top_level(_members(record.metadata_json))


def lamb_id(identifier: str) -> int | str:
    """Return an identifier in LAMB's form, a whole number."""
    plain = identifier.isascii() and identifier.isdecimal()
    return int(identifier) if plain and identifier[0] != "0" else identifier


def _top_level(metadata: dict[str, Any]) -> dict[str, Any]:
    return {name: metadata[name] for name in TOP_LEVEL_METADATA if name in metadata}


def _metadata_text(members: dict[str, Any], place: Place, *, malformed: bool) -> str | None:
    """Return the text of the object under either name, None if there is none."""
    name = next((name for name in _METADATA_NAMES if members.get(name) is not None), None)
    if name is None:
        return None
    text = members[name]
    if isinstance(text, dict):
        return place.at(name).text()
    if not text.strip():
        return "{}"
    try:
        parse(text.encode("utf-8", "surrogatepass"))
    except InvalidRequestError as error:
        if malformed:
            return str(text)
        reason = f"is not the text of a JSON object: {error.message.rstrip('.')}"
        raise place.at(name).invalid(reason) from None
    return str(text)


def _members(text: str) -> dict[str, Any]:
    """Return the members of an object, none if the text is not one."""
    try:
        return parse(text.encode())[0]
    except InvalidRequestError:  # LAMB stores any text
        return {}


def _is_blank(value: object) -> bool:
    return not isinstance(value, str) or not value.strip()


def _whole(text: str) -> int | str | None:
    """Return a whole number, or the text if it is not the usual form of one."""
    try:
        number = int(text)
    except ValueError:
        return text or None
    return number if str(number) == text else text
