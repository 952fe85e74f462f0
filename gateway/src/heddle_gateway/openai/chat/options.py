"""How to generate, and with which functions of the client, as the request says."""

from typing import Any

from heddle.chat.v1.chat_pb2 import FunctionDeclaration, GenerationOptions

from heddle_gateway.http import validation
from heddle_gateway.http.json_text import Place

MAX_FUNCTIONS = 512
MAX_STOPS = 4
_INT32 = 2**31 - 1
_INT64 = 2**63
# Members that become typed fields, and those that are no business of a provider: which address to
# call with which key is decided here, the old way of declaring functions is not offered, and LAMB's
# editor says what only LAMB understands. What begins with `__` looks like ours and stays here, too.
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
    found: GenerationOptions, given: dict[str, Any], place: Place, used: frozenset[str]
) -> None:
    """Fill in how to generate. Members in `used` were understood elsewhere."""
    found.SetInParent()  # also if nothing is said
    if (value := given.get("temperature")) is not None:
        found.temperature = validation.number(value, place, "temperature", low=0, high=2)
    if (value := given.get("top_p")) is not None:
        found.top_p = validation.number(value, place, "top_p", low=0, high=1)
    for name in ("max_tokens", "max_completion_tokens"):  # the later and newer one wins
        if (value := given.get(name)) is not None:
            found.max_tokens = validation.whole(value, place, name, low=1, high=_INT32)
    if (value := given.get("stop")) is not None:
        found.stop.extend(_stops(value, place / "stop"))
    if (value := given.get("seed")) is not None:
        found.seed = validation.whole(value, place, "seed", low=-_INT64, high=_INT64 - 1)
    _check(given, place)
    extra = [
        name
        for name, value in given.items()
        if name not in _KNOWN and value is not None and not (name in used or name[:2] == "__")
    ]
    if extra:
        found.extra_json = place.members(extra)


def functions(value: object, place: Place) -> list[FunctionDeclaration]:
    """Return the client's own functions."""
    if value is None:
        return []
    found = []
    names = set()
    for index, item in enumerate(validation.items(value, place, most=MAX_FUNCTIONS)):
        at = place / index
        declared = _function(validation.mapping(item, at), at)
        if declared.name and declared.name in names:
            raise (at / "function" / "name").wrong("is declared twice")
        names.add(declared.name)
        found.append(declared)
    return found


def _function(tool: dict[str, Any], place: Place) -> FunctionDeclaration:
    kind = validation.text(tool.get("type", "function"), place, "type")
    if kind != "function":
        return FunctionDeclaration(foreign_json=place.text())
    at = place / "function"
    given = validation.mapping(tool.get("function"), at)
    declared = FunctionDeclaration(
        name=validation.text(given.get("name"), at, "name", empty=False),
    )
    if (description := given.get("description")) is not None:
        declared.description = validation.text(description, at, "description")
    if (parameters := given.get("parameters")) is not None:
        validation.mapping(parameters, at, "parameters")
        declared.parameters_schema_json = (at / "parameters").text()
    if (strict := given.get("strict")) is not None:
        declared.strict = validation.flag(strict, at, "strict")
    return declared


def _stops(value: object, place: Place) -> list[str]:
    if isinstance(value, str):
        return [value]
    found = validation.items(value, place, most=MAX_STOPS)
    return [validation.text(item, place, index) for index, item in enumerate(found)]


def _check(given: dict[str, Any], place: Place) -> None:
    """Check members that are handed on as they are, where OpenAI would check them, too."""
    for name in _PENALTIES:
        if (value := given.get(name)) is not None:
            validation.number(value, place, name, low=-2, high=2)
    if (value := given.get("top_logprobs")) is not None:
        validation.whole(value, place, "top_logprobs", low=0, high=20)
    if (value := given.get("n")) is None:
        return
    if validation.whole(value, place, "n", low=1, high=128) != 1:
        raise (place / "n").wrong("must be 1: an assistant gives one answer to a request")
