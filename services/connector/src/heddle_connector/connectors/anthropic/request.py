"""Builds requests to the Messages API."""

from collections.abc import Mapping
from typing import Any

import msgspec

from heddle_connector.connectors.anthropic.conversation import Conversation
from heddle_connector.connectors.anthropic.models import Capabilities
from heddle_connector.sdk import BAD_JSON, Call, InvalidRequestError, Violation, option

_NO_SAMPLING = "2026-10-21"
"""From this version on, the API rejects `temperature`, `top_p` and `top_k`."""
# Members of Anthropic's requests that clients may set as in the API.
_TOP_LEVEL = ("thinking", "output_config", "cache_control", "inference_geo", "speed")
_LEVELS = ("low", "medium", "high", "xhigh", "max")
_NO_EFFORT = "none"
# Parts of the limit of tokens, for models whose reasoning has a budget.
_BUDGETS = {"low": 0.2, "medium": 0.5, "high": 0.8, "xhigh": 0.9, "max": 0.95}
_MIN_BUDGET = 1024
_FORCED = ("any", "tool")


def message_body(
    call: Call, max_tokens: int, api_version: str, capabilities: Capabilities | None
) -> dict[str, Any]:
    """Return the request body for `call`.

    Args:
        call: The call.
        max_tokens: The limit of tokens if the call sets none. The API requires one.
        api_version: The version of the API.
        capabilities: What the model can do, if it is known.
    """
    options, extra = call.options, call.options.extra
    conversation = Conversation(call.messages)
    body: dict[str, Any] = {
        "model": call.model,
        "max_tokens": _limit(call) or max_tokens,
        "messages": conversation.turns,
    }
    if conversation.system:
        body["system"] = conversation.system
    if options.stop:
        body["stop_sequences"] = options.stop
    body |= {name: extra[name] for name in _TOP_LEVEL if name in extra}
    if tools := _tools(call, conversation):
        body["tools"] = tools
        if choice := _tool_choice(call):
            body["tool_choice"] = choice
    _add_reasoning(body, reasoning_effort(call), capabilities)
    _add_format(body, extra)
    if api_version < _NO_SAMPLING and "thinking" not in body:
        body |= _sampling(call)
    if not call.whole:
        body["stream"] = True
    return body


def reasoning_effort(call: Call) -> str:
    """Return the client's `reasoning_effort`, an empty string if it has set none.

    Raises:
        InvalidRequestError: There is no such effort.
    """
    extra = call.options.extra
    value = None if "thinking" in extra else option(extra, "reasoning_effort")
    if value == "minimal":
        return _LEVELS[0]
    if value not in (*_LEVELS, _NO_EFFORT, None):
        raise InvalidRequestError(
            "The reasoning effort is unknown.",
            [Violation("reasoning_effort", f"must be {_NO_EFFORT}, minimal, {', '.join(_LEVELS)}")],
        )
    return value or ""


def _limit(call: Call) -> int | None:
    if call.options.max_tokens is not None:
        return call.options.max_tokens
    value = option(call.options.extra, "max_completion_tokens")
    return value if isinstance(value, int) else None


def _sampling(call: Call) -> dict[str, Any]:
    """Return the options of sampling. The API accepts either the temperature or `top_p`."""
    options = call.options
    if options.temperature is not None:
        return {"temperature": min(options.temperature, 1.0)}
    return {} if options.top_p is None else {"top_p": options.top_p}


def _tools(call: Call, conversation: Conversation) -> list[dict[str, Any]]:
    if call.functions:
        return [_tool(function) for function in call.functions]
    # A conversation with calls needs declarations, even if the model may call nothing any more.
    return [{"name": name, "input_schema": {"type": "object"}} for name in conversation.called]


