"""What tools work with, and how a run of one is begun."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import httpx
from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.tool.v1 import tool_pb2 as pb
from heddle_knowledge.document_queries.query_workers import Asking
from heddle_runtime.call_metadata import Stopwatch
from heddle_runtime.errors import HeddleError, to_status

from heddle_tools_service.affinity import Affinities
from heddle_tools_service.assessment import assessed
from heddle_tools_service.conversation import Scene
from heddle_tools_service.execution import Begin, Event, Outbox, Run, Work
from heddle_tools_service.function_calls import offered
from heddle_tools_service.hooks import answer_of
from heddle_tools_service.outcomes import failure, in_environment, result
from heddle_tools_service.providers.document_facts import AssistantCatalogue
from heddle_tools_service.providers.files import FileFolder
from heddle_tools_service.providers.graphs import AssistantGraph
from heddle_tools_service.providers.kept_rubrics import RubricLibrary
from heddle_tools_service.providers.knowledge_bases import KnowledgeBases
from heddle_tools_service.providers.mcp.servers import McpServers
from heddle_tools_service.providers.moodle.accounts import Moodles
from heddle_tools_service.providers.rubrics import RubricFolder
from heddle_tools_service.providers.visual.pages import PageSearch
from heddle_tools_service.providers.web_search.searches import WebSearches
from heddle_tools_service.providers.workspaces import Workspaces
from heddle_tools_service.registry import Registry
from heddle_tools_service.sdk import FileChange, Mode, Query, Tool, ToolCall, ToolResult
from heddle_tools_service.surroundings import Generate
from heddle_tools_service.threads import Threads
from heddle_tools_service.weather import Weather
from heddle_tools_service.yielding import settled

_TELLABLE = 0.9
"""Of a call's time: what a tool may use of it, so that its end can still be told."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """The tools of the service and what they can use."""

    registry: Registry
    http: httpx.AsyncClient
    knowledge: KnowledgeBases
    asking: Asking
    pages: PageSearch
    web: WebSearches
    files: FileFolder
    rubrics: RubricLibrary | RubricFolder
    moodles: Moodles
    weather: Weather
    workspaces: Workspaces
    servers: McpServers
    affinities: Affinities
    small_model: Generate | None
    threads: Threads
    patience: float
    """Seconds that a tool may take if its invocation does not say."""

    def open(self, context: pb.RunContext, left: float) -> Begin:
        """Return what begins the runs of one call.

        Args:
            context: What the tools can see.
            left: Seconds that are left of the call.
        """
        scene = Scene(context)
        return partial(self._begin, self._call(scene), scene, left)

    async def offer(
        self, invocation: pb.ToolInvocation, assistant: Assistant, left: float
    ) -> pb.ToolFunctions:
        """Return what a model is told of a tool, or why it is told nothing.

        Args:
            invocation: The tool and its configuration.
            assistant: Who offers it.
            left: Seconds that are left of the call.
        """
        seconds = min(self.patience, left * _TELLABLE)
        try:
            return await answer_of(self._offered(invocation, assistant, seconds), seconds)
        except Exception as error:  # noqa: BLE001 - of one tool: the others are told all the same
            return pb.ToolFunctions(
                id=invocation.id, error=to_status(failure(invocation.name, error))
            )

    async def assess(
        self, invocation: pb.ToolInvocation, context: pb.RunContext, left: float
    ) -> pb.Assessment:
        """Return whether the routing agent may choose a tool now, and whether it must.

        Args:
            invocation: The tool and its configuration.
            context: The run.
            left: Seconds that are left of the call.
        """
        seconds = min(self.patience, left * _TELLABLE)
        try:
            return await answer_of(self._assessed(invocation, context, seconds), seconds)
        except Exception as error:  # noqa: BLE001 - of one tool: the others are told all the same
            return pb.Assessment(id=invocation.id, error=to_status(failure(invocation.name, error)))

    async def compare(
        self, told: Iterable[pb.Assessment], context: pb.RunContext, left: float
    ) -> None:
        """Tell how near what is asked is to what each tool is for.

        Args:
            told: What `assess` returned. Is changed.
            context: The run.
            left: Seconds that are left of the call.
        """
        asked = context.tree.user_prompt or Scene(context).query
        await self.affinities.tell(asked, told, left)

    async def _offered(
        self, invocation: pb.ToolInvocation, assistant: Assistant, seconds: float
    ) -> pb.ToolFunctions:
        installed = self.registry.get(invocation.name)
        config = installed.configure(invocation.config)
        scene = Scene(pb.RunContext(assistant=assistant))
        if not installed.is_enabled(config, scene):
            return pb.ToolFunctions(id=invocation.id)
        made = self._call(scene)(
            config=config, arguments=None, status=_unheard, seconds=seconds, mode="function"
        )
        if installed.tool.available is not None and not await installed.tool.available(made):
            return pb.ToolFunctions(id=invocation.id)
        if installed.tool.offer is None:
            return pb.ToolFunctions(id=invocation.id, functions=installed.functions())
        return offered(invocation.id, await installed.tool.offer(made))

    async def _assessed(
        self, invocation: pb.ToolInvocation, context: pb.RunContext, seconds: float
    ) -> pb.Assessment:
        installed = self.registry.get(invocation.name)
        installed.require_agent()
        config = installed.configure(invocation.config)
        scene = Scene(context)
        made = self._call(scene)(
            config=config, arguments=None, status=_unheard, seconds=seconds, mode="agent"
        )
        enabled = installed.is_enabled(config, scene)
        return await assessed(invocation.id, installed.tool, made, enabled=enabled)

    def _call(self, scene: Scene) -> Callable[..., ToolCall[Any]]:
        return partial(
            ToolCall,
            query=scene.query,
            assistant=scene.assistant,
            identity=scene.identity,
            earlier=scene.earlier,
            http=self.http,
            knowledge=self.knowledge.of(scene.assistant),
            catalogue=AssistantCatalogue(self.knowledge.store, self.asking, scene.assistant),
            graph=AssistantGraph(self.knowledge.store, scene.assistant),
            pages=self.pages.of(scene.assistant),
            web=self.web.of(scene.assistant),
            files=self.files.of(scene.assistant),
            rubrics=self.rubrics.of(scene.assistant),
            moodle=self.moodles.of(scene.assistant, scene.identity),
            weather=self.weather,
            workspace=self.workspaces.of(scene.identity),
            servers=self.servers.of(scene.assistant),
            build_request=scene.request,
            small_model=self.small_model,
            tree=scene.tree,
        )

    def _begin(
        self,
        call: Callable[..., ToolCall[Any]],
        scene: Scene,
        left: float,
        invocation: pb.ToolInvocation,
        outbox: Outbox,
    ) -> Run | None:
        slot = invocation.slot
        try:
            installed = self.registry.get(invocation.name)
            slot = slot or installed.tool.slot
            asked = invocation.function_call if invocation.HasField("function_call") else None
            arguments = installed.arguments_of(asked)
            config = installed.configure(invocation.config)
            if asked:
                installed.require_enabled(config, scene)
        except HeddleError as error:
            outbox.put(Event(invocation.id, error, slot))
            return None
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool's own checks of its configuration can raise anything
            outbox.put(Event(invocation.id, failure(invocation.name, error), slot))
            return None
        seconds = self._seconds(invocation, left)
        tool = installed.tool
        mode: Mode = "augment"
        if asked is not None:
            mode = "agent" if scene.routed else "function"

        def work(run: Run) -> Work:
            status = run.status_from_thread if tool.blocking else run.status
            made = call(
                config=config, arguments=arguments, status=status, seconds=seconds, mode=mode
            )
            if asked and isinstance(arguments, Query):
                made = replace(made, query=arguments.query)
            return self._work(tool, made, invocation.slot)

        return Run(invocation.id, tool.name, slot, seconds, outbox, work)

    def _seconds(self, invocation: pb.ToolInvocation, left: float) -> float:
        """Return how long a tool may take. Who asks for a time has thought of what follows."""
        if invocation.HasField("timeout"):
            asked = invocation.timeout.ToTimedelta().total_seconds()
            return min(asked, left * _TELLABLE)
        return min(self.patience, left / 2)

    async def _work(self, tool: Tool, call: ToolCall[Any], slot: str) -> pb.ToolResult:
        watch = Stopwatch()
        try:
            found = await self._found(tool, call)
        except SystemExit as error:  # out of a task it would end the whole service
            raise RuntimeError("the tool called sys.exit") from error
        told = result(found, slot, tool.slot, watch.seconds())
        return in_environment(told, found, tool.name) if call.mode == "agent" else told

    async def _found(self, tool: Tool, call: ToolCall[Any]) -> ToolResult:
        if not tool.blocking:
            return await settled(tool.name, tool.run(call), call)
        given = await self.threads.run(tool.name, lambda: tool.run(call))
        return await settled(tool.name, given, call)


def _unheard(_: str, __: FileChange | None = None, /) -> None:
    """Take the status of a tool that is only asked what it offers: nobody waits for it."""
