"""Assistants for another installation: without owner and secrets."""

import json
from typing import Any

import msgspec
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion.assistant_json import write_assistant
from heddle_runtime.redaction import REDACTED, redact_personal, redact_value

_INSTALLATION = ("id", "owner", "organization", "created")
"""Members that mean nothing in another installation."""
_TEXTS = ("name", "description", "system_prompt", "prompt_template")


def exported(assistant: pb.Assistant) -> dict[str, Any]:
    """Return the JSON form of an assistant for another installation, without owner and secrets.

    The author's texts stay as they are, without the owner's address.
    """
    members = write_assistant(assistant, _embedded_without_secrets)
    for name in _INSTALLATION:
        members.pop(name)
    texts = {name: without_owner(members[name], assistant.owner) for name in _TEXTS}
    return {**without_secrets(members), **texts}


def exported_malformed(response: pb.GetAssistantResponse) -> dict[str, Any]:
    """Return an assistant with malformed metadata as it is stored, without owner and secrets."""
    assistant = response.assistant
    texts = {name: without_owner(getattr(assistant, name), assistant.owner) for name in _TEXTS}
    metadata = without_owner(response.malformed_metadata, assistant.owner)
    return {**texts, "metadata": redact_personal(metadata)}


def _embedded_without_secrets(text: str) -> msgspec.Raw:
    # JSON may hold halves of characters, which only this form of it keeps.
    return msgspec.Raw(json.dumps(without_secrets(json.loads(text))).encode())


def without_owner(text: str, owner: str) -> str:
    """Return a text without the owner's address."""
    return text.replace(owner, REDACTED) if owner else text


def without_secrets(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value without members and texts that look like a secret or an address."""
    match value:
        case str():
            return redact_personal(value)
        case dict():
            return {
                key: without_secrets(item)
                for key, item in value.items()
                if redact_value(item, key) != REDACTED
            }
        case list():
            return [without_secrets(item) for item in value]
        case _:
            return value
