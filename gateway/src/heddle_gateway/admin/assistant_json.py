"""An assistant in its written form, `_format_version` 2, and in the contract.

Files of assistants and `/assistants` share this form. What it does not
model is in the member `extra`, of the assistant or of a tool, and is preserved.
"""

from typing import Any

import msgspec
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.limits import MAX_TOOL_ROUNDS, MAX_TOOLS
from heddle_runtime.struct_codec import from_struct

from heddle_gateway.http import validation
from heddle_gateway.http.json_text import Place

FORMAT_VERSION = 2
MAX_TIMEOUT_SECONDS = 86_400.0
MODES = {"augment": pb.MODE_AUGMENT, "function": pb.MODE_FUNCTION, "agent": pb.MODE_AGENT}
POLICIES = {
    "note": pb.FAILURE_POLICY_NOTE,
    "omit": pb.FAILURE_POLICY_OMIT,
    "fail": pb.FAILURE_POLICY_FAIL,
}
_MODE_NAMES = {mode: name for name, mode in MODES.items()}
_POLICY_NAMES = {policy: name for name, policy in POLICIES.items()}
_TEXTS = (
    *("id", "name", "title", "description", "owner", "organization"),
    *("system_prompt", "prompt_template", "strategy", "prompt_processor"),
)
_FLAGS = ("verbose", "cite_sources")
_ROUNDS = "max_tool_rounds"
_CAPABILITIES = ("vision", "image_generation")
_MEMBERS = frozenset(
    {
        *("_format_version", "published", "created", "model", "tools", "capabilities", "extra"),
        *(_TEXTS + _FLAGS + (_ROUNDS,)),
    }
)
_TOOL_MEMBERS = frozenset(
    {"id", "type", "mode", "enabled", "slot", "config", "on_failure", "timeout", "extra"}
)


def document(assistant: pb.Assistant, *, published: bool | None = None) -> dict[str, Any]:
    """Return the written form of an assistant.

    Args:
        assistant: The assistant.
        published: Whether others may use it; left out if that is not known.
    """
    members: dict[str, Any] = {"_format_version": FORMAT_VERSION}
    members |= {name: getattr(assistant, name) for name in (*_TEXTS, *_FLAGS, _ROUNDS)}
    members["created"] = assistant.create_time.seconds
    members["model"] = {"connector": assistant.model.connector, "model": assistant.model.model}
    members["tools"] = [_tool(binding) for binding in assistant.tools]
    members["capabilities"] = capabilities(assistant.capabilities)
    members["extra"] = msgspec.Raw(assistant.extra_json.encode() or b"{}")
    if published is not None:
        members["published"] = published
    return members


def capabilities(able: pb.Capabilities) -> dict[str, bool]:
    """Return what an assistant can do besides text."""
    return {name: getattr(able, name) for name in _CAPABILITIES}


def assistant(members: dict[str, Any], place: Place) -> pb.Assistant:
    """Return the assistant of a document; missing members are empty.

    The creation time and the publication are ignored.

    Raises:
        InvalidRequestError: The document is invalid.
    """
    _reject_unknown(members, place, _MEMBERS)
    if (version := members.get("_format_version")) not in (None, FORMAT_VERSION):
        reason = f"must be {FORMAT_VERSION}, not {str(version)[:20]}"
        raise place.at("_format_version").invalid(reason)
    read = pb.Assistant(extra_json=_extra(members, place))
    for name in _TEXTS:
        if (value := members.get(name)) is not None:
            setattr(read, name, _text(value, place, name))
    for name in _FLAGS:
        if (value := members.get(name)) is not None:
            setattr(read, name, validation.flag(value, place, name))
    if (value := members.get(_ROUNDS)) is not None:
        read.max_tool_rounds = validation.whole(value, place, _ROUNDS, low=0, high=MAX_TOOL_ROUNDS)
    if (able := members.get("capabilities")) is not None:
        _read_capabilities(
            read.capabilities, validation.mapping(able, place, "capabilities"), place
        )
    _read_model(
        read.model, validation.mapping(members.get("model"), place, "model"), place / "model"
    )
    if (tools := members.get("tools")) is not None:
        for index, item in enumerate(validation.items(tools, place, "tools", max_items=MAX_TOOLS)):
            at = place / "tools" / index
            read.tools.append(_binding(validation.mapping(item, at), at))
    return read


def _text(value: object, place: Place, name: str) -> str:
    text = validation.text(value, place, name)
    if "\0" in text:
        raise place.at(name).invalid("must not contain the character NUL")
    return text


def _tool(binding: pb.ToolBinding) -> dict[str, Any]:
    members: dict[str, Any] = {
        "id": binding.id,
        "type": binding.tool,
        "mode": _MODE_NAMES.get(binding.mode, "augment"),
        "enabled": not binding.disabled,
        "slot": binding.slot,
        "config": from_struct(binding.config),
    }
    if binding.on_failure in _POLICY_NAMES:  # writing the default out would be an edit
        members["on_failure"] = _POLICY_NAMES[binding.on_failure]
    if binding.HasField("timeout"):
        members["timeout"] = binding.timeout.ToNanoseconds() / 1e9
    if binding.extra_json:
        members["extra"] = msgspec.Raw(binding.extra_json.encode())
    return members


def _binding(members: dict[str, Any], place: Place) -> pb.ToolBinding:
    _reject_unknown(members, place, _TOOL_MEMBERS)
    read = pb.ToolBinding(
        tool=validation.text(members.get("type"), place, "type", empty=False),
        extra_json=_extra(members, place),
    )
    for name in ("id", "slot"):
        if (value := members.get(name)) is not None:
            setattr(read, name, validation.text(value, place, name))
    if (value := members.get("mode")) is not None:
        read.mode = MODES[validation.choice(value, place, "mode", options=MODES)]
    if (value := members.get("on_failure")) is not None:
        read.on_failure = POLICIES[validation.choice(value, place, "on_failure", options=POLICIES)]
    if (value := members.get("enabled")) is not None:
        read.disabled = not validation.flag(value, place, "enabled")
    if (value := members.get("config")) is not None:
        read.config.CopyFrom(validation.struct(value, place, "config"))
    if (value := members.get("timeout")) is not None:
        seconds = validation.number(value, place, "timeout", low=0.001, high=MAX_TIMEOUT_SECONDS)
        read.timeout.FromNanoseconds(round(seconds * 1e9))
    return read


def _read_model(model: pb.ModelRef, members: dict[str, Any], place: Place) -> None:
    _reject_unknown(members, place, frozenset({"connector", "model"}))
    model.connector = validation.text(members.get("connector"), place, "connector", empty=False)
    model.model = validation.text(members.get("model"), place, "model", empty=False)


def _read_capabilities(able: pb.Capabilities, members: dict[str, Any], place: Place) -> None:
    at = place / "capabilities"
    _reject_unknown(members, at, frozenset(_CAPABILITIES))
    for name, value in members.items():
        if value is not None:
            setattr(able, name, validation.flag(value, at, name))


def _extra(parent: dict[str, Any], place: Place) -> str:
    """Return the text of the member `extra`; empty if it has no members."""
    value = parent.get("extra")
    members = value is not None and validation.mapping(value, place, "extra")
    return place.at("extra").text() if members else ""


def _reject_unknown(members: dict[str, Any], place: Place, known: frozenset[str]) -> None:
    """Reject unknown members: a misspelt one would have no effect."""
    for name in members:
        if name not in known:
            raise place.at(name).invalid("is not known here; put members to preserve into extra")
