"""The bindings of a document as the contract, and back."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.contract.limits import is_tool_timeout
from heddle_runtime.contract.struct_codec import from_struct, to_struct
from heddle_runtime.contract.unicode_text import valid_text

from heddle_conversion.bindings import normal, numbered, text_identifiers
from heddle_conversion.json_text import dump, parse, same
from heddle_conversion.library_items import is_library_file, tool_config, tool_name

_LARGEST_EXACT = 2**53
_MODES = {
    "augment": pb.MODE_AUGMENT,
    "function": pb.MODE_FUNCTION,
    "agent": pb.MODE_AGENT,
}
CHANGES = {
    "": pb.CHANGE_POLICY_UNSPECIFIED,
    "run": pb.CHANGE_POLICY_RUN,
    "ask": pb.CHANGE_POLICY_ASK,
    "never": pb.CHANGE_POLICY_NEVER,
}
_POLICIES: Mapping[str, Mapping[str, int]] = {
    "on_failure": {
        "note": pb.FAILURE_POLICY_NOTE,
        "omit": pb.FAILURE_POLICY_OMIT,
        "fail": pb.FAILURE_POLICY_FAIL,
    },
    "on_change": {name: policy for name, policy in CHANGES.items() if name},
}
_MODELLED = {"id", "type", "mode", "enabled", "slot", "config", "timeout", *_POLICIES}
_MODE_NAMES = {mode: name for name, mode in _MODES.items()}


def to_contract(tools: object) -> list[pb.ToolBinding]:
    """Return the bindings that the value of `metadata.tools` describes, in whatever shape."""
    return [_binding(binding) for binding in numbered(normal(tools).bindings)]


def from_contract(bindings: Iterable[pb.ToolBinding]) -> list[dict[str, Any]]:
    """Return the value of `metadata.tools` for bindings.

    Raises:
        MalformedMetadataError: The `extra_json` of one is not the text of an object.
    """
    return [_document(binding) for binding in bindings]


def merged(
    bindings: list[dict[str, Any]], before: list[dict[str, Any]], now: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return `now` with the members of a binding that the contract does not have.

    Args:
        bindings: The bindings as they were kept.
        before: The same as the contract told them.
        now: The same as the contract tells them now.
    """
    stored = {binding["id"]: binding for binding in numbered(bindings)}
    contract = {binding["id"]: binding for binding in before if "id" in binding}
    return [
        overlaid(stored.get(binding.get("id"), {}), contract.get(binding.get("id"), {}), binding)
        for binding in now
    ]


def text(value: object) -> str:
    """Return a text that protobuf can hold; "" for anything that is none.

    What UTF-8 cannot hold, lone halves of surrogate pairs, becomes U+FFFD.
    """
    return valid_text(value) if isinstance(value, str) else ""


def overlaid(stored: dict[str, Any], before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return `stored` with the differences between `before` and `now`."""
    changed = {k: v for k, v in now.items() if k not in before or not same(v, before[k])}
    stays = {k: v for k, v in stored.items() if k in now or k not in before}
    return {**stays, **changed}


def _binding(document: dict[str, Any]) -> pb.ToolBinding:
    binding = _modelled(document)
    members = _members(binding)
    extra = {k: v for k, v in document.items() if k not in members or not same(v, members[k])}
    if extra:
        binding.extra_json = dump(extra)
    return binding


def _modelled(document: dict[str, Any]) -> pb.ToolBinding:
    """Return the fields of the contract for a binding."""
    binding = pb.ToolBinding(
        id=text(document["id"]),
        tool=tool_name(text(document["type"])),
        mode=_MODES[document["mode"]],
        disabled=not document["enabled"],
        slot=text(document.get("slot")),
        config=to_struct(_exact(tool_config(document["type"], document["config"]))),
    )
    for member, policies in _POLICIES.items():
        policy = document.get(member)
        if isinstance(policy, str) and policy in policies:
            setattr(binding, member, policies[policy])
    if is_tool_timeout(seconds := document.get("timeout")):
        binding.timeout.FromNanoseconds(math.ceil(seconds * 1e9))
    return binding


def _document(binding: pb.ToolBinding) -> dict[str, Any]:
    """Return a binding's document: what `extra_json` says counts where it still means the same."""
    now = _members(binding)
    if not binding.extra_json:
        return now
    extra = parse(binding.extra_json)
    read = normal([{"type": binding.tool, **extra}]).bindings
    was = _members(_modelled(numbered(read)[0])) if read else {}
    if is_library_file(extra.get("type")) and not same(was.get("config"), now["config"]):
        del extra["type"]  # it is another file now, which the old processor cannot read
    extra_members = {
        key: value
        for key, value in extra.items()
        if key not in _MODELLED or same(was.get(key), now.get(key))
    }
    return now | extra_members


def _members(binding: pb.ToolBinding) -> dict[str, Any]:
    """Return the members that the typed fields hold."""
    config = from_struct(binding.config)
    document: dict[str, Any] = {
        "type": binding.tool,
        "mode": _MODE_NAMES.get(binding.mode, "augment"),
        "enabled": not binding.disabled,
        "config": config | text_identifiers(config),
    }
    if binding.id:
        document["id"] = binding.id
    if binding.slot:
        document["slot"] = binding.slot
    for member, policies in _POLICIES.items():
        for name, policy in policies.items():
            if getattr(binding, member) == policy:
                document[member] = name
    if binding.HasField("timeout"):
        seconds = binding.timeout.ToNanoseconds() / 1e9
        document["timeout"] = int(seconds) if seconds.is_integer() else seconds
    return document


def _exact(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value that a `Struct` holds exactly; a number too large for one becomes its text."""
    match value:
        case bool():
            return value
        case int() if abs(value) > _LARGEST_EXACT:
            return str(value)
        case str():
            return text(value)
        case list():
            return [_exact(item) for item in value]
        case dict():
            return {text(key): _exact(item) for key, item in value.items()}
        case _:
            return value
