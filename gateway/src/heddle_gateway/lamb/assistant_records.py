"""An assistant as LAMB's own clients know it, and as a record of the contract.

Metadata has two names there, `metadata` and the older `api_callback`, of which the first counts,
and two forms, an object or the text of one. Answers carry both names, as text, and the members
that LAMB's frontend reads at the top. New names are kept as they are given: LAMB puts the number
of the creator before them, which Heddle does not need to tell one owner's assistants from
another's.
"""

import re
from typing import Any

from heddle.migration.v1.record_pb2 import Record
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.identity import Identity

from heddle_gateway.auth.permissions import may_change
from heddle_gateway.http import validation
from heddle_gateway.http.json_text import Place, parse

PROMOTED = (
    *("prompt_processor", "connector", "llm", "rag_processor"),
    *("capabilities", "rubric_id", "rubric_format", "file_path"),
)
REQUIRED = PROMOTED[:4]
"""What LAMB's editors always send: without it they would save half an assistant."""
_METADATA = ("metadata", "api_callback")
_TEXTS = {
    "name": "name",
    "description": "description",
    "prompt_template": "prompt_template",
    "RAG_collections": "rag_collections",
    "RAG_endpoint": "rag_endpoint",
    "pre_retrieval_endpoint": "pre_retrieval_endpoint",
    "post_retrieval_endpoint": "post_retrieval_endpoint",
}
"""LAMB's members and ours."""
_GROUP = ("group_id", "group_name", "oauth_consumer_name")
_CREATOR = re.compile(r"[0-9]+_")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_SHORTENED = 50  # characters of a name that had to be changed


def record(given: dict[str, Any], place: Place) -> Record:
    """Return what a body sets. Members that LAMB does not know either are not read.

    Raises:
        InvalidRequestError: The body is wrong.
    """
    read = Record()
    for name, ours in _TEXTS.items():
        if (value := given.get(name)) is not None:
            setattr(read, ours, validation.text(value, place, name))
    for name in ("system_prompt", "instructions"):  # the second is older; it counts alone
        if (value := given.get(name)) is not None:
            read.system_prompt = validation.text(value, place, name)
            break
    if (value := given.get("RAG_Top_k")) is not None:
        read.rag_top_k = _top_k(value, place / "RAG_Top_k")
    if (text := _metadata(given, place)) is not None:
        read.metadata_json = text
    return read


def check_metadata(changed: Record) -> None:
    """Refuse metadata without what LAMB's editors always send.

    Raises:
        InvalidRequestError: There is metadata, and it lacks something; the message names it.
    """
    if not changed.HasField("metadata_json"):
        return
    said = _members(changed.metadata_json)
    blank = [name for name in REQUIRED if not _says(said.get(name))]
    if blank:
        what = f"lacks {', '.join(blank)}"
        raise InvalidRequestError(f"The metadata {what}.", [Violation("metadata", what)])


def plain_name(sent: str) -> str:
    """Return a name that can be kept: `sent`, or what LAMB makes of one that breaks the rule."""
    if _NAME.fullmatch(sent):
        return sent
    words = re.sub(r"\s+", "_", sent.strip().lower())
    known = re.sub(r"_+", "_", re.sub(r"[^a-z0-9_]", "", words, flags=re.ASCII))
    return known.strip("_")[:_SHORTENED].rstrip("_") or "untitled"


def told_name(kept: str, sent: str) -> str:
    """Return the name that an edit gives an assistant.

    LAMB's editor hides the creator's number before a name, and sends the name without it.
    """
    found = _CREATOR.match(kept)
    creator = found[0] if found else ""
    if sent in (kept, kept.removeprefix(creator)):
        return kept
    name = plain_name(sent)
    return name if name.startswith(creator) else creator + name


def exported(document_json: str) -> dict[str, Any]:
    """Return an exported assistant as LAMB's frontend reads it: with its metadata as text."""
    document, exact = parse(document_json.encode())
    metadata = Place(exact).at("metadata").text()
    told = document | {"metadata": metadata, "api_callback": metadata}
    return told | _promoted(document["metadata"])


def view(kept: Record, identity: Identity) -> dict[str, Any]:
    """Return a record as LAMB answers it to `identity`."""
    metadata = kept.metadata_json if kept.HasField("metadata_json") else None
    members = _members(kept.metadata_json)
    mine = may_change(identity, kept.owner, kept.organization)
    told: dict[str, Any] = {
        "id": number(kept.id),
        "owner": kept.owner,
        "organization": kept.organization,
        "metadata": metadata,
        "api_callback": metadata,
        "RAG_Top_k": _whole(kept.rag_top_k),
        "published": kept.published,
        "published_at": kept.publish_time.seconds or None,
        "created_at": kept.create_time.seconds or None,
        "updated_at": kept.update_time.seconds or None,
        "is_owner": kept.owner == identity.subject,
        "access_level": "full" if mine else "read_only",
    }
    # What is null comes back as null, and is not an edit then.
    present = {field.name: value for field, value in kept.ListFields()}
    told |= {name: present.get(ours) for name, ours in _TEXTS.items()}
    told["system_prompt"] = present.get("system_prompt")
    told |= {name: getattr(kept, name) or None for name in _GROUP}
    return told | _promoted(members)


def number(identifier: str) -> int | str:
    """Return an identifier as LAMB writes it, a whole number."""
    plain = identifier.isascii() and identifier.isdecimal()
    return int(identifier) if plain and identifier[0] != "0" else identifier


def _promoted(metadata: dict[str, Any]) -> dict[str, Any]:
    return {name: metadata[name] for name in PROMOTED if name in metadata}


def _metadata(given: dict[str, Any], place: Place) -> str | None:
    """Return the text of the object under either name, None if there is none."""
    name = next((name for name in _METADATA if given.get(name) is not None), None)
    match given.get(name) if name else None:
        case None:
            return None
        case dict():
            return place.at(name or "").text()
        case str(text):
            return _checked(text, place.at(name or "")) if text.strip() else "{}"
        case _:
            raise place.at(name or "").wrong("must be a JSON object, or the text of one")


def _checked(text: str, place: Place) -> str:
    try:
        parse(text.encode("utf-8", "surrogatepass"))
    except InvalidRequestError as error:
        what = f"is not the text of a JSON object: {error.message.rstrip('.')}"
        raise place.wrong(what) from None
    return text


def _members(text: str) -> dict[str, Any]:
    """Return the members of an object, none if the text is not one."""
    try:
        return parse(text.encode())[0]
    except InvalidRequestError:  # kept by LAMB, which does not look
        return {}


def _top_k(value: object, place: Place) -> str:
    match value:
        case bool():
            pass
        case int() | str():
            return str(value)
        case float() if value.is_integer():
            return str(int(value))
    raise place.wrong("must be a whole number")


def _says(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _whole(text: str) -> int | str | None:
    """Return a whole number, or the text as it is if it is not how one is written."""
    try:
        found = int(text)
    except ValueError:
        return text or None
    return found if str(found) == text else text
