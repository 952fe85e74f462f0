"""The body of a request in the dialect of OpenAI's chat completions."""

from collections.abc import Mapping
from typing import Any

import msgspec

from heddle_connector.generation.call import Call

# Where the contract has a field, the field alone counts.
_MODELLED = frozenset(
    {"model", "messages", "stream", "temperature", "top_p", "max_tokens", "stop", "seed", "tools"}
)
# Members by which a request could send the operator's key elsewhere (CVE-2024-6587). We never read
# them, and no proxy behind us shall.
_FORBIDDEN = frozenset({"api_base", "api_key", "base_url"})
_NOT_HANDED_ON = _MODELLED | _FORBIDDEN
# Members of `metadata` that Heddle's own tools are asked with. OpenAI takes metadata only of what
# it stores, so a request that has no others goes without.
_FOR_TOOLS = frozenset({"current_file", "current_lines"})
_CHOICES = ("temperature", "top_p", "max_tokens", "seed")


def completion_body(call: Call, *, stream: bool) -> dict[str, Any]:
    """Return the request for `call`; everything that the client sent is in it."""
    options = call.options
    body: dict[str, Any] = {"model": call.model, "messages": call.messages}
    for name in _CHOICES:
        if (chosen := getattr(options, name)) is not None:
            body[name] = chosen
    if options.stop:
        body["stop"] = options.stop
    if extra := options.extra:
        _hand_on(extra, body)
    if functions := call.functions:
        body["tools"] = functions
    about_stream = body.pop("stream_options", None)  # refused where nothing is streamed
    if stream:
        body["stream"] = True
        body["stream_options"] = {**_members(about_stream), "include_usage": True}
    return body


def _hand_on(extra: Mapping[str, msgspec.Raw], body: dict[str, Any]) -> None:
    """Add what the client sent and the contract does not model."""
    body |= {name: given for name, given in extra.items() if name not in _NOT_HANDED_ON}
    if (metadata := _members(body.get("metadata"))).keys() & _FOR_TOOLS:
        left = {name: given for name, given in metadata.items() if name not in _FOR_TOOLS}
        body.pop("metadata")
        if left:
            body["metadata"] = left
    if "max_completion_tokens" in body:  # the newer name of the same limit; providers refuse both
        body.pop("max_tokens", None)


def _members(value: msgspec.Raw | None) -> dict[str, msgspec.Raw]:
    if value is None:
        return {}
    try:
        return msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:  # null, or nothing of use
        return {}
