"""What `/v1/responses` refuses, with OpenAI's codes."""

from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError
from heddle_gateway.openai.responses.schema import ResponsesBody

_WORKING_TOOLS = (
    "Declare functions and custom tools of your own. The assistant's tools run without being "
    "declared."
)
_ALL_ITEMS = "Send all items of the conversation in input instead."
_UNSUPPORTED = ("prompt", "moderation", "context_management")


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
    message = f"No item {identifier[:100]!r} is stored. Heddle stores no responses. {_ALL_ITEMS}"
    return refused(param, message, "item_not_found")


def check_members(body: ResponsesBody, members: dict[str, object]) -> None:
    """Refuse what needs stored responses, and what Heddle does not offer.

    Raises:
        RejectedRequestError: A member cannot be served.
    """
    if (previous := body.previous_response_id) is not None:
        message = f"No response {previous[:100]!r} is stored. Heddle stores none. {_ALL_ITEMS}"
        raise refused("previous_response_id", message, "previous_response_not_found")
    if body.conversation is not None:
        message = f"Heddle stores no conversations. {_ALL_ITEMS}"
        raise refused("conversation", message, "conversation_not_found", 404)
    if body.background:
        message = "Heddle does not run responses in the background. Leave out background."
        raise refused("background", message, "unsupported_parameter")
    for name in _UNSUPPORTED:
        if members.get(name) is not None:
            message = f"Heddle does not support {name}. Leave it out."
            raise refused(name, message, "unsupported_parameter")
