"""Assistants as tools for clients of the Model Context Protocol: one asks each."""

import re
from typing import Any

import grpc
import msgspec
from heddle.assistant.v1.assistant_pb2 import AssistantSummary, ListAssistantsRequest
from heddle.orchestrator.v1.orchestrator_pb2 import RunWholeCompletionRequest
from heddle.tool.v1.tool_pb2 import Source
from heddle_runtime.errors import InvalidRequestError, ToolFailedError, Violation, from_rpc

from heddle_gateway.openai.chat.aggregation import Completion
from heddle_gateway.openai.chat.completions import run_whole
from heddle_gateway.openai.chat.event_encoder import Answer
from heddle_gateway.openai.chat.messages import add_question
from heddle_gateway.openai.models import PREFIX, offered
from heddle_gateway.services import LIST_SECONDS, call
from heddle_gateway.state import State

MAX_ASSISTANTS = 200
"""Of a list; clients put all tools into their prompts."""
ASK = "ask_"
_MAX_NAME_CHARACTERS = 48
_OTHER = re.compile(r"[^A-Za-z0-9]+")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"question": {"type": "string", "minLength": 1}},
    "required": ["question"],
}


class Reply(msgspec.Struct, frozen=True):
    """The answer of an assistant."""

    text: str
    sources: list[dict[str, str]]


async def assistants(state: State) -> dict[str, AssistantSummary]:
    """Return the first assistants that the caller may use, by the names of their tools.

    Raises:
        HeddleError: The assistants service does not answer.
    """
    request = ListAssistantsRequest(page_size=MAX_ASSISTANTS)
    response = await call(state.services.assistants.ListAssistants, request, LIST_SECONDS)
    named: dict[str, AssistantSummary] = {}
    for each in await offered(state, response.assistants):
        words = _OTHER.sub("_", each.name or each.title).strip("_")[:_MAX_NAME_CHARACTERS]
        name = f"{ASK}{words or each.id}"
        named[f"{name}_{each.id}" if name in named else name] = each
    return named


async def ask(state: State, assistant: str, question: object, request_id: str) -> Reply:
    """Return the answer of an assistant to one question.

    Args:
        state: The gateway's.
        assistant: Its identifier.
        question: What the client sent as the question.
        request_id: The identifier of the request.

    Raises:
        InvalidRequestError: The question is no text.
        ToolFailedError: The user must confirm a call, for which there is no way here.
        HeddleError: The run failed.
    """
    if not isinstance(question, str) or not question.strip():
        raise InvalidRequestError(
            "question must be a text.", [Violation("arguments.question", "must be a text")]
        )
    request = RunWholeCompletionRequest()
    request.run.assistant_reference = f"{PREFIX}{assistant}"
    add_question(request.run.messages, question)
    completion = Completion(Answer(request_id))
    try:
        await run_whole(state, request, completion)
    except grpc.aio.AioRpcError as error:
        raise from_rpc(error) from error
    if completion.calls:
        raise ToolFailedError("The assistant wants to change something. Ask it in a chat instead.")
    return Reply(completion.text, [source(each) for each in completion.sources])


def description(assistant: AssistantSummary) -> str:
    """Return what a model reads about the tool that asks an assistant."""
    return f"Ask the assistant {assistant.title or assistant.name}. {assistant.description}"


def source(cited: Source) -> dict[str, str]:
    """Return a source for clients."""
    return {"title": cited.title, "url": cited.uri, "excerpt": cited.excerpt}
