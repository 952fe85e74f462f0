"""Calls that the user must confirm: the client receives them, and sends a confirmation back.

A confirmation is a signed text that contains the call. It is removed from conversations before
tools and models read them, and only a message of the client that consists of it counts.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from heddle.assistant.v1 import assistant_pb2
from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceAsyncStub
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.contract.json_text import members
from heddle_runtime.errors import AlreadyExistsError, InvalidRequestError, Violation
from heddle_runtime.identity import signed_tokens
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.secrets import split_secrets
from heddle_runtime.identity.service_credentials import ServiceCredentials

from heddle_orchestrator.tools.bindings import BoundTool

FUNCTION = "heddle_confirm"
"""The function that the client is asked to call."""
SECONDS = 600
"""The number of seconds for which a call can be confirmed."""
_DOTS = 2
_DECLINED = "The user did not confirm this call. It has not run."
_EARLIER = "The user confirmed this call earlier. Its result is not repeated."


@dataclass(slots=True)
class RunConfirmations:
    """The calls that the user confirmed or declined, and the new calls to confirm."""

    key: bytes
    assistant: assistant_pb2.Assistant
    extra_tools: Sequence[assistant_pb2.ToolBinding] = ()
    """The tools of the client."""
    message: chat_pb2.Message = field(default_factory=chat_pb2.Message)
    """The message of the model whose calls the user has answered. Empty if there is none."""
    confirmed: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The claims of confirmations, by the ids of their calls."""

    @property
    def declined(self) -> bool:
        """Whether the user declined a call. The run then asks for no other confirmation."""
        return len(self.message.tool_calls) > len(self.confirmed)

    @property
    def events(self) -> list[pb.RunEvent]:
        """The message as events of the model."""
        calls = [pb.RunEvent(tool_call=call) for call in self.message.tool_calls]
        text = "".join(part.text for part in self.message.parts)
        done = chat_pb2.Done(message_extra_json=self.message.extra_json)
        return [pb.RunEvent(text_delta=text), *calls, pb.RunEvent(done=done)]

    def of(self, bound: BoundTool, function: str) -> dict[str, str]:
        """Return the arguments of the confirmed calls of a function, by the ids of the calls."""
        return {
            call: claims["arguments"]
            for call, claims in self.confirmed.items()
            if (claims["binding_id"], claims["function"]) == (bound.binding_id, function)
        }

    def request(self, bound: BoundTool) -> chat_pb2.ToolCall:
        """Return the call for the client that asks to confirm a call."""
        assert bound.call is not None  # noqa: S101 - only calls are confirmed
        claims = {
            "place": _place(self.assistant, bound.binding),
            "exp": int(time.time()) + SECONDS,
            "jti": secrets.token_hex(16),
            "binding_id": bound.binding_id,
            "function": bound.function,
            "name": bound.call.name,
            "arguments": bound.call.proto.arguments_json,
        }
        question = {
            "tool": bound.tool,
            "binding_id": bound.binding_id,
            "function": bound.call.name,
            "arguments": bound.call.arguments or {},
            "confirmation": signed_tokens.signed(claims, self.key),
        }
        call = chat_pb2.ToolCall()
        call.CopyFrom(bound.call.proto)  # with what the provider needs back
        call.name, call.arguments_json = FUNCTION, json.dumps(question, ensure_ascii=False)
        return call


class Confirmations:
    """Reads the confirmations of conversations."""

    def __init__(
        self,
        service: AssistantServiceAsyncStub,
        credentials: ServiceCredentials,
        secret: str,
    ) -> None:
        """Take the secrets, separated by commas. The first one signs."""
        self._service = service
        self._credentials = credentials
        self._keys = [each.encode() for each in split_secrets(secret)]

    async def read(
        self, request: pb.RunCompletionRequest, assistant: assistant_pb2.Assistant
    ) -> tuple[pb.RunCompletionRequest, RunConfirmations]:
        """Return a request without confirmations, and what the user confirmed at its end.

        Raises:
            InvalidRequestError: A confirmation at the end does not count.
        """
        run = RunConfirmations(self._keys[0], assistant, request.extra_tools)
        if not any(call.name == FUNCTION for each in request.messages for call in each.tool_calls):
            return request, run
        readable = pb.RunCompletionRequest()
        readable.CopyFrom(request)
        questions: dict[str, dict[str, Any]] = {}
        results: dict[str, str] = {}
        last = 0
        for index, message in enumerate(readable.messages):
            if message.role != chat_pb2.ROLE_TOOL:
                last = index
                results.clear()
            elif (question := questions.get(message.tool_call_id)) is not None:
                text = "".join(part.text for part in message.parts).strip()
                results[message.tool_call_id] = text
                del message.parts[:]
                is_confirmed = text == question.get("confirmation")
                message.parts.add(text=_EARLIER if is_confirmed else _DECLINED)
            for call in message.tool_calls:
                if call.name == FUNCTION:
                    questions[call.id] = question = members(call.arguments_json)
                    call.name = str(question.get("function", FUNCTION))
                    call.arguments_json = json.dumps(question.get("arguments", {}))
        calls = readable.messages[last].tool_calls
        if calls and all(call.id in questions for call in calls):
            for call in calls:
                await self._answer(call, results.get(call.id, ""), run)
            run.message.CopyFrom(readable.messages[last])
            del readable.messages[last:]
        return readable, run

    async def _answer(self, call: chat_pb2.ToolCall, text: str, run: RunConfirmations) -> None:
        """Store what a call contains according to its confirmation, unless the user declined it."""
        if text.count(".") != _DOTS or " " in text:
            return
        try:
            claims = signed_tokens.verified(text, self._keys)
        except signed_tokens.InvalidTokenError:
            claims = {}
        tools = [*run.assistant.tools, *run.extra_tools]
        places = [_place(run.assistant, each) for each in tools if not each.disabled]
        if claims.get("place") not in places or claims["exp"] < time.time():
            raise _refused("has expired, or is for another user, assistant or tool")
        request = assistant_pb2.UseConfirmationRequest(id=claims["jti"])
        try:
            await self._credentials.call(self._service.UseConfirmation, request)
        except AlreadyExistsError:
            raise _refused("was used before") from None
        call.name, call.arguments_json = claims["name"], claims["arguments"]
        run.confirmed[call.id] = claims


def _refused(problem: str) -> InvalidRequestError:
    message = f"The confirmation of a tool call {problem}. The call has not run. Ask again."
    return InvalidRequestError(message, [Violation("messages", f"a confirmation {problem}")])


def _place(assistant: assistant_pb2.Assistant, binding: assistant_pb2.ToolBinding) -> str:
    """Return the digest of the user, the assistant and the binding of a call."""
    user = caller().identity
    names = (user.subject, user.organization, assistant.id, assistant.owner, assistant.organization)
    content = json.dumps(names).encode() + binding.SerializeToString(deterministic=True)
    return hashlib.sha256(content).hexdigest()
