"""Loads and runs tools as the service does."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.conversations import question
from heddle_runtime.contract.struct_codec import to_struct

from heddle_tools_service.definitions.capability_injection import Capabilities
from heddle_tools_service.installed.registry import Registry
from heddle_tools_service.installed.tool import Installed
from heddle_tools_service.running.generator_adapter import as_result
from heddle_tools_service.sdk import (
    Assistant,
    Caller,
    EarlierResult,
    FileChange,
    Mode,
    Query,
    Tool,
    ToolCall,
    ToolError,
    ToolResult,
    TreeData,
)
from heddle_tools_service.testing.example_capabilities import (
    REQUESTABLE,
    SECONDS,
    example_capabilities,
)

_ROLES = {
    "system": chat_pb2.ROLE_SYSTEM,
    "developer": chat_pb2.ROLE_DEVELOPER,
    "assistant": chat_pb2.ROLE_ASSISTANT,
    "tool": chat_pb2.ROLE_TOOL,
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a tool's run in a test."""

    statuses: list[str]
    """The messages that it reported."""
    result: ToolResult

    @property
    def json(self) -> Any:
        """The result's text, parsed."""
        return json.loads(self.result.text)


def load(path: str | Path, *more: type) -> Tool:
    """Return the tool that the file at `path` defines.

    Args:
        path: A Python file with one tool, whose folder becomes the folder of plugins.
        more: Classes that the tool may request besides Heddle's capabilities.

    Raises:
        ValueError: The file does not load, or does not define exactly one tool. The message says
            why.
    """
    file = Path(path).resolve()
    registry = Registry.discover(file.parent, requestable(*more))
    origin = f"folder:{file.name}"
    problems = [each.message for each in registry.problems if each.origin == origin]
    tools = [each.tool for each in registry if registry.description(each.name).origin == origin]
    if problems or len(tools) != 1:
        message = " ".join(problems) or f"{file.name} defines {len(tools)} tools instead of one."
        raise ValueError(message)
    return tools[0]


def requestable(*more: type) -> Capabilities:
    """Return capabilities that tools can request and not use, for loading without running."""

    def unavailable(_: object) -> object:
        raise AssertionError("this registry only loads tools: run them with run_tool")

    return Capabilities(dict.fromkeys([*REQUESTABLE, *more], unavailable))


async def run_tool(  # noqa: PLR0913 - each sets one part of the call
    tool: Tool,
    config: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
    *,
    query: str = "What is a shed?",
    messages: Sequence[Mapping[str, Any]] = (),
    assistant: Assistant | None = None,
    caller: Caller | None = None,
    earlier: Sequence[EarlierResult] = (),
    tree: TreeData | None = None,
    function: str = "",
    capabilities: Mapping[type, object] | None = None,
    seconds: float = SECONDS,
) -> Outcome:
    """Run a tool and return its result.

    Args:
        tool: The tool.
        config: The options that the assistant's author sets.
        arguments: The arguments of a model. Without arguments the tool fills a slot.
        query: The user's question, if there are no `messages`.
        messages: The conversation, in OpenAI's format.
        assistant: The assistant that answers.
        caller: The authenticated user.
        earlier: The results of earlier tools of the run.
        tree: The state of the routing agent's run; the tool then runs in the mode `agent`.
        function: The function that the model calls, for a tool with `offer`.
        capabilities: Replace the examples that `example_capabilities` returns, by their class.
        seconds: The time limit of the tool.

    Raises:
        ToolError: The tool gives up.
        HeddleError: The configuration or the arguments are invalid.
        TimeoutError: The tool takes longer than `seconds`.
    """
    statuses: list[str] = []

    def status(message: str, _: FileChange | None = None) -> None:
        statuses.append(message)

    async with httpx.AsyncClient(trust_env=False, timeout=seconds, verify=False) as http:  # noqa: S501 - tests ask local servers; loading the certificates takes longer than a test
        values = {httpx.AsyncClient: http, **example_capabilities(), **(capabilities or {})}
        installed = install(tool, values)
        conversation = list(messages) or [{"role": "user", "content": query}]
        mode: Mode = "augment" if arguments is None else "function" if tree is None else "agent"
        call: ToolCall[Any, Any] = ToolCall(
            config=installed.configure(to_struct(config or {})),
            arguments=installed.arguments_of(_function_call(tool, function, arguments)),
            query=question([_message(each) for each in conversation]),
            assistant=assistant or Assistant(),
            caller=caller or Caller(),
            earlier=tuple(earlier),
            status=status,
            seconds=seconds,
            build_request=lambda: {"messages": conversation, "stream": False},
            mode=mode,
            tree=tree or TreeData(query),
        )
        if arguments is not None and isinstance(call.arguments, Query):
            call = replace(call, query=call.arguments.query)
        async with asyncio.timeout(seconds):
            run = installed.run
            output = await asyncio.to_thread(run, call) if tool.blocking else run(call)
            return Outcome(statuses, await as_result(tool.name, output, call))


def run_tool_sync(tool: Tool, *args: Any, **options: Any) -> Outcome:
    """Run `run_tool` from a test that is not async."""
    return asyncio.run(run_tool(tool, *args, **options))


async def failure_of(tool: Tool, *args: Any, **options: Any) -> ToolError:
    """Run a tool that gives up, and return its error."""
    try:
        outcome = await run_tool(tool, *args, **options)
    except ToolError as error:
        return error
    raise AssertionError(f"the tool does not give up: {outcome}")


def install(tool: Tool, values: Mapping[type, object]) -> Installed:
    """Return the tool with these capabilities, or raise what makes it invalid."""
    providers = {kind: lambda _, value=value: value for kind, value in values.items()}
    return Registry.of(tool, capabilities=Capabilities(providers)).get(tool.name)


def _function_call(
    tool: Tool, function: str, arguments: Mapping[str, Any] | None
) -> pb.FunctionCall | None:
    if arguments is None:
        return None
    name = function or (tool.function.name if tool.function else tool.name)
    return pb.FunctionCall(name=name, arguments_json=json.dumps(dict(arguments)))


def _message(message: Mapping[str, Any]) -> chat_pb2.Message:
    content = message.get("content") or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return chat_pb2.Message(
        role=_ROLES.get(str(message.get("role")), chat_pb2.ROLE_USER),
        parts=[chat_pb2.ContentPart(text=part["text"]) for part in parts if "text" in part],
    )
