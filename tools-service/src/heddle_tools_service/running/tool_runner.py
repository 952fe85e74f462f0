"""Begins runs of tools, and asks tools what they offer."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from google.protobuf.struct_pb2 import Struct
from heddle.assistant.v1.assistant_pb2 import CHANGE_POLICY_NEVER, ChangePolicy
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import to_status
from heddle_runtime.identity.call_metadata import Stopwatch
from heddle_runtime.identity.grants import carrying
from heddle_runtime.redaction import register_values
from heddle_runtime.redaction.names import is_secret_name
from heddle_runtime.rpc.organization_settings import OrganizationSettings, may_trace_texts
from heddle_runtime.telemetry import content, spans

from heddle_tools_service.contract.conversation import Conversation
from heddle_tools_service.contract.descriptions import offered_functions
from heddle_tools_service.contract.results import checked_result, failure, result
from heddle_tools_service.installed.registry import Registry
from heddle_tools_service.installed.tool import Installed
from heddle_tools_service.running.assessment import assess
from heddle_tools_service.running.change_policy import change_policy, refuse
from heddle_tools_service.running.execution import Begin, Outbox, Run, Work, failed
from heddle_tools_service.running.generator_adapter import as_result
from heddle_tools_service.sdk import Mode, OfferContext, Query, ToolCall
from heddle_tools_service.threads import Threads
from heddle_tools_service.workers.tools import PluginTool

_TYPES = {"rag": "datastore", "lms": "extension"}
"""The types of the conventions by category. Other tools are functions."""
_EXTENSIONS = frozenset({"mcp", "web_search", "weather"})
"""Tools of other categories that call servers of others."""


def traced_run(
    running: Work, invocation: pb.ToolInvocation, context: pb.RunContext, category: str
) -> Work:
    """Return the run of a tool with its span; the run itself if the request was not drawn.

    Args:
        running: Runs the tool.
        invocation: The tool that runs.
        context: The context of the run.
        category: The category of the tool.
    """
    if not spans.is_drawn():
        return running
    attributes = partial(_attributes, invocation, category, routed=context.HasField("tree"))
    return spans.traced_call(running, f"execute_tool {invocation.name}", attributes=attributes)


def _attributes(invocation: pb.ToolInvocation, category: str, *, routed: bool) -> spans.Attributes:
    """Return the attributes. The id is the binding's, unless a model calls the tool."""
    called = invocation.HasField("function_call")
    mode = ("agent" if routed else "function") if called else "augment"
    is_extension = invocation.name in _EXTENSIONS
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": invocation.name,
        "gen_ai.tool.type": "extension" if is_extension else _TYPES.get(category, "function"),
        "gen_ai.tool.call.id" if called else "heddle.binding.id": invocation.id,
        "heddle.tool.mode": mode,
    }


ResultT = TypeVar("ResultT")
_USABLE_FRACTION = 0.9
"""The share of a call's time: a tool ends before the call does, so that its failure can be sent."""


