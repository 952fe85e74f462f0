"""Provides a plugin with a process that works, and replaces one that does not."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import structlog
from heddle_runtime.errors import HeddleError, UnavailableError

from heddle_tools_service.workers import frames
from heddle_tools_service.workers.calls import CallRequest
from heddle_tools_service.workers.forking import Forks
from heddle_tools_service.workers.process import PluginProcess

log = structlog.get_logger(__name__)
_LOAD_SECONDS = 15.0
_BEGIN_SECONDS = 0.5  # after it, an earlier call blocks the process
_MAX_PROCESSES = 4
"""The number of processes of one plugin: the one that takes calls, and those that must end."""


class PluginSupervisor:
    """The processes of one plugin."""

    def __init__(self, forks: Forks, load: frames.Load, environment: Mapping[str, str]) -> None:
        """Start no process yet.

        Args:
            forks: Starts processes.
            load: The message that lets a process load the plugin.
            environment: The environment variables of a process.
        """
        self._forks = forks
        self._load = load
        self._environment = environment
        self._lock = asyncio.Lock()  # callers without a process wait for the same new one
        self._processes: list[PluginProcess] = []
        self._start_problem = ""

    @property
    def source(self) -> frames.PluginSource:
        """The place of the plugin."""
        return self._load.source

    @property
    def origin(self) -> str:
        """The place of the plugin as text for people: `folder:<file>` or `package:<name>`."""
        return self._load.source.origin

    @property
    def problem(self) -> str:
        """Why no call can begin now, for operators; empty if one can."""
        return self._hanging() or self._start_problem

    async def start(self) -> frames.Loaded:
        """Start a process for the calls from now on, and return the plugin's tools.

        Raises:
            OSError: It does not start.
            TimeoutError: The plugin takes too long to load.
            ToolFailedError: The process ends while it loads the plugin.
        """
        source = self._load.source
        readable = [Path(source.folder)] if source.folder else []
        forked = await self._forks.fork(readable, self._environment)
        process = PluginProcess(forked, source.origin, self._forks.kill)
        try:
            async with asyncio.timeout(_LOAD_SECONDS):
                loaded = await process.load(self._load)
        except BaseException:
            process.end()
            raise
        if loaded.tools:
            self._processes.append(process)
        else:
            process.end()
        return loaded

    async def run(self, request: CallRequest) -> frames.Ended:
        """Return the end of a call.

        Raises:
            ToolFailedError: The process ends meanwhile.
            UnavailableError: No process is free.
        """
        while True:
            process = await self._available()
            ended = await process.run(request, _BEGIN_SECONDS)
            if ended is not None:
                return ended
            log.warning("plugin blocks its process", origin=self.origin)
            process.retire()

    async def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.end()
        await asyncio.gather(*(process.closed() for process in self._processes))

    async def _available(self) -> PluginProcess:
        async with self._lock:
            self._processes = [each for each in self._processes if each.is_alive]
            for process in self._processes:
                if not process.is_retired:
                    return process
            _check_number(len(self._processes) + 1, self.origin)
            try:
                await self._replace()
            except HeddleError as error:
                self._start_problem = error.diagnosis or error.message
                raise
            self._start_problem = ""
            return self._processes[-1]

    def _hanging(self) -> str:
        hanging = [each for each in self._processes if each.is_alive and each.is_retired]
        return f"{len(hanging)} processes hang" if len(hanging) >= _MAX_PROCESSES else ""

    async def _replace(self) -> None:
        try:
            loaded = await self.start()
        except (OSError, TimeoutError) as error:
            raise UnavailableError(
                "The tool does not start. Try again later.",
                diagnosis=f"{self.origin}: {error!r}",
            ) from error
        if not loaded.tools:
            problems = " ".join(each.message for each in loaded.problems)
            raise UnavailableError(
                "The tool does not start any more. Tell the operator.",
                diagnosis=f"{self.origin}: {problems}",
            )


def _check_number(processes: int, origin: str) -> None:
    if processes > _MAX_PROCESSES:
        raise UnavailableError(
            "The tool is busy: earlier calls of it do not end. Try again later.",
            diagnosis=f"{origin} has {_MAX_PROCESSES} processes that hang",
        )
