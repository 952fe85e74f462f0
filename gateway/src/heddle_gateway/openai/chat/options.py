"""Reads the generation options and the functions of a chat completion."""

from typing import Any

from heddle.chat.v1.chat_pb2 import FunctionDeclaration, GenerationOptions

from heddle_gateway.http import validation
from heddle_gateway.http.json_text import Place

MAX_FUNCTIONS = 512
MAX_STOP_SEQUENCES = 4
_INT32 = 2**31 - 1
_INT64 = 2**63
# Members that are not passed to the provider: they become typed fields, choose the provider's
# address or key (which the gateway decides), declare functions in OpenAI's older form (which is not
# supported), or are LAMB's. Members that begin with `__` are not passed on either.
_KNOWN = frozenset(
    {
        *("model", "messages", "prompt", "stream", "stream_options", "n", "tools"),
        *("temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed"),
        *("functions", "function_call", "chat_id", "debug_bypass"),
        *("api_base", "base_url", "api_key", "api_version", "api_type", "custom_llm_provider"),
    }
)
_PENALTIES = ("frequency_penalty", "presence_penalty")


def fill_options(
    options: GenerationOptions, members: dict[str, Any], place: Place, used: frozenset[str]
) -> None:
    """Fill in the generation options. Members in `used` were read elsewhere."""
    options.SetInParent()  # also without any option
    if (value := members.get("temperature")) is not None:
        options.temperature = validation.number(value, place, "temperature", low=0, high=2)
    if (value := members.get("top_p")) is not None:
        options.top_p = validation.number(value, place, "top_p", low=0, high=1)
    for name in ("max_tokens", "max_completion_tokens"):  # the newer name takes precedence
        if (value := members.get(name)) is not None:
            options.max_tokens = validation.whole(value, place, name, low=1, high=_INT32)
    if (value := members.get("stop")) is not None:
        options.stop.extend(_stop_sequences(value, place / "stop"))
    if (value := members.get("seed")) is not None:
        options.seed = validation.whole(value, place, "seed", low=-_INT64, high=_INT64 - 1)
    _check(members, place)
    extra = [
        name
        for name, value in members.items()
        if name not in _KNOWN and value is not None and not (name in used or name[:2] == "__")
    ]
    if extra:
        options.extra_json = place.members(extra)


def functions(value: object, place: Place) -> list[FunctionDeclaration]:
    """Return the client's own functions."""
    if value is None:
        return []
    declarations = []
    names = set()
    for index, item in enumerate(validation.items(value, place, max_items=MAX_FUNCTIONS)):
        at = place / index
        declared = _function(validation.mapping(item, at), at)
        if declared.name and declared.name in names:
            raise (at / "function" / "name").invalid("is declared twice")
        names.add(declared.name)
        declarations.append(declared)
    return declarations


def _function(tool: dict[str, Any], place: Place) -> FunctionDeclaration:
    kind = validation.text(tool.get("type", "function"), place, "type")
    if kind != "function":
        return FunctionDeclaration(foreign_json=place.text())
    at = place / "function"
    function = validation.mapping(tool.get("function"), at)
    declared = FunctionDeclaration(
        name=validation.text(function.get("name"), at, "name", empty=False),
    )
    if (description := function.get("description")) is not None:
        declared.description = validation.text(description, at, "description")
    if (parameters := function.get("parameters")) is not None:
        validation.mapping(parameters, at, "parameters")
        declared.parameters_schema_json = (at / "parameters").text()
    if (strict := function.get("strict")) is not None:
        declared.strict = validation.flag(strict, at, "strict")
    return declared


def _stop_sequences(value: object, place: Place) -> list[str]:
    if isinstance(value, str):
        return [value]
    sequences = validation.items(value, place, max_items=MAX_STOP_SEQUENCES)
    return [validation.text(item, place, index) for index, item in enumerate(sequences)]


def _check(members: dict[str, Any], place: Place) -> None:
    """Check members that are passed on unchanged and that OpenAI checks, too."""
    for name in _PENALTIES:
        if (value := members.get(name)) is not None:
            validation.number(value, place, name, low=-2, high=2)
    if (value := members.get("top_logprobs")) is not None:
        validation.whole(value, place, "top_logprobs", low=0, high=20)
    if (value := members.get("n")) is None:
        return
    if validation.whole(value, place, "n", low=1, high=128) != 1:
        raise (place / "n").invalid("must be 1: an assistant returns one completion per request")
