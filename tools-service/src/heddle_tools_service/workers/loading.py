"""Loads plugins in processes of their own."""

import asyncio
import os
import re
import stat
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import structlog
from google.protobuf.message import DecodeError
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError
from heddle_runtime.serving.plugins import Plugins, check_folder, is_mounted, sources

from heddle_tools_service.definitions.capability_injection import Provider
from heddle_tools_service.settings import ToolsSettings
from heddle_tools_service.workers import frames
from heddle_tools_service.workers.confinement import missing
from heddle_tools_service.workers.forking import forks
from heddle_tools_service.workers.supervisor import PluginSupervisor
from heddle_tools_service.workers.tools import PluginTool


def folder_problem(folder: Path, hashes: Mapping[str, str]) -> str:
    """Return why no plugin of a mounted folder may be loaded; empty if they may.

    Plugins import the other files of their folder, so these are checked as well.

    Args:
        folder: The mounted folder.
        hashes: The SHA-256 that each file must have, by its path in the folder; empty: any.
    """
    helpers = (
        each
        for each in sorted(folder.rglob("*.py"))
        if each.parent != folder or each.name[0] == "_"
    )
    problems = (
        _writable_by_others(folder, str(folder)),
        *(file_problem(folder, each, hashes) for each in helpers),
    )
    return next(filter(None, problems), "")


def file_problem(folder: Path, file: Path, hashes: Mapping[str, str]) -> str:
    """Return why a file of a mounted folder may not be loaded; empty if it may.

    Args:
        folder: The mounted folder.
        file: In it.
        hashes: As for `folder_problem`.
    """
    name = str(file.relative_to(folder))
    if problem := _writable_by_others(file, name):
        return problem
    if not hashes:
        return ""
    if name not in hashes:
        return (
            f"HEDDLE_TOOLS_PLUGIN_HASHES has no hash for {name}. Add its SHA-256 after reading it."
        )
    digest = sha256(file.read_bytes()).hexdigest()
    if digest != hashes[name].lower():
        return (
            f"{name} has the SHA-256 {digest}, which is not the one in "
            "HEDDLE_TOOLS_PLUGIN_HASHES. Restore the file, or read it and change the setting."
        )
    return ""


def _writable_by_others(path: Path, name: str) -> str:
    status = path.stat()
    if status.st_uid not in (0, os.geteuid()):
        return (
            f"{name} belongs to the user {status.st_uid}, who is neither root nor the user of the "
            f"service ({os.geteuid()}). Change its owner with chown."
        )
    groups = {os.getegid(), *os.getgroups()}
    if status.st_mode & stat.S_IWOTH or (
        status.st_mode & stat.S_IWGRP and status.st_gid not in groups
    ):
        return f"Other users can write {name}. Take that right away: chmod go-w."
    return ""


log = structlog.get_logger(__name__)
_AT_ONCE = 4
_MEGABYTE = 1024 * 1024
_MAX_DESCRIPTION_BYTES = 500_000
_MAX_PROBLEMS = 10
_MAX_PROBLEM_CHARS = 2_000
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


