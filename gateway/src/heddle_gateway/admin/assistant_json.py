"""An assistant in its written form, `_format_version` 2, and in the contract.

The written form is what files of assistants and `/assistants` have in common. What it does not
model stands in the member `extra`, of the assistant or of a tool, and is kept as it is.
"""

from typing import Any

import msgspec
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.limits import MAX_TOOL_ROUNDS, MAX_TOOLS
from heddle_runtime.struct_codec import from_struct

from heddle_gateway.http import validation
from heddle_gateway.http.json_text import Place

FORMAT_VERSION = 2
LONGEST_TIMEOUT = 86_400.0  # seconds
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
    told: dict[str, Any] = {"_format_version": FORMAT_VERSION}
    told |= {name: getattr(assistant, name) for name in (*_TEXTS, *_FLAGS, _ROUNDS)}
    told["created"] = assistant.create_time.seconds
    told["model"] = {"connector": assistant.model.connector, "model": assistant.model.model}
    told["tools"] = [_tool(binding) for binding in assistant.tools]
    told["capabilities"] = capabilities(assistant.capabilities)
    told["extra"] = msgspec.Raw(assistant.extra_json.encode() or b"{}")
    if published is not None:
        told["published"] = published
    return told


def capabilities(able: pb.Capabilities) -> dict[str, bool]:
    """Return what an assistant can do besides text."""
    return {name: getattr(able, name) for name in _CAPABILITIES}


def assistant(given: dict[str, Any], place: Place) -> pb.Assistant:
    """Return the assistant that a document describes, whole: what it lacks is empty.

    When it was made is not read, and neither is whether it is published.

    Raises:
        InvalidRequestError: The document is wrong.
    """
    _refuse_others(given, place, _MEMBERS)
    if (version := given.get("_format_version")) not in (None, FORMAT_VERSION):
        found = f"must be {FORMAT_VERSION}, not {str(version)[:20]}"
        raise place.at("_format_version").wrong(found)
    read = pb.Assistant(extra_json=_extra(given, place))
    for name in _TEXTS:
        if (value := given.get(name)) is not None:
            setattr(read, name, validation.text(value, place, name))
    for name in _FLAGS:
        if (value := given.get(name)) is not None:
            setattr(read, name, validation.flag(value, place, name))
    if (value := given.get(_ROUNDS)) is not None:
        read.max_tool_rounds = validation.whole(value, place, _ROUNDS, low=0, high=MAX_TOOL_ROUNDS)
    if (able := given.get("capabilities")) is not None:
        _read_capabilities(
            read.capabilities, validation.mapping(able, place, "capabilities"), place
        )
    _read_model(read.model, validation.mapping(given.get("model"), place, "model"), place / "model")
    if (tools := given.get("tools")) is not None:
        for index, item in enumerate(validation.items(tools, place, "tools", most=MAX_TOOLS)):
            at = place / "tools" / index
            read.tools.append(_binding(validation.mapping(item, at), at))
    return read


def _tool(binding: pb.ToolBinding) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": binding.id,
        "type": binding.tool,
        "mode": _MODE_NAMES.get(binding.mode, "augment"),
        "enabled": not binding.disabled,
        "slot": binding.slot,
        "config": from_struct(binding.config),
    }
    if binding.on_failure in _POLICY_NAMES:  # writing the default out would be an edit
        told["on_failure"] = _POLICY_NAMES[binding.on_failure]
    if binding.HasField("timeout"):
        told["timeout"] = binding.timeout.ToNanoseconds() / 1e9
    if binding.extra_json:
        told["extra"] = msgspec.Raw(binding.extra_json.encode())
    return told


def _binding(given: dict[str, Any], place: Place) -> pb.ToolBinding:
    _refuse_others(given, place, _TOOL_MEMBERS)
    read = pb.ToolBinding(
        tool=validation.text(given.get("type"), place, "type", empty=False),
        extra_json=_extra(given, place),
    )
    for name in ("id", "slot"):
        if (value := given.get(name)) is not None:
            setattr(read, name, validation.text(value, place, name))
    if (value := given.get("mode")) is not None:
        read.mode = MODES[validation.choice(value, place, "mode", among=MODES)]
    if (value := given.get("on_failure")) is not None:
        read.on_failure = POLICIES[validation.choice(value, place, "on_failure", among=POLICIES)]
    if (value := given.get("enabled")) is not None:
        read.disabled = not validation.flag(value, place, "enabled")
    if (value := given.get("config")) is not None:
        read.config.CopyFrom(validation.struct(value, place, "config"))
    if (value := given.get("timeout")) is not None:
        seconds = validation.number(value, place, "timeout", low=0.001, high=LONGEST_TIMEOUT)
        read.timeout.FromNanoseconds(round(seconds * 1e9))
    return read


def _read_model(model: pb.ModelRef, given: dict[str, Any], place: Place) -> None:
    _refuse_others(given, place, frozenset({"connector", "model"}))
    model.connector = validation.text(given.get("connector"), place, "connector", empty=False)
    model.model = validation.text(given.get("model"), place, "model", empty=False)


def _read_capabilities(able: pb.Capabilities, given: dict[str, Any], place: Place) -> None:
    at = place / "capabilities"
    _refuse_others(given, at, frozenset(_CAPABILITIES))
    for name, value in given.items():
        if value is not None:
            setattr(able, name, validation.flag(value, at, name))


def _extra(given: dict[str, Any], place: Place) -> str:
    """Return the text of the member `extra`; empty if it says nothing."""
    value = given.get("extra")
    said = value is not None and validation.mapping(value, place, "extra")
    return place.at("extra").text() if said else ""


def _refuse_others(given: dict[str, Any], place: Place, known: frozenset[str]) -> None:
    """Refuse members that nobody knows: a misspelt one would do nothing."""
    for name in given:
        if name not in known:
            what = "is not known here; what is to be kept all the same goes into extra"
            raise place.at(name).wrong(what)