def _tool(declared: Any) -> dict[str, Any]:  # noqa: ANN401 - a function, or JSON text of a kind unknown to us
    if isinstance(declared, msgspec.Raw):
        raise InvalidRequestError("Anthropic's models are offered functions as tools only.")
    function = declared["function"]
    tool = {"name": function["name"], "input_schema": _schema(function.get("parameters"))}
    if description := function.get("description"):
        tool["description"] = description
    if function.get("strict"):
        tool["strict"] = True
    return tool


def _schema(parameters: msgspec.Raw | None) -> dict[str, Any]:
    members = {} if parameters is None else _members(parameters)
    return {"type": "object", **members}


def _tool_choice(call: Call) -> dict[str, Any] | None:
    """Return Anthropic's form of `tool_choice` and `parallel_tool_calls`."""
    if not call.functions:
        return {"type": "none"}
    extra = call.options.extra
    choice = option(extra, "tool_choice")
    parallel = option(extra, "parallel_tool_calls") is not False
    match choice:
        case None if parallel:
            return None
        case None | "auto":
            result: dict[str, Any] = {"type": "auto"}
        case "none":
            return {"type": "none"}
        case "required":
            result = {"type": "any"}
        case {"type": "function", "function": {"name": str(name)}}:
            result = {"type": "tool", "name": name}
        case _:
            raise InvalidRequestError(
                "This choice of tools is unknown.",
                [Violation("tool_choice", "must be auto, none, required, or name a function")],
            )
    return result if parallel else {**result, "disable_parallel_tool_use": True}


def _add_reasoning(body: dict[str, Any], effort: str, capabilities: Capabilities | None) -> None:
    """Add the model's form of a reasoning effort.

    Recent models decide how much they think; the effort is a level. Older ones have a budget of
    tokens. If the model is unknown, it counts as recent.
    """
    if not effort:
        return
    if capabilities is None:
        capabilities = _RECENT
    types = capabilities.thinking.types
    if effort == _NO_EFFORT:
        if types.disabled.supported:
            body["thinking"] = {"type": "disabled"}
        elif types.between_tools.supported:
            body["thinking"] = {"type": "between_tools"}
        return
    if level := _level(effort, capabilities):
        body["output_config"] = {**_members(body.get("output_config")), "effort": level}
    budget = max(int(body["max_tokens"] * _BUDGETS[effort]), _MIN_BUDGET)
    forced = body.get("tool_choice", {}).get("type") in _FORCED
    if types.adaptive.supported:
        body["thinking"] = {"type": "adaptive", "display": "summarized"}
    elif types.enabled.supported and budget < body["max_tokens"] and not forced:
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}


def _level(effort: str, capabilities: Capabilities) -> str:
    """Return the highest level of effort up to `effort` that the model accepts, if there is one."""
    levels = _LEVELS[: _LEVELS.index(effort) + 1]
    for level in reversed(levels):
        support = getattr(capabilities.effort, level)
        if support is not None and support.supported:
            return level
    return ""


def _add_format(body: dict[str, Any], extra: Mapping[str, msgspec.Raw]) -> None:
    """Add Anthropic's form of OpenAI's `response_format`."""
    match option(extra, "response_format"):
        case None | {"type": "text"}:
            return
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            output = {"type": "json_schema", "schema": schema}
            body["output_config"] = {**_members(body.get("output_config")), "format": output}
        case _:
            raise InvalidRequestError(
                "Anthropic's models have no JSON mode without a schema.",
                [Violation("response_format", "must be text or json_schema")],
            )


def _members(value: Any) -> dict[str, Any]:  # noqa: ANN401 - members, JSON text, or nothing
    if not isinstance(value, msgspec.Raw):
        return value or {}
    try:
        return msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except BAD_JSON:  # not an object
        return {}


_SUPPORTED = {"supported": True}
_RECENT = msgspec.convert(
    {
        "thinking": {"types": {"adaptive": _SUPPORTED, "disabled": _SUPPORTED}},
        "effort": dict.fromkeys(_LEVELS, _SUPPORTED),
    },
    Capabilities,
)
