"""Translates the generation options and the functions of the requests of all protocols."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec
from heddle.chat.v1.chat_pb2 import FunctionDeclaration, GenerationOptions

from heddle_gateway.http.json_text import Place
from heddle_gateway.openai.chat.schema import ConversationBody, FunctionName, FunctionTool, Tool

_LEAST_TOKENS = 1
LEFT_OUT = "functions and function_call were left out: the request has tools"
"""The warning about a request with both forms of functions."""
# Members that are not passed to the provider: they become typed fields, choose the provider's
# address or key (which the gateway decides), declare functions in OpenAI's older form (see
# `legacy_functions`), or are the gateway's. Members that begin with `__` are not passed either.
# `max_completion_tokens` is passed on as well: some models accept the limit under this name only.
_KNOWN = frozenset(
    {
        *("model", "messages", "prompt", "stream", "stream_options", "n", "tools"),
        *("temperature", "top_p", "max_tokens", "stop", "seed"),
        *("functions", "function_call", "chat_id", "persist_chat", "debug_bypass"),
        *("api_base", "base_url", "api_key", "api_version", "api_type", "custom_llm_provider"),
    }
)


class Declared(Protocol):
    """A function that the model may call."""

    name: str
    description: str | None
    strict: bool | None


class Sampling(Protocol):
    """Options of all protocols."""

    temperature: float | None
    top_p: float | None


def fill_options(
    options: GenerationOptions,
    body: ConversationBody,
    members: dict[str, Any],
    place: Place,
    used: set[str],
) -> None:
    """Fill in the generation options.

    Args:
        options: The options.
        body: The request.
        members: The members of the request, also those that are passed to the provider.
        place: The place of the request.
        used: Members that are not passed on because they were read elsewhere.
    """
    newer = body.max_completion_tokens
    limit = body.max_tokens if newer is None else newer
    if limit == 0:
        limit = _LEAST_TOKENS
        used.add("max_completion_tokens")
    extra: dict[str, Any] = {
        name: place.part(name)
        for name, value in members.items()
        if name not in _KNOWN and value is not None and not (name in used or name[:2] == "__")
    }
    if (chosen := body.function_call) is not None and not body.tools:
        extra["tool_choice"] = (
            function_choice(chosen.name) if isinstance(chosen, FunctionName) else chosen
        )
    stop = [body.stop] if isinstance(body.stop, str) else body.stop
    set_options(options, body, limit, stop, extra)
    if body.seed is not None:
        options.seed = body.seed


def set_options(
    options: GenerationOptions,
    body: Sampling,
    limit: int | None,
    stop: Sequence[str] | None,
    extra: Mapping[str, Any],
) -> None:
    """Set the options of a request of any protocol.

    Args:
        options: The options.
        body: The request.
        limit: The most tokens of the answer.
        stop: The texts that end the answer.
        extra: Members that providers of chat completions read.
    """
    options.SetInParent()  # also without any option
    if body.temperature is not None:
        options.temperature = body.temperature
    if body.top_p is not None:
        options.top_p = body.top_p
    if limit is not None:
        options.max_tokens = limit
    if stop:
        options.stop.extend(stop)
    if extra:
        options.extra_json = msgspec.json.encode(extra).decode()


def function_choice(name: str) -> dict[str, Any]:
    """Return the choice of a function that the model must call."""
    return {"type": "function", "function": {"name": name}}


def left_out(tool: str) -> str:
    """Return the warning about a hosted tool that the client declares."""
    return f"Heddle does not offer the tool {tool}; it was left out"


def functions(tools: list[Tool], place: Place) -> list[FunctionDeclaration]:
    """Return the client's own functions.

    Raises:
        InvalidRequestError: Two functions have the same name.
    """
    names: set[str] = set()
    return [
        declare(tool.function, place / index / "function", names)
        if isinstance(tool, FunctionTool)
        else FunctionDeclaration(foreign_json=(place / index).text())
        for index, tool in enumerate(tools)
    ]


def legacy_functions(body: ConversationBody, place: Place) -> list[FunctionDeclaration]:
    """Return the functions that the client declares in OpenAI's older form.

    Raises:
        InvalidRequestError: A function is declared twice, or the called one is not declared.
    """
    if body.function_call is not None and not body.functions:
        raise (place / "function_call").invalid("needs functions: declare them, or leave it out")
    names: set[str] = set()
    at = place / "functions"
    declared = [declare(each, at / i, names) for i, each in enumerate(body.functions or ())]
    chosen = body.function_call
    if isinstance(chosen, FunctionName) and chosen.name not in names:
        raise place.at("function_call", "name").invalid("is none of the functions")
    return declared


def declare(
    function: Declared, place: Place, names: set[str], parameters: str = "parameters"
) -> FunctionDeclaration:
    """Return the declaration of a function, and add its name to `names`.

    Args:
        function: The function.
        place: Its place.
        names: The names of the functions before it.
        parameters: The member that has the schema of its parameters.

    Raises:
        InvalidRequestError: The name is declared already.
    """
    if function.name in names:
        raise (place / "name").invalid("is declared twice")
    names.add(function.name)
    declared = FunctionDeclaration(
        name=function.name, description=function.description or "", strict=function.strict
    )
    if getattr(function, parameters) is not None:
        declared.parameters_schema_json = (place / parameters).text()
    return declared
