"""Function declarations for models, and the arguments that models write."""

import json
from typing import Any, NoReturn

from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_tools_service.change_policy import EFFECTS
from heddle_tools_service.sdk import Function, FunctionOffer, HeldBackFunction

_MAX_ARGUMENT_CHARS = 1_000_000
WRONG_ARGUMENTS = "invalid_arguments"
"""The kind of the failure."""


def declaration(function: Function | HeldBackFunction) -> chat_pb2.FunctionDeclaration:
    """Return the declaration of a function for models."""
    return chat_pb2.FunctionDeclaration(
        name=function.name,
        description=function.description,
        parameters_schema_json=json.dumps(function.schema, ensure_ascii=False),
    )


def offered_functions(identifier: str, offer: FunctionOffer) -> pb.ToolFunctions:
    """Return the functions that a tool offers under a configuration, as the contract's message."""
    return pb.ToolFunctions(
        id=identifier,
        functions=map(declaration, offer.functions),
        effects=[EFFECTS[each.effect or "destructive"] for each in offer.functions],
        held_back=[
            pb.HeldBackFunction(declaration=declaration(each), pin=each.pin, reason=each.reason)
            for each in offer.held_back
        ],
    )


def members_of(call: pb.FunctionCall) -> dict[str, Any]:
    """Return the arguments that a model wrote; an empty object if it wrote nothing.

    Raises:
        InvalidRequestError: They are no JSON object.
    """
    if not call.arguments_json.strip():
        return {}
    if len(call.arguments_json) > _MAX_ARGUMENT_CHARS:
        raise _wrong(call, f"must have at most {_MAX_ARGUMENT_CHARS:,} characters")
    try:
        members = json.loads(call.arguments_json, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise _wrong(call, f"are not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise _wrong(call, "are nested too deep") from None
    except ValueError:
        raise _wrong(call, "hold a number that JSON does not know, or a far too long one") from None
    if not isinstance(members, dict):
        raise _wrong(call, "must be a JSON object")
    return members


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _wrong(call: pb.FunctionCall, what: str) -> InvalidRequestError:
    message = f"The arguments of {call.name[:80]!r} {what}."
    return InvalidRequestError(message, [Violation("arguments", what)], kind=WRONG_ARGUMENTS)
