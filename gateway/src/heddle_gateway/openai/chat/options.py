"""Translates the generation options and the functions of a chat completion."""

from typing import Any

from heddle.chat.v1.chat_pb2 import FunctionDeclaration, GenerationOptions

from heddle_gateway.http.json_text import Place
from heddle_gateway.openai.chat.schema import ConversationBody, Function, FunctionTool, Tool

_LEAST_TOKENS = 1
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
    options.SetInParent()  # also without any option
    for name in ("temperature", "top_p", "seed"):
        if (value := getattr(body, name)) is not None:
            setattr(options, name, value)
    newer = body.max_completion_tokens
    if (limit := body.max_tokens if newer is None else newer) is not None:
        options.max_tokens = limit or _LEAST_TOKENS
        if not limit:
            used.add("max_completion_tokens")
    if body.stop is not None:
        options.stop.extend([body.stop] if isinstance(body.stop, str) else body.stop)
    extra = [
        name
        for name, value in members.items()
        if name not in _KNOWN and value is not None and not (name in used or name[:2] == "__")
    ]
    if extra:
        options.extra_json = place.members(extra)


def functions(tools: list[Tool], place: Place) -> list[FunctionDeclaration]:
    """Return the client's own functions.

    Raises:
        InvalidRequestError: Two functions have the same name.
    """
    declarations = []
    names: set[str] = set()
    for index, tool in enumerate(tools):
        at = place / index
        if not isinstance(tool, FunctionTool):
            declarations.append(FunctionDeclaration(foreign_json=at.text()))
            continue
        declarations.append(declare(tool.function, at / "function", names))
    return declarations


def declare(function: Function, place: Place, names: set[str]) -> FunctionDeclaration:
    """Return the declaration of a function, and add its name to `names`.

    Raises:
        InvalidRequestError: The name is declared already.
    """
    if function.name in names:
        raise (place / "name").invalid("is declared twice")
    names.add(function.name)
    declared = FunctionDeclaration(
        name=function.name, description=function.description or "", strict=function.strict
    )
    if function.parameters is not None:
        declared.parameters_schema_json = (place / "parameters").text()
    return declared
