"""The process of one plugin: loads it, and runs its tools for the service."""

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import structlog
from google.protobuf.message import Message
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import from_status, to_status
from heddle_runtime.identity.call_metadata import CALLER
from heddle_runtime.redaction import redact
from heddle_runtime.serving.plugins import Plugins, Problem, add_module, mounted_package

from heddle_tools_service.adapters import tools_in
from heddle_tools_service.adapters.formats import make_importable
from heddle_tools_service.contract.results import DENIED, OUT_OF_MEMORY, failure
from heddle_tools_service.installed.config_validation import validate_configs
from heddle_tools_service.installed.registry import ENTRY_POINTS, KIND, Registry, report_obstacles
from heddle_tools_service.installed.tool import Installed, install
from heddle_tools_service.plugin_process.proxies import RUN, Connection, capabilities
from heddle_tools_service.running.execution import Outbox, Run, running
from heddle_tools_service.running.tool_runner import ToolRunner
from heddle_tools_service.threads import Threads
from heddle_tools_service.workers import frames
from heddle_tools_service.workers.interfaces import type_of


def serve(channel: socket.socket) -> None:
    """Serve the service on a channel, until it is closed."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            # Not with the values of variables, which can be secrets.
            structlog.dev.ConsoleRenderer(
                colors=False, exception_formatter=structlog.dev.plain_traceback
            ),
            lambda _, __, text: redact(str(text)),
        ],
        # The service logs problems of plugins and failures of runs itself.
        wrapper_class=structlog.make_filtering_bound_logger("error"),
    )
    asyncio.run(_serve(channel))


async def _serve(channel: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=channel)
    process = PluginProcess(writer)
    try:
        while True:
            process.take(frames.decode_to_plugin(await frames.read_frame(reader)))
    except EOFError:
        return


class PluginProcess:
    """Carries out the messages of the service."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._connection = Connection(self._send)
        self._runner: ToolRunner | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def take(self, message: frames.ToPlugin) -> None:
        """Carry out a message."""
        match message:
            case frames.Load():
                self._send(self._loaded(message))
            case frames.Run():
                self._send(frames.Begun(message.id))
                task = asyncio.get_running_loop().create_task(self._run(message))
                self._tasks[message.id] = task
                task.add_done_callback(lambda _: self._tasks.pop(message.id, None))
            case frames.Cancel():
                if (running_task := self._tasks.get(message.id)) is not None:
                    running_task.cancel()
            case frames.Returned():
                self._connection.resolve(message)

    def _send(self, message: frames.FromPlugin) -> None:
        self._writer.write(frames.frame(message))

    def _loaded(self, load: frames.Load) -> frames.Loaded:
        """Load the plugin and return its tools, or why there are none."""
        make_importable()
        kinds = map(type_of, load.capabilities)
        requestable = capabilities(self._connection, kinds, load.http_seconds)
        plugins: Plugins[Installed] = Plugins(KIND)

        def read() -> Iterator[Installed]:
            for tool in tools_in(_load(load.source)):
                yield install(tool, requestable, load.disabled)

        add_module(plugins, load.source.origin, read, _folder(load.source))
        report_obstacles(plugins)
        registry = Registry(plugins)
        self._runner = ToolRunner(registry, Threads(load.threads), load.timeout)
        return frames.Loaded(
            [each.SerializeToString() for each in registry.descriptions],
            [replace(each, message=_with_remedy(each)) for each in plugins.problems],
        )

    async def _run(self, run: frames.Run) -> None:
        CALLER.set(run.caller)
        RUN.set(run.id)
        assert self._runner is not None  # noqa: S101 - the service loads before it runs
        work = _KINDS[run.kind](self._runner, run, self._send)
        try:
            ended = await work
        except Exception as error:  # noqa: BLE001 - the service reports it
            reported = failure("", error)
            status = to_status(reported).SerializeToString()
            ended = frames.Ended(run.id, error=status, diagnosis=reported.diagnosis)
        self._send(ended)


_REMEDIES = {
    "PermissionError": DENIED,
    "MemoryError": "HEDDLE_TOOLS_PLUGIN_MEMORY_MB limits the memory of plugins.",
    "SystemExit": "A plugin must not end the process.",
}


def _with_remedy(problem: Problem) -> str:
    name, _, detail = problem.message.partition(": ")
    if name not in _REMEDIES:
        return problem.message
    return f"{name}: {detail}. {_REMEDIES[name]}" if detail else f"{name}. {_REMEDIES[name]}"


def _load(source: frames.PluginSource) -> Any:  # noqa: ANN401 - an entry point can name anything
    if (folder := _folder(source)) is not None:
        return import_module(f"{mounted_package(folder, ENTRY_POINTS)}.{source.target}")
    return EntryPoint("plugin", source.target, ENTRY_POINTS).load()


def _folder(source: frames.PluginSource) -> Path | None:
    return Path(source.folder) if source.folder else None


Send = Callable[[frames.FromPlugin], None]


async def _execute(runner: ToolRunner, run: frames.Run, send: Send) -> frames.Ended:
    request = pb.ExecuteToolRequest.FromString(run.request)
    begin = runner.open(request.context, run.seconds)
    begun: Run | None = None

    def begin_and_hold(invocation: pb.ToolInvocation, outbox: Outbox) -> Run | None:
        nonlocal begun
        begun = begin(invocation, outbox)
        return begun

    async with running([request.invocation], begin_and_hold) as outbox:
        while events := await outbox.take():
            for event in events:
                if event.HasField("status"):
                    send(frames.Event(run.id, event.SerializeToString()))
                elif event.HasField("error"):
                    kind = from_status(event.error).metadata.get("kind")
                    return frames.Ended(
                        run.id,
                        error=event.error.SerializeToString(),
                        diagnosis=begun.diagnosis if begun else "",
                        slot=event.slot,
                        is_last=kind == OUT_OF_MEMORY,
                    )
                else:
                    return _ended(run, event.result)
    raise AssertionError("a run has an end")


async def _functions(runner: ToolRunner, run: frames.Run, _: Send) -> frames.Ended:
    request = pb.ListFunctionsRequest.FromString(run.request)
    [invocation] = request.invocations
    context = pb.RunContext(assistant=request.assistant)
    return _ended(run, await runner.list_functions(invocation, context, run.seconds))


async def _assess(runner: ToolRunner, run: frames.Run, _: Send) -> frames.Ended:
    request = pb.AssessToolsRequest.FromString(run.request)
    [invocation] = request.invocations
    return _ended(run, *await runner.assess(invocation, request.context, run.seconds))


async def _validate(runner: ToolRunner, run: frames.Run, _: Send) -> frames.Ended:
    requests = pb.BatchValidateToolConfigsRequest.FromString(run.request).requests
    responses = await validate_configs(runner.registry, requests, effective=len(requests) == 1)
    return _ended(run, pb.BatchValidateToolConfigsResponse(responses=responses))


def _ended(run: frames.Run, *results: Message) -> frames.Ended:
    return frames.Ended(run.id, [each.SerializeToString() for each in results])


_KINDS: dict[
    frames.Kind, Callable[[ToolRunner, frames.Run, Send], Coroutine[Any, Any, frames.Ended]]
] = {"execute": _execute, "functions": _functions, "assess": _assess, "validate": _validate}
