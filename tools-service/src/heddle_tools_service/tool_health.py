"""The health check of the tools: where they run, and which have problems."""

from collections import Counter

from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors.conditions import Check, Condition
from heddle_runtime.serving.plugins import Problem
from heddle_runtime.serving.readiness import listed

from heddle_tools_service.registry import Registry


def tools_check(registry: Registry) -> Check:
    """Return the check that counts the tools of each place and reports those with problems."""

    async def check() -> Condition:
        failing = [
            Problem(f"{registry.origin(tool.name)}, tool {tool.name}", tool.problem)
            for tool in registry.plugin_tools
            if tool.problem
        ]
        problems = listed([*registry.problems, *failing])
        return Condition(problems, summary=_places(registry))

    return check


def _places(registry: Registry) -> str:
    places = Counter(_place(tool.isolation) for tool in registry.descriptions)
    return ", ".join(f"{name}: {count} tools" for name, count in sorted(places.items()))


def _place(isolation: pb.ToolIsolation.ValueType) -> str:
    """Return the place where a tool runs: the `service`, or a `process` of its own."""
    return pb.ToolIsolation.Name(isolation).removeprefix("TOOL_ISOLATION_").lower()
