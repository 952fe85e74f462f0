"""`/assistants/try`: a completion of an assistant that is not stored."""

from functools import cache
from typing import Annotated, Any

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.permissions import require
from pydantic import Field, create_model

from heddle_gateway.admin.assistant_bodies import (
    assistant_body,
    check_readable,
    checked,
    merged,
    read_body,
)
from heddle_gateway.http.json_text import parse
from heddle_gateway.http.models import DocumentedAs, Model
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.chat import completions
from heddle_gateway.openai.chat.request import ChatRequest, parse_request
from heddle_gateway.openai.chat.schema import ConversationBody
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.routing import Routes
from heddle_gateway.services import call
from heddle_gateway.state import State

_UNCHECKED = {"name"}
"""Members that an assistant needs only when it is stored."""
routes = Routes("assistants")


@cache
def _tried_assistant() -> type[Model]:
    """Return the model that describes assistants which are not stored."""
    name = Field(default=None, description="The name of the model in the answer.")
    return create_model("TriedAssistant", __base__=assistant_body(), name=(str | None, name))


class TrialBody(ConversationBody):
    """An assistant, a conversation with it, and options of chat completions."""

    model: Any = Field(default=None, description="Ignored.")
    assistant: Annotated[
        dict[str, Any],
        DocumentedAs(factory=_tried_assistant),
        Field(description="As in `POST /assistants`. Needs no `name`."),
    ]
    charge_to: str | None = Field(
        default=None,
        description="The identifier of a stored assistant that the caller may change: its quota "
        "applies, and its usage counts. By default the `id` of `assistant`, if the caller may "
        "change that assistant; else the usage is not counted.",
    )


@routes.post("/assistants/try", **{**completions.OPTIONS, "body_model": TrialBody})
async def try_assistant(state: State, request: RawRequest) -> None:
    """Answer a conversation as an assistant that is not stored.

    The request and the response are those of chat completions, with `assistant` instead of `model`.
    An invalid assistant is refused before anything runs; the error names all its faults, for
    example `assistant.tools[0].config.top_k`.

    The tools run with the rights of the caller, not with those of the owner. The caller needs the
    right `manage_assistants`.
    """
    await completions.respond(state, request, "", read=_trial)


async def _trial(state: State, body: bytes) -> ChatRequest:
    """Return the request of a trial.

    Raises:
        HeddleError: The body or the assistant is invalid, or the caller may not try it.
    """
    require(caller().identity, "manage_assistants")
    members, place = parse(body)
    document = members.pop("assistant", None)
    if not isinstance(document, dict):
        raise (place / "assistant").invalid("is required, an object")
    charged = members.pop("charge_to", None)
    if not isinstance(charged, str | None):
        raise (place / "charge_to").invalid("must be a string")
    members.pop("model", None)
    name = document.get("name")
    if not isinstance(name, str | None):
        raise (place / "assistant" / "name").invalid("must be a string")
    chat = parse_request(body, name or "trial", (members, place))
    assistant, errors = read_body(document, place / "assistant")
    response = await checked(state.services.assistants, assistant)
    stored = isinstance(response, pb.UpdateAssistantResponse)
    violations = [
        each for each in merged(errors, response.violations) if each.field not in _UNCHECKED
    ]
    if violations:
        raise InvalidRequestError("The assistant is not valid.", _in_body(violations))
    if charged:
        await _check_charged(state, charged)
    run = chat.run
    run.assistant.CopyFrom(assistant)  # also clears the reference of the other kind of request
    run.charged_to = charged or (assistant.id if stored else "")
    return chat


def _in_body(violations: list[Violation]) -> list[Violation]:
    """Return violations of an assistant with their places in the body of a trial."""
    # Responses are without the first `assistant`, which is the name of a field of the contract.
    return [Violation(f"assistant.assistant.{each.field}", each.description) for each in violations]


async def _check_charged(state: State, identifier: str) -> None:
    """Refuse an assistant that the caller may not read, as if there were none."""
    reference = f"{PREFIX}{identifier}"
    request = pb.GetAssistantRequest(reference=reference)
    response = await call(state.services.assistants.GetAssistant, request)
    check_readable(reference, readable=response.readable)