@dataclass(frozen=True, slots=True)
class ToolRunner:
    """Runs the tools of a registry."""

    registry: Registry
    threads: Threads
    default_timeout: float
    """Seconds that a tool may take if its invocation sets no timeout."""
    settings: OrganizationSettings | None = None
    """The settings of organisations; None if no service has them."""

    def open(self, context: pb.RunContext, remaining: float) -> Begin:
        """Return the function that begins the runs of one call.

        Args:
            context: The conversation that the tools see.
            remaining: Seconds until the deadline of the call.
        """
        conversation = Conversation(context)

        def begin(invocation: pb.ToolInvocation, outbox: Outbox) -> Run | None:
            with carrying(context.grant):
                return self._begin(context, conversation, remaining, invocation, outbox)

        return begin

    async def list_functions(
        self, invocation: pb.ToolInvocation, context: pb.RunContext, remaining: float
    ) -> pb.ToolFunctions:
        """Return the functions of a tool that a model may call, or the error that prevents it.

        Args:
            invocation: The tool and its configuration.
            context: Names the assistant that offers them.
            remaining: Seconds until the deadline of the call.
        """
        seconds = self._callback_seconds(remaining)
        try:
            return await _result_of(self._functions(invocation, context, seconds), seconds)
        except Exception as error:  # noqa: BLE001 - one tool's failure must not affect the others
            status = to_status(failure(invocation.name, error))
            return pb.ToolFunctions(id=invocation.id, error=status)

    async def assess(
        self, invocation: pb.ToolInvocation, context: pb.RunContext, remaining: float
    ) -> list[pb.Assessment]:
        """Return whether the routing agent may choose a tool now, and whether it must.

        A tool with `offer` has an assessment for each function that it offers.

        Args:
            invocation: The tool and its configuration.
            context: The run.
            remaining: Seconds until the deadline of the call.
        """
        seconds = self._callback_seconds(remaining)
        try:
            return await _result_of(self._assessments(invocation, context, seconds), seconds)
        except Exception as error:  # noqa: BLE001 - one tool's failure must not affect the others
            status = to_status(failure(invocation.name, error))
            return [pb.Assessment(id=invocation.id, error=status)]

    async def _policy(
        self,
        effect: pb.ToolEffect.ValueType,
        invocation: pb.ToolInvocation,
        context: pb.RunContext,
        *,
        called: bool = True,
    ) -> ChangePolicy.ValueType:
        conversation = Conversation(context)
        return await change_policy(self.settings, effect, invocation, conversation, called=called)

    def _callback_seconds(self, remaining: float) -> float:
        return min(self.default_timeout, remaining * _USABLE_FRACTION)

    async def _functions(
        self, invocation: pb.ToolInvocation, context: pb.RunContext, seconds: float
    ) -> pb.ToolFunctions:
        offered = await self._offered(invocation, context, seconds)
        effect = self.registry.description(invocation.name).effect
        effects = offered.effects or [effect] * len(offered.functions)
        offered.policies[:] = [await self._policy(each, invocation, context) for each in effects]
        return offered

    async def _offered(
        self, invocation: pb.ToolInvocation, context: pb.RunContext, seconds: float
    ) -> pb.ToolFunctions:
        if (plugin := self.registry.plugin(invocation.name)) is not None:
            return await plugin.list_functions(invocation, context, seconds)
        installed = self.registry.get(invocation.name)
        config = installed.configure(invocation.config)
        conversation = Conversation(context)
        if not installed.is_enabled(_offer_context(config, conversation)):
            return pb.ToolFunctions(id=invocation.id)
        call = conversation.call(config=config, seconds=seconds, mode="function")
        if installed.available is not None and not await installed.available(call):
            return pb.ToolFunctions(id=invocation.id)
        if installed.offer is None:
            installed.require("function")
            functions = self.registry.description(invocation.name).functions
            return pb.ToolFunctions(id=invocation.id, functions=functions)
        return offered_functions(invocation.id, await installed.offer(call))

    async def _assessments(
        self, invocation: pb.ToolInvocation, context: pb.RunContext, seconds: float
    ) -> list[pb.Assessment]:
        assessments = await self._assessed(invocation, context, seconds)
        for each in assessments:
            each.effect = each.effect or self.registry.description(invocation.name).effect
            each.policy = await self._policy(each.effect, invocation, context)
        return assessments

    async def _assessed(
        self, invocation: pb.ToolInvocation, context: pb.RunContext, seconds: float
    ) -> list[pb.Assessment]:
        if (plugin := self.registry.plugin(invocation.name)) is not None:
            return await plugin.assess(invocation, context, seconds)
        installed = self.registry.get(invocation.name)
        installed.require("agent")
        config = installed.configure(invocation.config)
        conversation = Conversation(context)
        call = conversation.call(config=config, seconds=seconds, mode="agent")
        enabled = installed.is_enabled(_offer_context(config, conversation))
        return await assess(invocation.id, installed, call, enabled=enabled)

    def _begin(
        self,
        context: pb.RunContext,
        conversation: Conversation,
        remaining: float,
        invocation: pb.ToolInvocation,
        outbox: Outbox,
    ) -> Run | None:
        slot, seconds = invocation.slot, self._seconds(invocation, remaining)
        try:
            tool = self.registry.description(invocation.name)
            slot = slot or tool.default_slot
            if (plugin := self.registry.plugin(tool.name)) is not None:
                work = partial(_plugin_work, plugin, invocation, context, remaining)
            else:
                installed = self.registry.get(tool.name)
                call = self._call(installed, conversation, invocation, seconds)
                work = partial(self._work, installed, call, invocation.slot)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool's own validators can raise anything
            outbox.put(failed(invocation.id, failure(invocation.name, error), slot))
            return None
        run = Run(
            *(invocation.id, tool.name, context.assistant.id, slot, seconds, outbox),
            lambda run: self._described(work(run), context, invocation, tool.category),
        )
        register_values(_secrets(invocation.config), run)  # as long as the run exists
        return run

    def _described(
        self,
        running: Work,
        context: pb.RunContext,
        invocation: pb.ToolInvocation,
        category: str,
    ) -> Work:
        running = self._unless_refused(running, context, invocation)
        if content.is_on():
            assistant, arguments = context.assistant, invocation.function_call.arguments_json
            allowed = may_trace_texts(self.settings, assistant.organization, assistant.owner)
            running = content.tool_texts(
                running, allowed, arguments, lambda it: "\n".join(part.text for part in it.parts)
            )
        return traced_run(running, invocation, context, category)

    async def _unless_refused(
        self, running: Work, context: pb.RunContext, invocation: pb.ToolInvocation
    ) -> pb.ToolResult:
        try:
            described = self.registry.description(invocation.name)
            called = invocation.HasField("function_call")
            policy = await self._policy(described.effect, invocation, context, called=called)
            if policy == CHANGE_POLICY_NEVER and called and not described.functions:
                # It has several functions, and this one may only read.
                offered = await self.list_functions(invocation, context, self.default_timeout)
                for function, own in zip(offered.functions, offered.policies, strict=False):
                    policy = own if function.name == invocation.function_call.name else policy
            refuse(invocation, policy)
        except BaseException:
            running.close()
            raise
        return await running

    def _call(
        self,
        installed: Installed,
        conversation: Conversation,
        invocation: pb.ToolInvocation,
        seconds: float,
    ) -> ToolCall[Any, Any]:
        function_call = invocation.function_call if invocation.HasField("function_call") else None
        arguments = installed.arguments_of(function_call)
        config = installed.configure(invocation.config)
        mode: Mode = "augment"
        if function_call is not None or installed.disabled:
            installed.require_enabled(_offer_context(config, conversation))
        if function_call is not None:
            mode = "agent" if conversation.routed else "function"
        call = conversation.call(config=config, arguments=arguments, seconds=seconds, mode=mode)
        if function_call is not None and isinstance(arguments, Query):
            return replace(call, query=arguments.query)
        return call

    def _seconds(self, invocation: pb.ToolInvocation, remaining: float) -> float:
        """Return the time limit of a tool in seconds.

        Without a timeout in the invocation, half of the call's time is left for what follows.
        """
        if invocation.HasField("timeout"):
            timeout = invocation.timeout.ToTimedelta().total_seconds()
            return min(timeout, remaining * _USABLE_FRACTION)
        return min(self.default_timeout, remaining / 2)

    async def _work(
        self, installed: Installed, call: ToolCall[Any, Any], slot: str, run: Run
    ) -> pb.ToolResult:
        watch = Stopwatch()
        status = run.status_from_thread if installed.tool.blocking else run.status
        call = replace(call, status=status)
        try:
            if installed.tool.blocking:
                output = await self.threads.run(installed.name, lambda: installed.run(call))
            else:
                output = installed.run(call)
            tool_result = await as_result(installed.name, output, call)
        except SystemExit as error:  # raised in a task it would end the whole service
            raise RuntimeError("the tool called sys.exit") from error
        for_agent = call.mode == "agent"
        return result(
            *(installed.name, installed.tool.slot, tool_result, slot),
            watch.seconds(),
            for_agent=for_agent,
        )


async def _plugin_work(
    plugin: PluginTool,
    invocation: pb.ToolInvocation,
    context: pb.RunContext,
    remaining: float,
    run: Run,
) -> pb.ToolResult:
    watch = Stopwatch()
    returned = await plugin.execute(invocation, context, remaining, run.pass_on)
    return checked_result(plugin.description, returned, invocation.slot, watch.seconds())


def _offer_context(config: object, conversation: Conversation) -> OfferContext[Any]:
    return OfferContext(config, conversation.assistant, conversation.caller)


def _secrets(config: Struct) -> list[str]:
    names = [name for name in config.fields if is_secret_name(name)]
    return [text for name in names if (text := config.fields[name].string_value)]


async def _result_of(callback: Awaitable[ResultT], seconds: float) -> ResultT:
    task = asyncio.current_task()
    try:
        async with asyncio.timeout(seconds):
            return await callback
    except SystemExit as error:
        raise RuntimeError("the tool called sys.exit") from error
    except asyncio.CancelledError as error:
        if task is None or task.cancelling():  # the call was cancelled
            raise
        raise RuntimeError("the tool cancelled itself") from error
