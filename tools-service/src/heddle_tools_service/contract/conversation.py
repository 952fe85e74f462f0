"""Converts the context of a run for tools: to the question, and to OpenAI's request."""

import json
from functools import cached_property
from typing import Any

import msgspec
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.conversations import question
from heddle_runtime.contract.openai_messages import members, to_messages
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.identity.call_metadata import caller

from heddle_tools_service.sdk import (
    Assistant,
    Caller,
    EarlierResult,
    Environment,
    FailedTool,
    FileChange,
    Mode,
    PastRun,
    ToolCall,
    ToolObjects,
    TreeData,
)


class Conversation:
    """The data that all tools of one call share. Each property is computed on first access."""

    def __init__(self, context: pb.RunContext) -> None:
        self._context = context

    @cached_property
    def query(self) -> str:
        """The user's question: its text parts, joined by a space."""
        return question(self._context.messages)

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
        return _tree(self._context.tree) if self.routed else TreeData(self.query, query=self.query)

    def call(
        self, *, config: object, seconds: float, mode: Mode, arguments: object = None
    ) -> ToolCall[Any, Any]:
        """Return a call of a tool in this conversation, whose statuses are ignored."""
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
        )

    def request(self) -> dict[str, Any]:
        """Return a new copy of the whole request in OpenAI's format; tools may edit it.

        Raises:
            InvalidRequestError: The context contains JSON text that is invalid.
        """
        options = self._context.options
        request: dict[str, Any] = dict(members(options.extra_json, "context.options.extra_json"))
        if self.assistant.id:
            request.setdefault("model", f"lamb_assistant.{self.assistant.id}")
        request["messages"] = to_messages(self._context.messages, "context.messages")
        request["stream"] = self._context.streaming
        for name in ("temperature", "top_p", "max_tokens", "seed"):
            if options.HasField(name):
                request[name] = getattr(options, name)
        if options.stop:
            request["stop"] = list(options.stop)
        try:
            return json.loads(msgspec.json.encode(request))  # type: ignore[no-any-return] # it is an object
        except RecursionError:
            raise InvalidRequestError("The request is nested too deeply.") from None


def _ignore_status(_: str, __: FileChange | None = None, /) -> None:
    """Report nothing: no user waits for the callbacks of a tool."""


def _tree(message: pb.TreeData) -> TreeData:
    environment = message.environment
    return TreeData(
        message.user_prompt,
        message.iterations,
        Environment(
            tuple(map(_tool_objects, environment.findings)),
            tuple(
                FailedTool(each.tool, each.message, each.recoverable, each.suggestion)
                for each in environment.errors
            ),
            environment.estimated_tokens,
        ),
        tuple(map(_past_run, message.history)),
        message.query or message.user_prompt,
    )


def _tool_objects(message: pb.Finding) -> ToolObjects:
    objects = tuple(
        _object(text, "environment.findings.objects_json") for text in message.objects_json
    )
    metadata = from_struct(message.metadata)
    return ToolObjects(
        message.tool, message.name or message.tool, objects, metadata, message.message
    )


def _past_run(message: pb.PastRun) -> PastRun:
    inputs = _object(message.inputs_json or "{}", "inputs_json")
    return PastRun(message.tool, inputs, message.new_objects, message.failed)


def _object(text: str, path: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        violation = Violation(f"context.tree.{path}", "must be the text of one JSON object")
        raise InvalidRequestError("The state of the run cannot be read.", [violation])
    return value
