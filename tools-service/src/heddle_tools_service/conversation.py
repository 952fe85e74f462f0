"""Converts a run's context to what tools see: the last question, and OpenAI's request."""

import base64
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, assert_never

from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.call_metadata import caller
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_tools_service.agent_run_state import tree_of
from heddle_tools_service.sdk import (
    Assistant,
    Caller,
    EarlierResult,
    FileChange,
    Mode,
    ToolCall,
    TreeData,
)

_ROLES = {
    chat_pb2.ROLE_SYSTEM: "system",
    chat_pb2.ROLE_USER: "user",
    chat_pb2.ROLE_ASSISTANT: "assistant",
    chat_pb2.ROLE_TOOL: "tool",
    chat_pb2.ROLE_DEVELOPER: "developer",
}
_DETAILS = {
    chat_pb2.IMAGE_DETAIL_AUTO: "auto",
    chat_pb2.IMAGE_DETAIL_LOW: "low",
    chat_pb2.IMAGE_DETAIL_HIGH: "high",
}


class Conversation:
    """What all tools of one call share. Each property is built when a tool first reads it."""

    def __init__(self, context: pb.RunContext) -> None:
        self._context = context

    @cached_property
    def query(self) -> str:
        """The last user message: its text parts, joined by a space."""
        for message in reversed(self._context.messages):
            if message.role == chat_pb2.ROLE_USER:
                return " ".join(part.text for part in message.parts if part.HasField("text"))
        return ""

    @cached_property
    def assistant(self) -> Assistant:
        """The assistant that answers."""
        assistant = self._context.assistant
        return Assistant(
            id=assistant.id,
            name=assistant.name,
            title=assistant.title,
            description=assistant.description,
            owner=assistant.owner,
            organization=assistant.organization,
            system_prompt=assistant.system_prompt,
            prompt_template=assistant.prompt_template,
            connector=assistant.model.connector,
            model=assistant.model.model,
        )

    @cached_property
    def caller(self) -> Caller:
        """The authenticated user."""
        identity = caller().identity
        scopes = tuple(identity.scopes)
        return Caller(identity.subject, identity.organization, scopes, identity.client_user)

    @cached_property
    def earlier(self) -> tuple[EarlierResult, ...]:
        """The results of earlier tools of the run."""
        return tuple(
            EarlierResult(result.id, result.tool, result.slot, result.text)
            for result in self._context.earlier
        )

    @property
    def routed(self) -> bool:
        """Whether the routing agent runs the tool."""
        return self._context.HasField("tree")

    @cached_property
    def tree(self) -> TreeData:
        """The state of the agent's run; outside such a run, the state of a new one."""
        return tree_of(self._context.tree) if self.routed else TreeData(self.query)

    def call(
        self, *, config: object, seconds: float, mode: Mode, arguments: object = None
    ) -> ToolCall[Any, Any]:
        """Return a call of a tool in this conversation, which reports its status to nobody."""
        return ToolCall(
            config=config,
            arguments=arguments,
            query=self.query,
            assistant=self.assistant,
            caller=self.caller,
            earlier=self.earlier,
            status=_ignore_status,
            seconds=seconds,
            build_request=self.request,
            mode=mode,
            tree=self.tree,
            grant=self._context.grant,
        )

    def request(self) -> dict[str, Any]:
        """Return the whole request in OpenAI's shape; a new one each time, for tools may edit it.

        Raises:
            InvalidRequestError: A member that is JSON text is not.
        """
        options = self._context.options
        request = _members(options.extra_json, "context.options.extra_json")
        if self.assistant.id:
            request.setdefault("model", f"lamb_assistant.{self.assistant.id}")
        request["messages"] = [
            _message(message, f"context.messages[{index}]")
            for index, message in enumerate(self._context.messages)
        ]
        request["stream"] = self._context.streaming
        for name in ("temperature", "top_p", "max_tokens", "seed"):
            if options.HasField(name):
                request[name] = getattr(options, name)
        if options.stop:
            request["stop"] = list(options.stop)
        return request


def _ignore_status(_: str, __: FileChange | None = None, /) -> None:
    """Report nothing: no user waits for a tool that is only asked what it offers."""


def _message(message: chat_pb2.Message, path: str) -> dict[str, Any]:
    members = _members(message.extra_json, f"{path}.extra_json")
    members["role"] = _ROLES.get(message.role, "user")
    members["content"] = _content(message, path)
    if message.participant:
        members["name"] = message.participant
    if message.tool_call_id:
        members["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        members["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments_json},
            }
            for call in message.tool_calls
        ]
    return members


def _content(message: chat_pb2.Message, path: str) -> str | list[dict[str, Any]] | None:
    parts = message.parts
    if not parts:
        return None if message.tool_calls else ""
    if len(parts) == 1 and parts[0].HasField("text"):
        return parts[0].text
    return [
        member
        for index, part in enumerate(parts)
        for member in _part(part, f"{path}.parts[{index}].foreign.json")
    ]


def _part(part: chat_pb2.ContentPart, path: str) -> Iterator[dict[str, Any]]:
    match kind := part.WhichOneof("kind"):
        case "text":
            yield {"type": "text", "text": part.text}
        case "image":
            image: dict[str, Any] = {"url": _address(part.image)}
            if detail := _DETAILS.get(part.image.image_detail):
                image["detail"] = detail
            yield {"type": "image_url", "image_url": image}
        case "audio":
            sound = {"data": _base64(part.audio.data), "format": _subtype(part.audio.media_type)}
            yield {"type": "input_audio", "input_audio": sound}
        case "file":
            document = {"filename": part.file.filename, "file_data": _address(part.file)}
            yield {"type": "file", "file": document}
        case "foreign":
            yield _members(part.foreign.json, path)
        case None:  # of a newer contract
            return
        case _:
            assert_never(kind)


def _address(media: chat_pb2.Media) -> str:
    if media.HasField("uri"):
        return media.uri
    return f"data:{media.media_type};base64,{_base64(media.data)}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _subtype(media_type: str) -> str:
    return media_type.rpartition("/")[2].removeprefix("x-")


def _members(text: str, path: str) -> dict[str, Any]:
    """Return the members of a JSON object that travels as text."""
    if not text:
        return {}
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, Mapping):
        violation = Violation(path, "must be the text of one JSON object")
        raise InvalidRequestError("The run's context cannot be read.", [violation])
    return dict(members)
