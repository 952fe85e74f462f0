"""What `/v1/responses` refuses, with OpenAI's codes."""

from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError

_WORKING_TOOLS = (
    "Declare functions and custom tools of your own. The assistant's tools run without being "
    "declared."
)
_UNSUPPORTED = ("prompt", "moderation")


def refused(param: str, message: str, code: str, status: int = 400) -> RejectedRequestError:
    """Return the error for a member that cannot be served."""
    return RejectedRequestError(ErrorResponse(status, message, param=param, code=code))


def unsupported_tool(param: str, kind: str) -> RejectedRequestError:
    """Return the error for a tool that clients cannot declare."""
    return refused(param, f"Heddle offers no tool {kind!r}. {_WORKING_TOOLS}", "unsupported_tool")


def unsupported_item(param: str, kind: str) -> RejectedRequestError:
    """Return the error for an item of the input that cannot be read."""
    message = (
        f"{param} {kind!r} is not supported. Send messages, calls of functions and custom tools, "
        "and their outputs."
    )
    return refused(param, message, "unsupported_item")


def unknown_item(param: str, identifier: str) -> RejectedRequestError:
    """Return the error for a reference to an item that is not stored."""
    message = (
        f"Item with id {identifier[:100]!r} not found. Items of responses with store set to false "
        "are not stored: send the item itself."
    )
    return refused(param, message, "item_not_found")


def missing_call(param: str, call_id: str) -> RejectedRequestError:
    """Return the error for the output of a call that is not part of the conversation."""
    message = f"No tool call found for function call output with call_id {call_id[:100]}."
    return refused(param, message, "tool_call_not_found")


def unreadable(param: str) -> RejectedRequestError:
    """Return the error for a compacted conversation that another caller or assistant made."""
    message = f"{param} cannot be read. Send it as the same user, to the same assistant."
    return refused(param, message, "invalid_encrypted_content")


def not_stored() -> RejectedRequestError:
    """Return the error for a response in the background that would not be stored."""
    message = "Responses that run in the background must be stored: leave out store."
    return refused("background", message, "invalid_request")


def check_members(members: dict[str, object]) -> None:
    """Refuse what Heddle does not offer.

    Raises:
        RejectedRequestError: A member cannot be served.
    """
    for name in _UNSUPPORTED:
        if members.get(name) is not None:
            message = f"Heddle does not support {name}. Leave it out."
            raise refused(name, message, "unsupported_parameter")
