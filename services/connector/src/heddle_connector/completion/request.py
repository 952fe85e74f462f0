"""Builds request bodies in OpenAI's chat completions format."""

from collections.abc import Mapping
from typing import Any

import msgspec
from heddle_runtime.contract.openai_messages import decode_members

from heddle_connector.generation.call import Call
from heddle_connector.generation.prompted_tools import TOOL_OPTIONS

# The contract has fields for these, which take precedence over the client's extra members.
_CONTRACT_FIELDS = frozenset(
    {"model", "messages", "stream", "temperature", "top_p", "max_tokens", "stop", "seed", "tools"}
)
# A request could use these to send the operator's key to another server (CVE-2024-6587), or to
# choose the headers of a request. Heddle does not read them, and does not forward them to proxies
# that do: LiteLLM reads all of them, and calls the servers that are in the lists.
_FORBIDDEN = frozenset(
    {
        *("api_base", "api_key", "base_url", "azure_endpoint", "azure_ad_token", "user_config"),
        *("extra_body", "extra_headers", "extra_query", "litellm_credential_name", "model_list"),
        *("fallbacks", "content_policy_fallbacks", "context_window_fallbacks"),
    }
)
_NOT_PASSED_THROUGH = _CONTRACT_FIELDS | _FORBIDDEN
# Members of `metadata` that are parameters of Heddle's own tools. OpenAI accepts metadata only with
# `store`, so `metadata` is left out if nothing else is in it.
_TOOL_METADATA = frozenset({"current_file", "current_lines"})
_OPTIONS = ("temperature", "top_p", "max_tokens", "seed")


def completion_body(call: Call, *, stream: bool) -> dict[str, Any]:
    """Return the request body for `call`, including the client's passthrough fields."""
    options = call.options
    body: dict[str, Any] = {"model": call.model, "messages": call.messages}
    for name in _OPTIONS:
        if (value := getattr(options, name)) is not None:
            body[name] = value
    if options.stop:
        body["stop"] = options.stop
    if extra := options.extra:
        _pass_through(extra, body)
    if functions := call.functions:
        body["tools"] = functions
    else:  # providers reject these without `tools`
        for name in TOOL_OPTIONS:
            body.pop(name, None)
    stream_options = body.pop("stream_options", None)  # providers reject it without `stream`
    if stream:
        body["stream"] = True
        body["stream_options"] = {**_members(stream_options), "include_usage": True}
    return body


def _pass_through(extra: Mapping[str, msgspec.Raw], body: dict[str, Any]) -> None:
    """Add the client's members that the contract does not model."""
    body |= {name: value for name, value in extra.items() if name not in _NOT_PASSED_THROUGH}
    if (metadata := _members(body.get("metadata"))).keys() & _TOOL_METADATA:
        others = {name: value for name, value in metadata.items() if name not in _TOOL_METADATA}
        body.pop("metadata")
        if others:
            body["metadata"] = others
    if "max_completion_tokens" in body and "max_tokens" in body:  # providers reject both names
        body["max_completion_tokens"] = body.pop("max_tokens")


def _members(value: msgspec.Raw | None) -> dict[str, msgspec.Raw]:
    if value is None:
        return {}
    try:
        return decode_members(value)
    except msgspec.ValidationError:  # null, or not an object
        return {}