@asynccontextmanager
async def load_plugins(
    plugins: Plugins[Any], group: str, settings: ToolsSettings, providers: Mapping[str, Provider]
) -> AsyncGenerator[None]:
    """Add the tools of all plugins to `plugins`. Their processes end on leaving.

    Args:
        plugins: The tools of Heddle. Changed in place.
        group: The entry-point group of installed distributions.
        settings: The settings of the tool service.
        providers: The providers of capabilities that plugins can call, by name.
    """
    check_folder(settings.plugins_dir, plugins)
    known = [_source(each, settings) for each in sources(group, settings.plugins_dir)]
    if not known:
        yield
        return
    if lacks := missing():
        message = (
            f"The kernel lacks {' and '.join(lacks)}: plugins have processes of their own, which "
            "can reach files or the network. Use Linux 5.13 or later with Landlock and seccomp."
        )
        plugins.report("sandbox", message, "plugins are not confined completely")
    async with AsyncExitStack() as resources:
        started = await resources.enter_async_context(forks(settings.plugin_memory_mb * _MEGABYTE))
        log.info("plugins run in processes", control_groups=started.groups.controllers)
        limit = asyncio.Semaphore(_AT_ONCE)

        async def load(source: frames.PluginSource) -> tuple[PluginSupervisor, frames.Loaded]:
            message = frames.Load(
                *(
                    source,
                    sorted(settings.disabled),
                    settings.threads_per_tool,
                    settings.tool_timeout_seconds,
                ),
                *(sorted(providers), settings.http_timeout),
            )
            names = settings.plugin_environment.get(source.origin.partition(":")[2], ())
            environment = {name: os.environ[name] for name in names if name in os.environ}
            supervisor = PluginSupervisor(started, message, environment)
            resources.push_async_callback(supervisor.close)
            async with limit:
                return supervisor, await _load(supervisor, settings)

        outcomes = await asyncio.gather(*map(load, known), return_exceptions=True)
        for source, outcome in zip(known, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                plugins.report(source.origin, _reason(outcome))
                continue
            supervisor, loaded = outcome
            for problem in loaded.problems[:_MAX_PROBLEMS]:
                plugins.report(source.origin, problem.message[:_MAX_PROBLEM_CHARS], problem.event)
            for data in loaded.tools:
                try:
                    tool = _description(data, source.origin)
                except _PluginError as error:
                    plugins.report(source.origin, str(error))
                    continue
                disabled = tool.name in settings.disabled
                added = PluginTool(tool, supervisor, providers, disabled=disabled)
                plugins.add(added, source.origin)
        yield


class _PluginError(Exception):
    """Why a plugin is skipped."""


def _source(known: tuple[str, str], settings: ToolsSettings) -> frames.PluginSource:
    origin, target = known
    # Absolute: the process of a plugin has another working folder.
    folder = (
        str(settings.plugins_dir.resolve()) if settings.plugins_dir and is_mounted(origin) else ""
    )
    return frames.PluginSource(origin, target, folder)


async def _load(supervisor: PluginSupervisor, settings: ToolsSettings) -> frames.Loaded:
    source = supervisor.source
    if source.folder and settings.plugins_dir is not None:
        file = settings.plugins_dir / f"{source.target}.py"
        problem = folder_problem(settings.plugins_dir, settings.plugin_hashes) or file_problem(
            settings.plugins_dir, file, settings.plugin_hashes
        )
        if problem:
            raise _PluginError(problem)
    return await supervisor.start()


def _description(data: bytes, origin: str) -> pb.Tool:
    """Return the description of a tool, which its process has checked, if it is what it was."""
    if len(data) > _MAX_DESCRIPTION_BYTES:
        raise _PluginError(
            f"The description of a tool has more than {_MAX_DESCRIPTION_BYTES:,} bytes."
        )
    try:
        tool = pb.Tool.FromString(data)
    except DecodeError:
        raise _PluginError("The process of the plugin sends nonsense.") from None
    if not (_NAME.fullmatch(tool.name) and _NAME.fullmatch(tool.default_slot)):
        raise _PluginError("The process of the plugin sends a name that is not allowed.")
    tool.origin = origin
    tool.isolation = pb.TOOL_ISOLATION_PROCESS
    return tool


def _reason(error: BaseException) -> str:
    match error:
        case _PluginError():
            return str(error)
        case TimeoutError():
            return "The plugin does not load in time. Let it do less when it is imported."
        case HeddleError():
            return (
                "The process of the plugin ended while it loaded. A plugin must not end the "
                "process; its memory is limited by HEDDLE_TOOLS_PLUGIN_MEMORY_MB."
            )
        case _:
            return f"The process of the plugin does not start: {error!r}"
